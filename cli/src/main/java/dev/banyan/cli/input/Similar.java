package dev.banyan.cli.input;

import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;

/** Finds names that a misspelt one may have meant. */
final class Similar {
    private Similar() {}

    /** Up to three of the names, the most similar first; none that differ in more than a third. */
    static List<String> to(String word, Collection<String> names) {
        String wanted = word.toLowerCase(Locale.ROOT);
        return names.stream()
                .filter(name -> name.startsWith(wanted) || distance(wanted, name) <= (name.length() + 2) / 3)
                .sorted(Comparator.comparingInt((String name) -> distance(wanted, name))
                        .thenComparing(name -> name))
                .limit(3)
                .toList();
    }

    /** Levenshtein's edit distance. */
    private static int distance(String a, String b) {
        int[] row = new int[b.length() + 1];
        for (int j = 0; j <= b.length(); j++) {
            row[j] = j;
        }
        for (int i = 1; i <= a.length(); i++) {
            int diagonal = row[0];
            row[0] = i;
            for (int j = 1; j <= b.length(); j++) {
                int changed = diagonal + (a.charAt(i - 1) == b.charAt(j - 1) ? 0 : 1);
                diagonal = row[j];
                row[j] = Math.min(changed, Math.min(row[j], row[j - 1]) + 1);
            }
        }
        return row[b.length()];
    }
}

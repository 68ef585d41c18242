package dev.banyan.config.internal;

import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.function.Predicate;
import java.util.stream.IntStream;

/** Finds the names that a user may have meant by a name that nothing has. */
public final class SimilarNames {
    /** A shorter text is a part of too many names. */
    private static final int SHORTEST_PART = 3;

    private static final int MOST = 3;

    private SimilarNames() {}

    /**
     * Returns a part of a message that asks for up to three names, the most similar first: those that contain the word,
     * in any case, or else those that differ in at most a third of their letters. An empty text if there are none.
     */
    public static String question(String word, Collection<String> names) {
        String wanted = word.toLowerCase(Locale.ROOT);
        List<String> similar = nearest(
                wanted,
                names,
                name -> name.startsWith(wanted) || (wanted.length() >= SHORTEST_PART && name.contains(wanted)));
        if (similar.isEmpty()) {
            similar = nearest(wanted, names, name -> edits(wanted, name) <= (name.length() + 2) / 3);
        }
        return similar.isEmpty() ? "" : " (did you mean " + String.join(" or ", similar) + "?)";
    }

    private static List<String> nearest(String wanted, Collection<String> names, Predicate<String> similar) {
        return names.stream()
                .filter(similar)
                .sorted(Comparator.comparingInt((String name) -> edits(wanted, name))
                        .thenComparing(Comparator.naturalOrder()))
                .limit(MOST)
                .toList();
    }

    /** Returns the least number of letters to insert, delete or replace that makes one name the other (Levenshtein). */
    public static int edits(String from, String to) {
        int[] row = IntStream.rangeClosed(0, to.length()).toArray();
        for (int i = 1; i <= from.length(); i++) {
            int diagonal = row[0];
            row[0] = i;
            for (int j = 1; j <= to.length(); j++) {
                int replaced = diagonal + (from.charAt(i - 1) == to.charAt(j - 1) ? 0 : 1);
                diagonal = row[j];
                row[j] = Math.min(replaced, 1 + Math.min(row[j], row[j - 1]));
            }
        }
        return row[to.length()];
    }
}

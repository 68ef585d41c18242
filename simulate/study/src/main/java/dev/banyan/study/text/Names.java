package dev.banyan.study.text;

import java.util.Arrays;
import java.util.Collection;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.Function;

/** Names that users write, in any case, and what they stand for. */
public final class Names {
    private Names() {}

    /** Values by their names in lower case, in the given order. */
    public static <T> Map<String, T> of(Collection<T> values, Function<T, String> name) {
        Map<String, T> map = new LinkedHashMap<>();
        values.forEach(value -> map.put(name.apply(value).toLowerCase(Locale.ROOT), value));
        return map;
    }

    /** Values of an enum by their names in lower case. */
    public static <T> Map<String, T> of(T[] values, Function<T, String> name) {
        return of(Arrays.asList(values), name);
    }

    /**
     * Returns what a name stands for.
     *
     * @param kind what the names are names of, e.g. {@code element type}
     * @param values by name in lower case, in the order in which messages list them
     * @throws IllegalArgumentException if the name is not known: the message says which are
     */
    public static <T> T find(String kind, Map<String, T> values, String name) {
        T value = values.get(name.toLowerCase(Locale.ROOT));
        if (value == null) {
            throw new IllegalArgumentException(
                    "no " + kind + " is called '" + name + "'" + others(name, "known", values.keySet()));
        }
        return value;
    }

    /** The end of a message on an unknown name: similar names, if there are any, and all of them. */
    public static String others(String name, String kind, Collection<String> names) {
        List<String> similar = similar(name, names);
        return (similar.isEmpty() ? "" : "; did you mean " + String.join(" or ", similar) + "?") + "; " + kind + ": "
                + String.join(", ", names);
    }

    /** Up to three of the names, the most similar first; none that differ in more than a third. */
    private static List<String> similar(String word, Collection<String> names) {
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

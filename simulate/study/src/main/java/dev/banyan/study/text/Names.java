package dev.banyan.study.text;

import dev.banyan.config.internal.SimilarNames;
import java.util.Arrays;
import java.util.Collection;
import java.util.LinkedHashMap;
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
        return SimilarNames.question(name, names) + "; " + kind + ": " + String.join(", ", names);
    }
}

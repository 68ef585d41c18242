package dev.banyan.cli.input;

import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.Function;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/**
 * Turns a name, in any case, into what it stands for; names what there is where it stands for nothing.
 *
 * @param <T> what names stand for
 */
public abstract class NamedConverter<T> implements ITypeConverter<T> {
    private final String kind;
    private final Map<String, T> values;

    /**
     * @param kind what the names are names of, e.g. {@code element type}
     * @param values by name in lower case, in the order in which messages should list them
     */
    protected NamedConverter(String kind, Map<String, T> values) {
        this.kind = kind;
        this.values = values;
    }

    /** Values by their names. */
    protected static <T> Map<String, T> byName(T[] values, Function<T, String> name) {
        Map<String, T> map = new LinkedHashMap<>();
        Arrays.stream(values).forEach(value -> map.put(name.apply(value).toLowerCase(Locale.ROOT), value));
        return map;
    }

    @Override
    public final T convert(String name) {
        T value = values.get(name.toLowerCase(Locale.ROOT));
        if (value == null) {
            List<String> similar = Similar.to(name, values.keySet());
            throw new TypeConversionException("no " + kind + " is called '" + name + "'"
                    + (similar.isEmpty() ? "" : "; did you mean " + String.join(" or ", similar) + "?")
                    + "; known: " + String.join(", ", values.keySet()));
        }
        return value;
    }
}

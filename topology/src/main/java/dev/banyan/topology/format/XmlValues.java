package dev.banyan.topology.format;

import java.util.OptionalDouble;
import java.util.regex.Pattern;

/** Reads values of attributes; what is not a value is refused with its place. */
final class XmlValues {
    private static final Pattern INTEGER = Pattern.compile("[+-]?[0-9]{1,9}");
    private static final Pattern DECIMAL = Pattern.compile("[0-9]{1,9}(?:\\.[0-9]{1,18})?(?:[eE][+-]?[0-9]{1,2})?");

    private final String source;

    XmlValues(String source) {
        this.source = source;
    }

    MachineFormatException refuse(XmlElement where, String problem) {
        return new MachineFormatException(source, where.line, where.column, problem);
    }

    /** An integer, or the fallback where the attribute is missing or empty. */
    int integer(XmlElement element, String key, int fallback) {
        String text = element.text(key);
        if (text.isEmpty()) {
            return fallback;
        }
        if (!INTEGER.matcher(text).matches()) {
            throw refuse(
                    element,
                    "<" + element.name + "> has " + key + "=\"" + Quote.of(text)
                            + "\"; an integer of at most nine digits is needed");
        }
        return Integer.parseInt(text);
    }

    /** Banyan's own bandwidth attribute in GB/s, where it is there. */
    OptionalDouble bandwidth(XmlElement element) {
        String text = element.text(NcclNames.GBS);
        if (text.isEmpty()) {
            return OptionalDouble.empty();
        }
        if (!DECIMAL.matcher(text).matches()) {
            throw refuse(
                    element,
                    "<" + element.name + "> has gbs=\"" + Quote.of(text)
                            + "\"; a bandwidth in GB/s is needed, e.g. 12.5");
        }
        return OptionalDouble.of(Double.parseDouble(text));
    }
}

package dev.banyan.topology.internal.nccl;

import dev.banyan.InputException;
import dev.banyan.config.internal.Quote;
import dev.banyan.topology.internal.text.XmlText;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalDouble;
import java.util.regex.Pattern;

/** An element of an XML file, with its place and typed access to its attributes. Text between elements is not kept. */
final class XmlElement {
    private static final Pattern INTEGER = Pattern.compile("[+-]?[0-9]{1,9}");
    private static final Pattern DECIMAL = Pattern.compile("[0-9]{1,9}(?:\\.[0-9]{1,18})?(?:[eE][+-]?[0-9]{1,2})?");

    final String name;
    final XmlText.Place place;
    final Map<String, String> attributes = new LinkedHashMap<>();
    final List<XmlElement> children = new ArrayList<>();
    private final String source;

    XmlElement(String source, String name, XmlText.Place place) {
        this.source = source;
        this.name = name;
        this.place = place;
    }

    /** The attribute without white space around it; empty where there is none. */
    String text(String key) {
        return attributes.getOrDefault(key, "").strip();
    }

    boolean has(String childName) {
        return children.stream().anyMatch(child -> child.name.equals(childName));
    }

    /** An integer, or the fallback where the attribute is missing or empty. */
    int integer(String key, int fallback) {
        String text = text(key);
        if (text.isEmpty()) {
            return fallback;
        }
        if (!INTEGER.matcher(text).matches()) {
            throw refuse("<" + name + "> has " + key + "=\"" + Quote.of(text)
                    + "\"; an integer of at most nine digits is needed");
        }
        return Integer.parseInt(text);
    }

    /** The value of Banyan's own bandwidth attribute in GB/s, if the element has it. */
    OptionalDouble bandwidth() {
        String text = text(NcclNames.GBS);
        if (text.isEmpty()) {
            return OptionalDouble.empty();
        }
        if (!DECIMAL.matcher(text).matches()) {
            throw refuse("<" + name + "> has gbs=\"" + Quote.of(text) + "\"; a bandwidth in GB/s is needed, e.g. 12.5");
        }
        return OptionalDouble.of(Double.parseDouble(text));
    }

    /** The exception that refuses the file because of this element. */
    InputException refuse(String problem) {
        return new InputException(source, place.line(), place.column(), problem);
    }
}

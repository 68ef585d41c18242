package dev.banyan.topology.format;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** An element of an XML file, with its place. Text between elements is not kept. */
final class XmlElement {
    final String name;
    final int line;
    final int column;
    final Map<String, String> attributes = new LinkedHashMap<>();
    final List<XmlElement> children = new ArrayList<>();

    XmlElement(String name, int line, int column) {
        this.name = name;
        this.line = line;
        this.column = column;
    }

    @Nullable
    String attribute(String key) {
        return attributes.get(key);
    }

    /** The attribute without white space around it; empty where there is none. */
    String text(String key) {
        return attributes.getOrDefault(key, "").strip();
    }

    boolean has(String childName) {
        return children.stream().anyMatch(child -> child.name.equals(childName));
    }
}

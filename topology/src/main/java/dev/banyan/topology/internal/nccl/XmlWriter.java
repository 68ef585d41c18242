package dev.banyan.topology.internal.nccl;

import java.util.Map;
import java.util.regex.Pattern;

/** Writes elements with attributes, as NCCL's dumps look: two spaces per level, no XML declaration. */
final class XmlWriter {
    private static final Pattern NAME = Pattern.compile("[A-Za-z_][A-Za-z0-9_-]*");

    private final StringBuilder text = new StringBuilder();
    private int depth;

    /** An element with children. Attributes whose name XML does not allow are left out. */
    void open(String name, Map<String, String> attributes) {
        tag(name, attributes);
        text.append(">\n");
        depth++;
    }

    void close(String name) {
        depth--;
        text.append("  ".repeat(depth)).append("</").append(name).append(">\n");
    }

    /** An element without children. */
    void single(String name, Map<String, String> attributes) {
        tag(name, attributes);
        text.append("/>\n");
    }

    private void tag(String name, Map<String, String> attributes) {
        text.append("  ".repeat(depth)).append('<').append(name);
        attributes.forEach((key, value) -> {
            if (NAME.matcher(key).matches()) {
                text.append(' ').append(key).append("=\"");
                escape(key, value);
                text.append('"');
            }
        });
    }

    private void escape(String key, String value) {
        for (int at = 0; at < value.length(); at += Character.charCount(value.codePointAt(at))) {
            int c = value.codePointAt(at);
            switch (c) {
                case '&' -> text.append("&amp;");
                case '<' -> text.append("&lt;");
                case '>' -> text.append("&gt;");
                case '"' -> text.append("&quot;");
                case '\n', '\r', '\t' -> text.append("&#").append(c).append(';');
                default -> {
                    if (c < 0x20
                            || (c >= Character.MIN_SURROGATE && c <= Character.MAX_SURROGATE)
                            || c == 0xFFFE
                            || c == 0xFFFF) {
                        throw new IllegalArgumentException("\"" + key + "\" has a character that XML cannot hold (U+"
                                + String.format("%04X", c) + "); write JSON instead");
                    }
                    text.appendCodePoint(c);
                }
            }
        }
    }

    @Override
    public String toString() {
        return text.toString();
    }
}

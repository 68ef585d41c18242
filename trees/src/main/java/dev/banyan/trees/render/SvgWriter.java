package dev.banyan.trees.render;

import java.io.StringWriter;
import java.util.Locale;
import javax.xml.stream.XMLOutputFactory;
import javax.xml.stream.XMLStreamException;
import javax.xml.stream.XMLStreamWriter;

/** Writes SVG elements, each on its own line. Not safe for use from several threads at once. */
final class SvgWriter {
    private final StringWriter text = new StringWriter();
    private final XMLStreamWriter xml;

    /** A drawing of a size, in its own units. */
    SvgWriter(double width, double height, String title, String description) {
        try {
            xml = XMLOutputFactory.newDefaultFactory().createXMLStreamWriter(text);
        } catch (XMLStreamException e) {
            throw failed(e);
        }
        open(
                "svg",
                "xmlns",
                "http://www.w3.org/2000/svg",
                "viewBox",
                "0 0 " + number(width) + " " + number(height),
                "width",
                number(width),
                "height",
                number(height),
                "role",
                "img",
                "font-family",
                "Helvetica, Arial, sans-serif");
        element("title", title);
        element("desc", description);
        empty("rect", "width", number(width), "height", number(height), "fill", "#ffffff");
    }

    /** Opens an element. Attributes are names, each followed by its value. */
    void open(String name, String... attributes) {
        try {
            xml.writeStartElement(name);
            attributes(attributes);
            xml.writeCharacters("\n");
        } catch (XMLStreamException e) {
            throw failed(e);
        }
    }

    void close() {
        try {
            xml.writeEndElement();
            xml.writeCharacters("\n");
        } catch (XMLStreamException e) {
            throw failed(e);
        }
    }

    /** An element with text. */
    void element(String name, String content, String... attributes) {
        try {
            xml.writeStartElement(name);
            attributes(attributes);
            xml.writeCharacters(clean(content));
            xml.writeEndElement();
            xml.writeCharacters("\n");
        } catch (XMLStreamException e) {
            throw failed(e);
        }
    }

    void empty(String name, String... attributes) {
        try {
            xml.writeEmptyElement(name);
            attributes(attributes);
            xml.writeCharacters("\n");
        } catch (XMLStreamException e) {
            throw failed(e);
        }
    }

    void line(Point from, Point to, String... attributes) {
        String[] all = new String[attributes.length + 8];
        System.arraycopy(attributes, 0, all, 8, attributes.length);
        String[] ends = {"x1", number(from.x()), "y1", number(from.y()), "x2", number(to.x()), "y2", number(to.y())};
        System.arraycopy(ends, 0, all, 0, 8);
        empty("line", all);
    }

    private void attributes(String... attributes) throws XMLStreamException {
        for (int i = 0; i < attributes.length; i += 2) {
            xml.writeAttribute(attributes[i], clean(attributes[i + 1]));
        }
    }

    /** The whole drawing; nothing can be written afterwards. */
    String finish() {
        close();
        try {
            xml.writeEndDocument();
            xml.flush();
        } catch (XMLStreamException e) {
            throw failed(e);
        }
        return text.toString();
    }

    /** At most two decimals. */
    static String number(double value) {
        return String.format(Locale.ROOT, "%.2f", value).replaceFirst("\\.?0+$", "");
    }

    /** What XML 1.0 can't hold is written as a question mark. */
    private static String clean(String content) {
        return content.codePoints()
                .map(c -> fits(c) ? c : '?')
                .collect(StringBuilder::new, StringBuilder::appendCodePoint, StringBuilder::append)
                .toString();
    }

    private static boolean fits(int c) {
        return c == '\n' || (c >= ' ' && c <= 0xD7FF) || (c >= 0xE000 && c <= 0xFFFD) || c > 0xFFFF;
    }

    /** In memory, only a mistake of ours can fail. */
    private static IllegalStateException failed(XMLStreamException e) {
        return new IllegalStateException("the drawing can't be written", e);
    }
}

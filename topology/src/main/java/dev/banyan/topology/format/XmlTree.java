package dev.banyan.topology.format;

import java.io.StringReader;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;
import java.util.stream.IntStream;
import javax.xml.stream.Location;
import javax.xml.stream.XMLInputFactory;
import javax.xml.stream.XMLStreamConstants;
import javax.xml.stream.XMLStreamException;
import javax.xml.stream.XMLStreamReader;
import org.jspecify.annotations.Nullable;

/**
 * Reads XML from strangers into elements: no DTD, hence no entity but the five of XML itself, nothing
 * fetched or opened, bounded depth and size.
 */
final class XmlTree {
    private static final int MAX_DEPTH = 64;
    private static final int MAX_ELEMENTS = 100_000;

    private final String source;
    private final String text;
    /** Length of the white space before {@link #body}, which XML does not allow before its declaration. */
    private final int offset;

    private final String body;
    private final int[] lineStarts;
    private final Deque<XmlElement> open = new ArrayDeque<>();

    private XmlTree(String source, String text) {
        this.source = source;
        // As XML says: so the parser and this class count the same lines.
        this.text = text.replace("\r\n", "\n").replace('\r', '\n');
        body = this.text.stripLeading();
        offset = this.text.length() - body.length();
        lineStarts = lineStarts(this.text);
    }

    /**
     * The root element.
     *
     * @throws MachineFormatException if the text is not well-formed, has a DTD, or is too deep or large
     */
    static XmlElement parse(String source, String text) {
        return new XmlTree(source, text).parse();
    }

    private static XMLInputFactory factory() {
        XMLInputFactory factory = XMLInputFactory.newDefaultFactory();
        factory.setProperty(XMLInputFactory.SUPPORT_DTD, false);
        factory.setProperty(XMLInputFactory.IS_SUPPORTING_EXTERNAL_ENTITIES, false);
        factory.setProperty(XMLInputFactory.IS_NAMESPACE_AWARE, false);
        factory.setXMLResolver((publicId, systemId, base, namespace) -> {
            throw new XMLStreamException("external entities are not read");
        });
        return factory;
    }

    private XmlElement parse() {
        // Found here, before the parser looks at it: a DTD may be costly to skip.
        int doctype = doctype();
        if (doctype >= 0) {
            throw at(doctype, "has a document type declaration (DTD), which is refused; remove it");
        }
        try {
            XMLStreamReader reader = factory().createXMLStreamReader(new StringReader(body));
            try {
                return read(reader);
            } finally {
                reader.close();
            }
        } catch (XMLStreamException e) {
            throw malformed(e);
        }
    }

    private MachineFormatException malformed(XMLStreamException e) {
        int stopped = e.getLocation() == null ? offset : position(e.getLocation());
        XmlElement inside = open.peek();
        if (inside != null && text.substring(Math.min(stopped, text.length())).isBlank()) {
            int end = text.stripTrailing().length();
            return at(
                    end,
                    "is cut off: it ends before <" + Quote.of(inside.name) + "> of line " + inside.line
                            + " is closed; dump it again");
        }
        return at(
                Math.min(stopped, text.length()),
                "is not well-formed XML: " + reason(e) + "; correct it, or dump it again");
    }

    /** Where a document type declaration begins outside comments, or -1. Only the prolog can hold one. */
    private int doctype() {
        int at = offset;
        while (at < text.length()) {
            int tag = text.indexOf('<', at);
            if (tag < 0) {
                return -1;
            }
            if (text.startsWith("<!--", tag)) {
                int end = text.indexOf("-->", tag + 4);
                at = end < 0 ? text.length() : end + 3;
            } else if (text.startsWith("<?", tag)) {
                int end = text.indexOf("?>", tag + 2);
                at = end < 0 ? text.length() : end + 2;
            } else {
                return text.startsWith("<!", tag) ? tag : -1;
            }
        }
        return -1;
    }

    /** The parser's own words: its message begins with the place, and ends with the reason. */
    private static String reason(XMLStreamException e) {
        String message = String.valueOf(e.getMessage());
        int at = message.indexOf("Message: ");
        return (at < 0 ? message : message.substring(at + "Message: ".length()))
                .replaceAll("\\s+", " ")
                .strip()
                .replaceAll("\\.$", "");
    }

    private XmlElement read(XMLStreamReader reader) throws XMLStreamException {
        @Nullable XmlElement root = null;
        int count = 0;
        while (reader.hasNext()) {
            switch (reader.next()) {
                case XMLStreamConstants.START_ELEMENT -> {
                    int start = startOfTag(position(reader.getLocation()));
                    XmlElement element = new XmlElement(reader.getLocalName(), lineOf(start), columnOf(start));
                    for (int i = 0; i < reader.getAttributeCount(); i++) {
                        element.attributes.put(reader.getAttributeLocalName(i), reader.getAttributeValue(i));
                    }
                    if (root == null) {
                        root = element;
                    } else {
                        open.element().children.add(element);
                    }
                    open.push(element);
                    if (open.size() > MAX_DEPTH) {
                        throw at(start, "is nested more than " + MAX_DEPTH + " deep; a topology never is");
                    }
                    if (++count > MAX_ELEMENTS) {
                        throw at(start, "has more than " + MAX_ELEMENTS + " elements, too many for one machine");
                    }
                }
                case XMLStreamConstants.END_ELEMENT -> open.pop();
                case XMLStreamConstants.DTD, XMLStreamConstants.ENTITY_REFERENCE ->
                    throw at(
                            Math.max(position(reader.getLocation()) - 1, 0),
                            "uses a DTD or an entity, which is refused; remove it");
                default -> {
                    // Comments, white space, processing instructions.
                }
            }
        }
        if (root == null) {
            throw new MachineFormatException(source, 0, 0, "has no element");
        }
        return root;
    }

    /** The parser says where a tag ends; no attribute can hold the character that begins one. */
    private int startOfTag(int end) {
        return Math.max(text.lastIndexOf('<', end - 1), 0);
    }

    /**
     * Where the parser is, in the text. By its line and column: its character offset runs ahead once a tag has crossed
     * the end of one of its buffers.
     */
    private int position(Location parser) {
        int first = lineOf(offset) - 1;
        int line = Math.clamp(first + parser.getLineNumber() - 1, 0, lineStarts.length - 1);
        int start = line == first ? offset : lineStarts[line];
        return Math.clamp(start + parser.getColumnNumber() - 1, offset, text.length());
    }

    /** Line of a position in the text, from 1. */
    private int lineOf(int position) {
        int found = Arrays.binarySearch(lineStarts, position);
        return found >= 0 ? found + 1 : -found - 1;
    }

    private int columnOf(int position) {
        return position - lineStarts[lineOf(position) - 1] + 1;
    }

    private static int[] lineStarts(String text) {
        return IntStream.concat(
                        IntStream.of(0),
                        IntStream.range(0, text.length())
                                .filter(i -> text.charAt(i) == '\n')
                                .map(i -> i + 1))
                .toArray();
    }

    private MachineFormatException at(int position, String problem) {
        return new MachineFormatException(source, lineOf(position), columnOf(position), problem);
    }
}

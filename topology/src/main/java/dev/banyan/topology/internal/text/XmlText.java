package dev.banyan.topology.internal.text;

import java.io.StringReader;
import java.util.Arrays;
import java.util.stream.IntStream;
import javax.xml.stream.Location;
import javax.xml.stream.XMLInputFactory;
import javax.xml.stream.XMLStreamException;
import javax.xml.stream.XMLStreamReader;
import org.jspecify.annotations.Nullable;

/**
 * The text of an XML file that may come from strangers. Its parser supports no DTD, hence no entity but the five of
 * XML itself, and opens no other file or address. White space before the XML declaration is accepted. Immutable.
 */
public final class XmlText {
    private final String text;
    /** Length of the white space before the first character that the parser sees. */
    private final int offset;

    private final int[] lineStarts;

    /**
     * A place in the text.
     *
     * @param line line, from 1
     * @param column column in characters, from 1
     */
    public record Place(int line, int column) {}

    /** Takes the whole text of a file. */
    public XmlText(String raw) {
        // The parser folds line ends in the same way, so both count the same lines.
        text = raw.replace("\r\n", "\n").replace('\r', '\n');
        offset = text.length() - text.stripLeading().length();
        lineStarts = IntStream.concat(
                        IntStream.of(0),
                        IntStream.range(0, text.length())
                                .filter(i -> text.charAt(i) == '\n')
                                .map(i -> i + 1))
                .toArray();
    }

    /** Opens a new parser at the beginning of the text. */
    public XMLStreamReader open() throws XMLStreamException {
        XMLInputFactory factory = XMLInputFactory.newDefaultFactory();
        factory.setProperty(XMLInputFactory.SUPPORT_DTD, false);
        factory.setProperty(XMLInputFactory.IS_SUPPORTING_EXTERNAL_ENTITIES, false);
        factory.setProperty(XMLInputFactory.IS_NAMESPACE_AWARE, false);
        factory.setXMLResolver((publicId, systemId, base, namespace) -> {
            throw new XMLStreamException("external entities are not read");
        });
        return factory.createXMLStreamReader(new StringReader(text.substring(offset)));
    }

    /** Returns the begin of the tag that the parser has just read. */
    public Place tag(XMLStreamReader parser) {
        // The parser says where a tag ends; no attribute can hold the character that begins one.
        return place(Math.max(text.lastIndexOf('<', position(parser.getLocation()) - 1), 0));
    }

    /** Returns the place of the last character that the parser has read. */
    public Place last(XMLStreamReader parser) {
        return place(Math.max(position(parser.getLocation()) - 1, 0));
    }

    /** Returns the place of an error, or the first character that the parser sees if it names no place. */
    public Place place(XMLStreamException error) {
        return place(stop(error));
    }

    /** The parser's reason for an error, without its place and without a full stop. */
    public static String reason(XMLStreamException error) {
        String message = String.valueOf(error.getMessage());
        int at = message.indexOf("Message: ");
        return (at < 0 ? message : message.substring(at + "Message: ".length()))
                .replaceAll("\\s+", " ")
                .strip()
                .replaceAll("\\.$", "");
    }

    /** Returns whether nothing but white space follows the place of an error. */
    public boolean endsAt(XMLStreamException error) {
        return text.substring(stop(error)).isBlank();
    }

    /** The place behind the last character that is no white space. */
    public Place end() {
        return place(text.stripTrailing().length());
    }

    /** Returns the begin of a document type declaration outside comments, or null. Only the prolog can hold one. */
    @Nullable
    public Place doctype() {
        int tag = text.indexOf('<', offset);
        while (text.startsWith("<!--", tag) || text.startsWith("<?", tag)) {
            String close = text.startsWith("<?", tag) ? "?>" : "-->";
            int end = text.indexOf(close, tag + (close.equals("?>") ? 2 : 4));
            tag = end < 0 ? -1 : text.indexOf('<', end + close.length());
        }
        return text.startsWith("<!", tag) ? place(tag) : null;
    }

    private int stop(XMLStreamException error) {
        return error.getLocation() == null ? offset : position(error.getLocation());
    }

    /**
     * Returns the parser's offset in the text, from its line and column: its character offset runs ahead once a tag has
     * crossed the end of one of its buffers.
     */
    private int position(Location parser) {
        int first = lineOf(offset) - 1;
        int line = Math.clamp(first + parser.getLineNumber() - 1, 0, lineStarts.length - 1);
        int start = line == first ? offset : lineStarts[line];
        return Math.clamp(start + parser.getColumnNumber() - 1, offset, text.length());
    }

    private int lineOf(int position) {
        int found = Arrays.binarySearch(lineStarts, position);
        return found >= 0 ? found + 1 : -found - 1;
    }

    private Place place(int position) {
        int line = lineOf(position);
        return new Place(line, position - lineStarts[line - 1] + 1);
    }
}

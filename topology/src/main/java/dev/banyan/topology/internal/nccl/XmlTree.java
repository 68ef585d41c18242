package dev.banyan.topology.internal.nccl;

import dev.banyan.InputException;
import dev.banyan.config.internal.Quote;
import dev.banyan.topology.internal.text.XmlText;
import dev.banyan.topology.internal.text.XmlText.Place;
import java.util.ArrayDeque;
import java.util.Deque;
import javax.xml.stream.XMLStreamConstants;
import javax.xml.stream.XMLStreamException;
import javax.xml.stream.XMLStreamReader;
import org.jspecify.annotations.Nullable;

/** Reads an {@link XmlText} into elements, of bounded depth and number. Used once. */
final class XmlTree {
    private static final int MAX_DEPTH = 64;
    private static final int MAX_ELEMENTS = 100_000;

    private final String source;
    private final XmlText text;
    private final Deque<XmlElement> open = new ArrayDeque<>();

    private XmlTree(String source, XmlText text) {
        this.source = source;
        this.text = text;
    }

    /**
     * The root element.
     *
     * @throws InputException if the text is not well-formed, has a DTD, or is too deep or large
     */
    static XmlElement parse(String source, String text) {
        return new XmlTree(source, new XmlText(text)).parse();
    }

    private XmlElement parse() {
        // A DTD may be costly to skip, so it is looked for before the parser sees it.
        Place doctype = text.doctype();
        if (doctype != null) {
            throw at(doctype, "has a document type declaration (DTD), which is refused; remove it");
        }
        try {
            XMLStreamReader reader = text.open();
            try {
                return read(reader);
            } finally {
                reader.close();
            }
        } catch (XMLStreamException e) {
            XmlElement inside = open.peek();
            if (inside != null && text.endsAt(e)) {
                throw at(
                        text.end(),
                        "is cut off: it ends before <" + Quote.of(inside.name) + "> of line " + inside.place.line()
                                + " is closed; dump it again");
            }
            throw at(text.place(e), "is not well-formed XML: " + XmlText.reason(e) + "; correct it, or dump it again");
        }
    }

    private XmlElement read(XMLStreamReader reader) throws XMLStreamException {
        @Nullable XmlElement root = null;
        int count = 0;
        while (reader.hasNext()) {
            switch (reader.next()) {
                case XMLStreamConstants.START_ELEMENT -> {
                    XmlElement element = new XmlElement(source, reader.getLocalName(), text.tag(reader));
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
                        throw element.refuse("is nested more than " + MAX_DEPTH + " deep; a topology never is");
                    }
                    if (++count > MAX_ELEMENTS) {
                        throw element.refuse("has more than " + MAX_ELEMENTS + " elements, too many for one machine");
                    }
                }
                case XMLStreamConstants.END_ELEMENT -> open.pop();
                case XMLStreamConstants.DTD, XMLStreamConstants.ENTITY_REFERENCE ->
                    throw at(text.last(reader), "uses a DTD or an entity, which is refused; remove it");
                default -> {
                    // Comments, white space, processing instructions.
                }
            }
        }
        if (root == null) {
            throw new InputException(source, 0, 0, "has no element");
        }
        return root;
    }

    private InputException at(Place place, String problem) {
        return new InputException(source, place.line(), place.column(), problem);
    }
}

package dev.banyan.msccl;

import dev.banyan.InputException;
import dev.banyan.msccl.Algo.Gpu;
import dev.banyan.msccl.Algo.Instruction;
import dev.banyan.msccl.Algo.Instruction.Position;
import dev.banyan.msccl.Algo.Threadblock;
import dev.banyan.schedule.Space;
import dev.banyan.schedule.type.Collective;
import dev.banyan.topology.internal.text.XmlText;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.function.Function;
import java.util.stream.Collectors;
import javax.xml.stream.XMLStreamConstants;
import javax.xml.stream.XMLStreamException;
import javax.xml.stream.XMLStreamReader;
import org.jspecify.annotations.Nullable;

/**
 * Reads an algorithm's {@linkplain XmlText XML}, of bounded size. Attributes that it does not know are ignored, as by
 * the runtimes. Used once.
 */
final class AlgoParser {
    private static final int MOST_RANKS = 1024;
    private static final int MOST_STEPS = 1 << 17;

    private final String source;
    private final XmlText text;
    private final XMLStreamReader xml;
    /** Place of the tag that is being read. */
    private Position tag = Position.NONE;

    private int steps;

    private AlgoParser(String source, XmlText text) throws XMLStreamException {
        this.source = source;
        this.text = text;
        xml = text.open();
    }

    /**
     * Reads it.
     *
     * @throws InputException if it is not an algorithm in XML
     */
    static Algo parse(String source, String text) {
        XmlText xml = new XmlText(text);
        try {
            return new AlgoParser(source, xml).algo();
        } catch (XMLStreamException e) {
            XmlText.Place place = xml.place(e);
            throw new InputException(
                    source,
                    place.line(),
                    place.column(),
                    "is not well-formed XML: " + XmlText.reason(e) + "; correct it, or write it again");
        }
    }

    private Algo algo() throws XMLStreamException {
        if (!"algo".equals(nextChild())) {
            throw wrong("is not an MSCCL algorithm: its outermost element must be <algo>");
        }
        Position start = tag;
        String name = attribute("name", "msccl");
        MscclProtocol protocol = protocol(attribute("proto", null));
        int chunksPerLoop = number("nchunksperloop", 1, Limits.CHUNKS);
        int ranks = number("ngpus", 1, MOST_RANKS);
        Collective collective = collective(attribute("coll", null));
        boolean inPlace = number("inplace", 0, 1) == 1;
        boolean outOfPlace =
                xml.getAttributeValue(null, "outofplace") == null ? !inPlace : number("outofplace", 0, 1) == 1;
        if (!inPlace && !outOfPlace) {
            throw wrong("runs neither in place nor out of place; set inplace or outofplace to 1");
        }
        if (Algo.isByBlocks(collective) && chunksPerLoop % ranks != 0) {
            throw wrong("has nchunksperloop=" + chunksPerLoop + ", which " + ranks + " ranks do not divide; "
                    + AlgoXml.label(collective) + " needs a block of equal chunks for each");
        }
        @Nullable Gpu[] gpus = new Gpu[ranks];
        while (enter("gpu", "<algo>")) {
            int id = number("id", 0, ranks - 1);
            if (gpus[id] != null) {
                throw wrong("has GPU " + id + " twice; give each rank one <gpu>");
            }
            gpus[id] = gpu(id);
        }
        List<Gpu> all = new ArrayList<>();
        for (int id = 0; id < ranks; id++) {
            Gpu gpu = gpus[id];
            if (gpu == null) {
                throw at(start, "has no <gpu id=\"" + id + "\">, but ngpus=" + ranks + "; add it");
            }
            all.add(gpu);
        }
        nextChild();
        return new Algo(name, protocol, collective, chunksPerLoop, inPlace, outOfPlace, all);
    }

    private Gpu gpu(int id) throws XMLStreamException {
        Position start = tag;
        int input = number("i_chunks", 0, Limits.CHUNKS);
        int output = number("o_chunks", 0, Limits.CHUNKS);
        int scratch = number("s_chunks", 0, Limits.CHUNKS);
        List<Threadblock> blocks = new ArrayList<>();
        while (enter("tb", "<gpu>")) {
            blocks.add(threadblock());
        }
        blocks.sort(Comparator.comparingInt(Threadblock::id));
        for (int i = 0; i < blocks.size(); i++) {
            if (blocks.get(i).id() != i) {
                throw at(
                        start,
                        "numbers the threadblocks of GPU " + id + " "
                                + blocks.stream()
                                        .map(block -> String.valueOf(block.id()))
                                        .collect(Collectors.joining(", "))
                                + "; number them 0, 1, 2 and so on");
            }
        }
        return new Gpu(id, input, output, scratch, blocks);
    }

    private Threadblock threadblock() throws XMLStreamException {
        int id = number("id", 0, Short.MAX_VALUE);
        int send = number("send", -1, MOST_RANKS);
        int receive = number("recv", -1, MOST_RANKS);
        int channel = number("chan", 0, Short.MAX_VALUE);
        List<Instruction> instructions = new ArrayList<>();
        while (enter("step", "<tb>")) {
            instructions.add(instruction(instructions.size()));
            if (enter("", "<step>")) {
                throw wrong("has an element inside <step>; close the <step>");
            }
        }
        return new Threadblock(id, send, receive, channel, instructions);
    }

    private Instruction instruction(int index) {
        if (++steps > MOST_STEPS) {
            throw wrong("has more than " + MOST_STEPS + " steps, too many to check");
        }
        int number = number("s", 0, Integer.MAX_VALUE);
        if (number != index) {
            throw wrong("calls this step " + number + ", but it is number " + index
                    + " of its threadblock; number them 0, 1, 2 and so on");
        }
        String type = attribute("type", null);
        Opcode opcode = labelled(Opcode.values(), Opcode::label, type);
        if (opcode == null) {
            throw wrong("has a step of type \"" + quote(type) + "\"; known are "
                    + Arrays.stream(Opcode.values()).map(Opcode::label).collect(Collectors.joining(", ")));
        }
        int block = number("depid", -1, Short.MAX_VALUE);
        return new Instruction(
                opcode,
                space("srcbuf"),
                number("srcoff", opcode.readsSource ? 0 : -1, Limits.CHUNKS),
                space("dstbuf"),
                number("dstoff", opcode.writesTarget ? 0 : -1, Limits.CHUNKS),
                number("cnt", opcode == Opcode.NOP ? 0 : 1, Limits.CHUNKS),
                block,
                number("deps", block < 0 ? -1 : 0, Integer.MAX_VALUE),
                number("hasdep", 0, 1) == 1,
                tag);
    }

    private MscclProtocol protocol(String label) {
        MscclProtocol protocol = labelled(MscclProtocol.values(), MscclProtocol::label, label);
        if (protocol == null) {
            throw wrong("has proto=\"" + quote(label) + "\"; known are Simple, LL and LL128");
        }
        return protocol;
    }

    private Collective collective(String label) {
        Collective collective = label.equals("reduce_scatter")
                ? Collective.REDUCE_SCATTER
                : labelled(Collective.values(), AlgoXml::label, label);
        if (collective == null) {
            throw wrong("is for the collective \"" + quote(label) + "\"; only "
                    + Arrays.stream(Collective.values()).map(AlgoXml::label).collect(Collectors.joining(", "))
                    + " can be read");
        }
        return collective;
    }

    private Space space(String attribute) {
        String label = attribute(attribute, null);
        Space space = labelled(Space.values(), AlgoXml::label, label);
        if (space == null) {
            throw wrong("has " + attribute + "=\"" + quote(label) + "\"; known buffers are i, o and s");
        }
        return space;
    }

    /** The value that a file calls so; null if there is none. */
    private static <T> @Nullable T labelled(T[] values, Function<T, String> labels, String label) {
        return Arrays.stream(values)
                .filter(value -> labels.apply(value).equals(label))
                .findFirst()
                .orElse(null);
    }

    private int number(String attribute, int least, int most) {
        String value = attribute(attribute, null);
        try {
            int number = Integer.parseInt(value.strip());
            if (number >= least && number <= most) {
                return number;
            }
        } catch (NumberFormatException e) {
            // Said below, together with the range.
        }
        throw wrong("has " + attribute + "=\"" + quote(value) + "\" on <" + xml.getLocalName()
                + ">; it must be a whole number from " + least + " to " + most);
    }

    /**
     * The value of an attribute.
     *
     * @param missing what to take where there is none; null if there must be one
     */
    private String attribute(String name, @Nullable String missing) {
        @Nullable String value = xml.getAttributeValue(null, name);
        if (value == null) {
            value = missing;
        }
        if (value == null) {
            throw wrong("has no " + name + " on <" + xml.getLocalName() + ">; add it");
        }
        return value;
    }

    /** Goes to the next element of this name inside the present one, or to its end. */
    private boolean enter(String name, String parent) throws XMLStreamException {
        String child = nextChild();
        if (child != null && !child.equals(name) && !name.isEmpty()) {
            throw wrong("has <" + quote(child) + "> in " + parent + "; only <" + name + "> belongs there");
        }
        return child != null;
    }

    /** Name of the next element inside the present one; null at its end, or at that of the file. */
    private @Nullable String nextChild() throws XMLStreamException {
        while (xml.hasNext()) {
            switch (xml.next()) {
                case XMLStreamConstants.START_ELEMENT -> {
                    tag = position();
                    return xml.getLocalName();
                }
                case XMLStreamConstants.END_ELEMENT -> {
                    return null;
                }
                case XMLStreamConstants.DTD, XMLStreamConstants.ENTITY_REFERENCE -> {
                    tag = position();
                    throw wrong("uses a document type declaration (DTD) or an entity, which is refused; remove it");
                }
                default -> {
                    // Comments, white space, processing instructions.
                }
            }
        }
        return null;
    }

    private Position position() {
        XmlText.Place place = text.tag(xml);
        return new Position(place.line(), place.column());
    }

    private InputException wrong(String problem) {
        return at(tag, problem);
    }

    private InputException at(Position position, String problem) {
        return new InputException(source, position.line(), position.column(), problem);
    }

    private static String quote(String value) {
        String shown = value.length() <= 40 ? value : value.substring(0, 40) + "...";
        return shown.replaceAll("[\\p{Cc}\\p{Cf}]", "?");
    }
}

package dev.banyan.export;

import dev.banyan.InputException;
import dev.banyan.topology.internal.text.XmlText;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import javax.xml.stream.XMLStreamConstants;
import javax.xml.stream.XMLStreamException;
import javax.xml.stream.XMLStreamReader;

/** Reads the rings and chains of NCCL's graph files, written by hand or dumped by {@code NCCL_GRAPH_DUMP_FILE}. */
public final class NcclGraphReader {
    private static final int MOST_CHANNELS = 128;
    private static final int MOST_DEVICES = 1024;

    private final String source;
    private final XmlText text;

    private NcclGraphReader(String source, String text) {
        this.source = source;
        this.text = new XmlText(text);
    }

    /** Returns whether a text looks like such a file. */
    public static boolean recognizes(String text) {
        return text.contains("<graphs");
    }

    /**
     * Reads the rings of graph 0.
     *
     * @param source name of the file, for messages
     * @return device numbers in the order of each channel's ring; all rings have the same devices, each once
     * @throws InputException if it is no such file; the message says where
     */
    public static List<List<Integer>> rings(String source, String text) {
        return read(source, text, 0);
    }

    /**
     * Reads the chains of graph 1, which NCCL calls trees.
     *
     * @param source name of the file, for messages
     * @return device numbers of each channel from its root on, as those of rings; empty if there is no such graph
     * @throws InputException if the graph is incomplete; the message says where
     */
    public static List<List<Integer>> chains(String source, String text) {
        return read(source, text, 1);
    }

    private static List<List<Integer>> read(String source, String text, int graph) {
        NcclGraphReader reader = new NcclGraphReader(source, text);
        try {
            return reader.read(graph);
        } catch (XMLStreamException e) {
            throw reader.wrong(
                    reader.text.place(e), "is not well-formed XML: " + XmlText.reason(e) + "; dump or write it again");
        }
    }

    private List<List<Integer>> read(int graph) throws XMLStreamException {
        List<List<Integer>> orders = new ArrayList<>();
        XMLStreamReader xml = text.open();
        boolean wanted = false;
        boolean found = false;
        int announced = 0;
        while (xml.hasNext()) {
            if (xml.next() != XMLStreamConstants.START_ELEMENT) {
                continue;
            }
            switch (xml.getLocalName()) {
                case "graph" -> {
                    wanted = number(xml, "id", 10) == graph;
                    found |= wanted;
                    announced = wanted ? number(xml, "nchannels", 10) : announced;
                }
                case "channel" -> {
                    if (wanted) {
                        orders.add(new ArrayList<>());
                    }
                    if (orders.size() > MOST_CHANNELS) {
                        throw wrong(text.tag(xml), "has more than " + MOST_CHANNELS + " channels; no NCCL takes them");
                    }
                }
                case "gpu" -> {
                    if (wanted && !orders.isEmpty()) {
                        orders.getLast().add(number(xml, "dev", 16));
                    }
                }
                default -> {
                    // The root, and network cards of several machines.
                }
            }
        }
        XmlText.Place end = text.end();
        if (!found && graph > 0) {
            return orders;
        }
        if (!found || announced != orders.size() || orders.isEmpty()) {
            throw wrong(
                    end,
                    "has " + orders.size() + " channels in graph " + graph + ", and nchannels says " + announced
                            + "; NCCL reads the missing ones as zeros, so make them equal");
        }
        for (List<Integer> order : orders) {
            if (new HashSet<>(order).size() < order.size()
                    || !new HashSet<>(order).equals(new HashSet<>(orders.getFirst()))) {
                throw wrong(
                        end,
                        "has the channel " + order + " beside " + orders.getFirst() + " in graph " + graph
                                + "; each channel has to name the same devices once");
            }
        }
        return orders;
    }

    private int number(XMLStreamReader xml, String key, int radix) {
        String value = xml.getAttributeValue(null, key);
        try {
            int number = Integer.parseInt(String.valueOf(value).replaceFirst("^0[xX]", ""), radix);
            if (number >= 0 && number < MOST_DEVICES) {
                return number;
            }
        } catch (NumberFormatException e) {
            // Reported below, together with numbers that are too large.
        }
        throw wrong(text.tag(xml), "has no number as " + key + " of <" + xml.getLocalName() + ">; add it");
    }

    private InputException wrong(XmlText.Place place, String problem) {
        return new InputException(source, place.line(), place.column(), problem);
    }
}

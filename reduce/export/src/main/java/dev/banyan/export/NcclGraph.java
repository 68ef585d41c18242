package dev.banyan.export;

import dev.banyan.topology.Connection;
import dev.banyan.topology.Machine;
import dev.banyan.topology.Routes;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;

/**
 * A graph file of NCCL and RCCL ({@code NCCL_GRAPH_FILE}): rings for graph 0, and for graph 1, which NCCL calls trees,
 * as many chains. Format: NCCL 2.30.7, {@code src/graph/xml.cc} and {@code search.cc}; older parsers read it as well.
 *
 * @param rings device numbers in the order of each channel's ring
 * @param chains device numbers of each channel's chain, the root first
 * @param ringGbs bandwidth of a channel's ring as NCCL counts it, in GB/s
 * @param chainGbs the same of a chain
 * @param type the worst path between neighbours, in NCCL's words, e.g. {@code NVL} or {@code SYS}
 */
public record NcclGraph(
        List<List<Integer>> rings, List<List<Integer>> chains, double ringGbs, double chainGbs, String type) {
    private static final Pattern NUMBERED = Pattern.compile("\\D*(\\d{1,4})");

    public NcclGraph {
        rings = rings.stream().map(List::copyOf).toList();
        chains = chains.stream().map(List::copyOf).toList();
    }

    /**
     * Makes the file's contents.
     *
     * @param machine the machine whose devices are the ranks of the channels
     */
    public static NcclGraph of(Machine machine, RingChannels channels) {
        Routes routes = Routes.of(machine);
        List<List<Integer>> rings = channels.orders();
        NcclChains chains = NcclChains.of(machine, channels);
        int[] numbers = IntStream.range(0, machine.size())
                .map(rank -> number(machine, rank))
                .toArray();
        if (Arrays.stream(numbers).distinct().count() < numbers.length) {
            throw new IllegalArgumentException("two devices of " + machine.name()
                    + " have the same number; describe the machine by the output of nvidia-smi topo -m");
        }
        return new NcclGraph(
                numbered(rings, numbers),
                numbered(chains.orders(), numbers),
                channels.channelGbs(),
                // NCCL halves the bandwidth of trees, along which every byte goes up and down.
                2 * chains.algbw().doubleValue() / rings.size(),
                worst(rings, routes));
    }

    /** Returns the number of a device as its driver counts: the number in its name, else its index. */
    public static int number(Machine machine, int device) {
        Matcher name = NUMBERED.matcher(machine.devices().get(device).name());
        return name.matches() ? Integer.parseInt(name.group(1)) : device;
    }

    private static List<List<Integer>> numbered(List<List<Integer>> orders, int[] numbers) {
        return orders.stream()
                .map(order -> order.stream().map(rank -> numbers[rank]).toList())
                .toList();
    }

    private static String worst(List<List<Integer>> rings, Routes routes) {
        Connection.Kind worst = Connection.Kind.SELF;
        for (List<Integer> ring : rings) {
            for (int i = 0; i < ring.size(); i++) {
                Connection.Kind kind = routes.between(ring.get(i), ring.get((i + 1) % ring.size()))
                        .kind();
                worst = kind.compareTo(worst) > 0 ? kind : worst;
            }
        }
        return switch (worst) {
            case SELF -> "LOC";
            case NVLINK -> "NVL";
            case PIX -> "PIX";
            case PXB -> "PXB";
            case PHB, NODE -> "PHB";
            case SYS, NONE -> "SYS";
        };
    }

    /** Returns the file: no XML declaration, no tabs, all attributes of an element in one line. */
    public String xml() {
        StringBuilder text = new StringBuilder("<graphs version=\"1\">\n");
        append(text, 0, 4, rings, ringGbs);
        append(text, 1, 1, chains, chainGbs);
        return text.append("</graphs>\n").toString();
    }

    private void append(StringBuilder text, int id, int pattern, List<List<Integer>> orders, double gbs) {
        String speed = String.format(Locale.ROOT, "%.3f", gbs).replaceAll("\\.?0+$", "");
        text.append(String.format(
                Locale.ROOT,
                "  <graph id=\"%d\" pattern=\"%d\" crossnic=\"0\" nchannels=\"%d\" speedintra=\"%s\" speedinter=\"%s\""
                        + " latencyinter=\"0\" typeintra=\"%s\" typeinter=\"PIX\" samechannels=\"0\">\n",
                id,
                pattern,
                orders.size(),
                speed,
                speed,
                type));
        for (List<Integer> order : orders) {
            text.append("    <channel>\n");
            order.forEach(device -> text.append("      <gpu dev=\"0x")
                    .append(Integer.toHexString(device))
                    .append("\"/>\n"));
            text.append("    </channel>\n");
        }
        text.append("  </graph>\n");
    }
}

package dev.banyan.study.machine;

import com.fasterxml.jackson.annotation.JsonInclude;
import dev.banyan.schedule.type.Collective;
import dev.banyan.study.text.Numbers;
import dev.banyan.trees.bound.Bound;
import dev.banyan.trees.bound.Certificate;
import dev.banyan.trees.network.Network;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.IntPredicate;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * Why nothing can be faster than a bound, in the order of its JSON.
 *
 * @param kind partition, cut or prices
 * @param sentence the same for people
 * @param parts of a partition: ranks
 * @param nodes of a cut: nodes on the one side, by index in the network
 * @param names of a cut: what these nodes are called
 * @param entering of a cut: whether the arcs into it limit the rate, not those out of it
 * @param prices of prices: the arcs that are not free
 */
@JsonInclude(JsonInclude.Include.NON_NULL)
public record CertificateReport(
        String kind,
        String sentence,
        @Nullable List<List<Integer>> parts,
        @Nullable List<Integer> nodes,
        @Nullable List<String> names,
        @Nullable Boolean entering,
        @Nullable List<Price> prices) {
    /**
     * The price of an arc per unit of its capacity.
     *
     * @param from node index in the network
     * @param to node index in the network
     * @param price exact, e.g. {@code 1/14}
     */
    public record Price(int from, int to, String price) {}

    /** The certificate of a bound of a collective over a network. */
    public static CertificateReport of(Bound bound, Network network, Collective collective) {
        String limit = Numbers.gbs(bound.gbs());
        return switch (bound.certificate()) {
            case Certificate.Partition partition ->
                new CertificateReport(
                        "partition", sentence(partition, network, limit), partition.parts(), null, null, null, null);
            case Certificate.Cut cut ->
                new CertificateReport(
                        "cut",
                        sentence(cut, network, collective, limit),
                        null,
                        cut.nodes(),
                        cut.nodes().stream()
                                .map(node -> network.node(node).name())
                                .toList(),
                        cut.entering(),
                        null);
            case Certificate.Prices prices ->
                new CertificateReport(
                        "prices",
                        "limited by " + SaturatedLinks.of(prices, network) + ": "
                                + SaturatedLinks.arithmetic(prices, network, limit),
                        null,
                        null,
                        null,
                        null,
                        prices.prices().entrySet().stream()
                                .sorted(Map.Entry.comparingByKey(Comparator.naturalOrder()))
                                .map(entry -> new Price(
                                        network.from(entry.getKey()),
                                        network.to(entry.getKey()),
                                        Numbers.exact(entry.getValue())))
                                .toList());
        };
    }

    private static String sentence(Certificate.Partition partition, Network network, String limit) {
        int[] part = new int[network.ranks()];
        for (int i = 0; i < partition.parts().size(); i++) {
            for (int rank : partition.parts().get(i)) {
                part[rank] = i;
            }
        }
        int crossings = partition.parts().size() - 1;
        double gbs = carried(network, arc -> part[network.from(arc)] < part[network.to(arc)]);
        String parts = crossings + 1 == network.ranks()
                ? "single GPUs"
                : partition.parts().stream().map(CertificateReport::set).collect(Collectors.joining(" "));
        return "cut into " + parts + ": the links between them carry " + Numbers.gbs(gbs)
                + " each way in all, and each byte must cross "
                + (crossings == 1
                        ? "once: " + limit
                        : crossings + " times: " + Numbers.plain(gbs) + "/" + crossings + " = " + limit);
    }

    private static String sentence(Certificate.Cut cut, Network network, Collective collective, String limit) {
        Set<Integer> inside = new HashSet<>(cut.nodes());
        double gbs = carried(
                network,
                arc -> cut.entering()
                        ? !inside.contains(network.from(arc)) && inside.contains(network.to(arc))
                        : inside.contains(network.from(arc)) && !inside.contains(network.to(arc)));
        long ranks = inside.stream().filter(node -> node < network.ranks()).count();
        boolean blocks = collective == Collective.ALL_GATHER || collective == Collective.REDUCE_SCATTER;
        String what = blocks ? ranks + " of " + network.ranks() + " blocks" : "all data";
        // The smaller side of the cut is named: what enters one side leaves the other.
        boolean small = 2 * inside.size() <= network.nodes();
        return what + " must " + (cut.entering() == small ? "enter " : "leave ")
                + named(network, node -> inside.contains(node) == small) + " over links of " + Numbers.gbs(gbs)
                + " in all"
                + (blocks ? ": " + Numbers.plain(gbs) + " * " + network.ranks() + "/" + ranks + " = " + limit : "");
    }

    private static String named(Network network, IntPredicate counts) {
        return IntStream.range(0, network.nodes())
                .filter(counts)
                .mapToObj(node -> node < network.ranks()
                        ? Integer.toString(node)
                        : network.node(node).name())
                .collect(Collectors.joining(", ", "{", "}"));
    }

    private static double carried(Network network, IntPredicate counts) {
        return IntStream.range(0, network.arcs())
                .filter(counts)
                .mapToDouble(network::gbs)
                .sum();
    }

    private static String set(List<Integer> ranks) {
        return ranks.stream().map(Object::toString).collect(Collectors.joining(", ", "{", "}"));
    }
}

package dev.banyan.study.machine;

import dev.banyan.study.text.Numbers;
import dev.banyan.topology.Link;
import dev.banyan.trees.bound.Certificate;
import dev.banyan.trees.network.Network;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SortedMap;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.LongStream;
import org.apache.commons.numbers.fraction.BigFraction;

/**
 * The links that limit a rate, in words: those that have a price in a {@linkplain Certificate.Prices certificate}. They
 * are named by what they join; links of all ranks, and those of one hub, are named together. The uplink of a hub that
 * has one rank and nothing else below it counts as that rank's link, unless it joins two sockets and is narrower.
 */
public final class SaturatedLinks {
    /** Names in one list before the rest is only counted. */
    private static final int FEW = 6;

    private static final int MOST_TERMS = 3;

    private SaturatedLinks() {}

    public static String of(Certificate.Prices prices, Network network) {
        SortedSet<Integer> ranks = new TreeSet<>();
        SortedSet<Integer> hubsOfRanks = new TreeSet<>();
        List<String> pairs = new ArrayList<>();
        SortedSet<String> bridges = new TreeSet<>();
        SortedMap<Integer, SortedSet<Integer>> uplinks = new TreeMap<>();
        for (int arc : prices.prices().keySet()) {
            int from = hub(network, network.from(arc));
            int to = hub(network, network.to(arc));
            int low = Math.min(from, to);
            int high = Math.max(from, to);
            int owner = owner(network, low, high);
            boolean joinsSockets = network.kind(arc) == Link.Kind.SOCKET;
            int behind = joinsSockets && owner < 0 ? rankBehind(network, low, high) : owner;
            if (owner >= 0 && !joinsSockets) {
                ranks.add(owner);
                hubsOfRanks.add(owner == low ? high : low);
            } else if (behind >= 0) {
                int near = owner >= 0 ? high : low;
                if (network.gbs(arc) < network.gbs(network.arc(near, behind))) {
                    bridges.add(bridge(network, near, low + high - near, behind));
                } else {
                    ranks.add(behind);
                    hubsOfRanks.add(near);
                }
            } else if (high < network.ranks() || joinsSockets) {
                String pair =
                        network.node(low).name() + "-" + network.node(high).name();
                if (!pairs.contains(pair)) {
                    pairs.add(pair);
                }
            } else {
                // Hubs are described from the sockets down.
                uplinks.computeIfAbsent(low, upper -> new TreeSet<>()).add(high);
            }
        }
        if (!pairs.isEmpty() && !product(prices, network).isEmpty()) {
            return "the links of all " + network.ranks() + " GPUs";
        }
        List<String> phrases = new ArrayList<>();
        uplinks.forEach((upper, lower) -> phrases.add(uplinks(network, upper, lower)));
        if (!pairs.isEmpty()) {
            phrases.add((pairs.size() == 1 ? "the link " : "the links ") + few(pairs));
        }
        if (!ranks.isEmpty()) {
            phrases.add(links(network, ranks, hubsOfRanks)
                    + (hubsOfRanks.size() > 1 && haveOthers(network, ranks) ? " to the others" : ""));
        }
        phrases.addAll(bridges);
        return String.join(" and ", phrases);
    }

    /**
     * Derives the rate from the links of the ranks if all these limit it alike; empty otherwise. The prices then prove
     * the average number of times that each byte passes a link of a rank.
     */
    private static String product(Certificate.Prices prices, Network network) {
        long[] out = new long[network.ranks()];
        long[] in = new long[network.ranks()];
        Set<BigFraction> each = new HashSet<>();
        for (Map.Entry<Integer, BigFraction> priced : prices.prices().entrySet()) {
            int arc = priced.getKey();
            int from = hub(network, network.from(arc));
            int to = hub(network, network.to(arc));
            int low = Math.min(from, to);
            int high = Math.max(from, to);
            int owner = owner(network, low, high);
            if (high < network.ranks()) {
                out[from] += network.capacity(arc);
                in[to] += network.capacity(arc);
                // Its data leave one rank and enter another at once.
                each.add(priced.getValue().divide(2));
                continue;
            }
            if (owner < 0 || network.kind(arc) == Link.Kind.SOCKET) {
                return "";
            }
            boolean leaves = from == (owner == low ? low : high);
            (leaves ? out : in)[owner] += network.capacity(arc);
            each.add(priced.getValue());
        }
        if (each.size() != 1
                || LongStream.concat(LongStream.of(out), LongStream.of(in)).anyMatch(way -> way != out[0])) {
            return "";
        }
        double gbs = network.unitGbs().multiply(out[0]).doubleValue();
        BigFraction share = each.iterator().next().multiply(2 * network.ranks());
        return share.equals(BigFraction.ONE)
                ? ""
                : "each GPU has " + Numbers.gbs(gbs) + " each way and must send and receive "
                        + Numbers.exact(share.reciprocal()) + " bytes on average for each byte of data: "
                        + Numbers.plain(gbs) + " * "
                        + Numbers.exact(share) + " = ";
    }

    /**
     * Returns the rate and how it follows from the speeds of the links, if that is short.
     *
     * @param limit the rate
     */
    static String arithmetic(Certificate.Prices prices, Network network, String limit) {
        String product = product(prices, network);
        SortedMap<BigFraction, Double> gbsByPrice = new TreeMap<>(Comparator.reverseOrder());
        prices.prices().forEach((arc, price) -> gbsByPrice.merge(price, network.gbs(arc), Double::sum));
        return !product.isEmpty() || gbsByPrice.size() == 1 || gbsByPrice.size() > MOST_TERMS
                ? product + limit
                : gbsByPrice.entrySet().stream()
                        .map(group -> Numbers.plain(group.getValue()) + " * " + Numbers.exact(group.getKey()))
                        .collect(Collectors.joining(
                                " + ",
                                "",
                                " = " + limit
                                        + " (speeds of these links both ways, with the weights of a linear program)"));
    }

    /** Returns the rank whose link joins two nodes; -1 if that is no rank's. */
    private static int owner(Network network, int low, int high) {
        return low < network.ranks() && high >= network.ranks() ? low : rankBehind(network, high, low);
    }

    private static String bridge(Network network, int near, int far, int rank) {
        return "the link from " + network.node(near).name() + ", which has only "
                + network.node(rank).name() + ", to " + network.node(far).name();
    }

    /** The only rank below a hub whose other neighbour is given; -1 where that is not so. */
    private static int rankBehind(Network network, int hub, int other) {
        int first = network.firstOut(hub);
        if (hub < network.ranks() || network.twin(hub) != hub || network.firstOut(hub + 1) - first != 2) {
            return -1;
        }
        int behind = network.to(first) == other ? network.to(first + 1) : network.to(first);
        return behind < network.ranks() ? behind : -1;
    }

    private static String uplinks(Network network, int upper, SortedSet<Integer> lower) {
        String parent = network.node(upper).name();
        String children = few(names(network, lower));
        return lower.size() == 1
                ? "the uplink of " + children + " to " + parent
                : "the " + count(lower.size()) + " uplinks of " + parent + " (from " + children + ")";
    }

    private static String links(Network network, SortedSet<Integer> ranks, SortedSet<Integer> hubs) {
        String whose = ranks.size() == network.ranks()
                ? "the links of all " + ranks.size() + " GPUs"
                : (ranks.size() == 1 ? "the link of " : "the links of ") + few(names(network, ranks));
        return hubs.size() == 1 ? whose + " to " + network.node(hubs.first()).name() : whose;
    }

    /** Returns whether some but not all ranks are given, and some two of these have a direct link. */
    private static boolean haveOthers(Network network, SortedSet<Integer> ranks) {
        return ranks.size() < network.ranks()
                && ranks.stream().anyMatch(one -> ranks.stream().anyMatch(other -> network.arc(one, other) >= 0));
    }

    private static List<String> names(Network network, SortedSet<Integer> nodes) {
        return nodes.stream().map(node -> network.node(node).name()).toList();
    }

    /** Returns the first of the nodes that are the same hub. */
    private static int hub(Network network, int node) {
        return Math.min(node, network.twin(node));
    }

    private static String few(List<String> names) {
        return names.size() <= FEW
                ? String.join(", ", names)
                : String.join(", ", names.subList(0, FEW - 1)) + " and " + (names.size() - FEW + 1) + " more";
    }

    private static String count(int number) {
        return switch (number) {
            case 2 -> "two";
            case 3 -> "three";
            case 4 -> "four";
            default -> Integer.toString(number);
        };
    }
}

package dev.banyan.study.machine;

import dev.banyan.topology.Link;
import dev.banyan.trees.bound.Certificate;
import dev.banyan.trees.network.Network;
import java.util.ArrayList;
import java.util.List;
import java.util.SortedMap;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * The links that limit a rate, in words: those that have a price in a {@linkplain Certificate.Prices certificate}. They
 * are named by what they join; links of all ranks, and those of one hub, are named together. The uplink of a hub that
 * has one rank and nothing else below it counts as that rank's link.
 */
public final class SaturatedLinks {
    /** Names in one list before the rest is only counted. */
    private static final int FEW = 6;

    private SaturatedLinks() {}

    public static String of(Certificate.Prices prices, Network network) {
        SortedSet<Integer> ranks = new TreeSet<>();
        SortedSet<Integer> hubsOfRanks = new TreeSet<>();
        List<String> pairs = new ArrayList<>();
        SortedMap<Integer, SortedSet<Integer>> uplinks = new TreeMap<>();
        for (int arc : prices.prices().keySet()) {
            int low = Math.min(network.from(arc), network.to(arc));
            int high = Math.max(network.from(arc), network.to(arc));
            if (low < network.ranks() && high >= network.ranks()) {
                ranks.add(low);
                hubsOfRanks.add(high);
            } else if (rankBehind(network, high, low) >= 0) {
                ranks.add(rankBehind(network, high, low));
                hubsOfRanks.add(low);
            } else if (high < network.ranks() || network.kind(arc) == Link.Kind.SOCKET) {
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
        List<String> phrases = new ArrayList<>();
        uplinks.forEach((upper, lower) -> phrases.add(uplinks(network, upper, lower)));
        if (!pairs.isEmpty()) {
            phrases.add((pairs.size() == 1 ? "the link " : "the links ") + few(pairs));
        }
        if (!ranks.isEmpty()) {
            phrases.add(links(network, ranks, hubsOfRanks));
        }
        return String.join(" and ", phrases);
    }

    /** The only rank below a hub whose other neighbour is given; -1 where that is not so. */
    private static int rankBehind(Network network, int hub, int other) {
        int first = network.firstOut(hub);
        if (hub < network.ranks() || network.firstOut(hub + 1) - first != 2) {
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

    private static List<String> names(Network network, SortedSet<Integer> nodes) {
        return nodes.stream().map(node -> network.node(node).name()).toList();
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

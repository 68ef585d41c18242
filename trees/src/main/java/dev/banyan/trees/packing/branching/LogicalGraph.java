package dev.banyan.trees.packing.branching;

import dev.banyan.trees.network.Network;
import dev.banyan.trees.packing.LogicalLink;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.commons.numbers.fraction.BigFraction;

/**
 * Capacities between ranks alone, all usable at once, and the paths through forwarders that provide them.
 * Immutable once built.
 */
final class LogicalGraph {
    private final int ranks;
    private final long[] capacity;
    /** By from * ranks + to. */
    private final Map<Integer, List<Piece>> pieces = new TreeMap<>();

    /** Part of the capacity from one rank to another: the nodes of a path and how much it carries. */
    record Piece(List<Integer> nodes, long amount) {
        Piece {
            nodes = List.copyOf(nodes);
        }
    }

    LogicalGraph(int ranks) {
        this.ranks = ranks;
        capacity = new long[ranks * ranks];
    }

    /** The arcs of a network without forwarders, each capacity times a factor. */
    static LogicalGraph ofDirect(Network network, long factor) {
        LogicalGraph graph = new LogicalGraph(network.ranks());
        for (int arc = 0; arc < network.arcs(); arc++) {
            List<Integer> ends = List.of(network.from(arc), network.to(arc));
            graph.add(new Piece(ends, Math.multiplyExact(network.capacity(arc), factor)));
        }
        return graph;
    }

    void add(Piece piece) {
        int pair = piece.nodes().getFirst() * ranks + piece.nodes().getLast();
        capacity[pair] += piece.amount();
        pieces.computeIfAbsent(pair, key -> new ArrayList<>()).add(piece);
    }

    int ranks() {
        return ranks;
    }

    long capacity(int from, int to) {
        return capacity[from * ranks + to];
    }

    /** Paths for what trees send, the shortest first, of each pair that does not go by its direct link alone. */
    List<LogicalLink> links(List<Branching> trees) {
        long[] used = new long[ranks * ranks];
        for (Branching tree : trees) {
            for (int rank = 0; rank < ranks; rank++) {
                if (rank != tree.tree().root()) {
                    used[tree.tree().parent(rank) * ranks + rank] += tree.count();
                }
            }
        }
        List<LogicalLink> links = new ArrayList<>();
        pieces.forEach((pair, parts) -> {
            List<LogicalLink.Path> paths = used[pair] == 0 ? List.of() : paths(parts, used[pair]);
            if (paths.size() > 1
                    || (paths.size() == 1 && paths.getFirst().nodes().size() > 2)) {
                links.add(new LogicalLink(pair / ranks, pair % ranks, paths));
            }
        });
        return links;
    }

    private static List<LogicalLink.Path> paths(List<Piece> parts, long used) {
        List<LogicalLink.Path> paths = new ArrayList<>();
        long left = used;
        for (Piece part : parts.stream()
                .sorted(Comparator.comparingInt(piece -> piece.nodes().size()))
                .toList()) {
            long amount = Math.min(left, part.amount());
            if (amount > 0) {
                paths.add(new LogicalLink.Path(
                        part.nodes(), BigFraction.of(amount).divide(BigFraction.of(used))));
            }
            left -= amount;
        }
        return paths;
    }
}

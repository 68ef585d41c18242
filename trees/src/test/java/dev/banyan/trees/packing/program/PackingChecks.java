package dev.banyan.trees.packing.program;

import static org.assertj.core.api.Assertions.assertThat;

import dev.banyan.trees.bound.Certificate;
import dev.banyan.trees.network.Network;
import dev.banyan.trees.packing.Direction;
import dev.banyan.trees.packing.ForestCost;
import dev.banyan.trees.packing.LogicalLink;
import dev.banyan.trees.packing.PackedTree;
import dev.banyan.trees.packing.TreePacking;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import org.apache.commons.numbers.fraction.BigFraction;
import org.jspecify.annotations.Nullable;

/** Checks an allreduce packing against what it says of itself, with no code of the packing itself. */
final class PackingChecks {
    private PackingChecks() {}

    /** Paths, loads, rate and the bound's certificate. */
    static void check(TreePacking packing) {
        Network network = packing.network();
        assertThat(ForestCost.of(packing, Direction.UP_AND_DOWN).rateGbs()).isEqualTo(packing.rateGbs());
        Set<List<Integer>> pairs = new HashSet<>();
        for (LogicalLink link : packing.links()) {
            assertThat(pairs.add(List.of(link.from(), link.to()))).isTrue();
            assertThat(link.paths().stream().map(LogicalLink.Path::share).reduce(BigFraction.ZERO, BigFraction::add))
                    .isEqualTo(BigFraction.ONE);
            for (LogicalLink.Path path : link.paths()) {
                checkPath(network, link, path.nodes());
                assertThat(path.share().signum()).isPositive();
            }
        }
        for (PackedTree tree : packing.trees()) {
            for (int rank = 0; rank < network.ranks(); rank++) {
                if (rank != tree.root()) {
                    checkRoute(network, pairs, rank, tree.up().parent(rank));
                    checkRoute(network, pairs, tree.down().parent(rank), rank);
                }
            }
        }
        assertThat(packing.ratio()).isLessThanOrEqualTo(BigFraction.ONE);
        checkPrices(packing);
    }

    private static void checkPath(Network network, LogicalLink link, List<Integer> nodes) {
        assertThat(nodes.getFirst()).isEqualTo(link.from());
        assertThat(nodes.getLast()).isEqualTo(link.to());
        for (int hop = 1; hop < nodes.size(); hop++) {
            assertThat(network.arc(nodes.get(hop - 1), nodes.get(hop))).isNotNegative();
            assertThat(hop == nodes.size() - 1 || nodes.get(hop) >= network.ranks())
                    .isTrue();
        }
    }

    private static void checkRoute(Network network, Set<List<Integer>> pairs, int from, int to) {
        assertThat(pairs.contains(List.of(from, to)) || network.arc(from, to) >= 0)
                .isTrue();
    }

    /**
     * All capacity costs the bound, and no tree less than 1: by Floyd and Warshall, and all of Kruskal's
     * thresholds.
     */
    private static void checkPrices(TreePacking packing) {
        Network network = packing.network();
        Certificate.Prices certificate = (Certificate.Prices) packing.bound().certificate();
        @Nullable BigFraction[][] cost = new BigFraction[network.nodes()][network.nodes()];
        BigFraction all = BigFraction.ZERO;
        for (int arc = 0; arc < network.arcs(); arc++) {
            BigFraction price = certificate.prices().getOrDefault(arc, BigFraction.ZERO);
            assertThat(price.signum()).isNotNegative();
            cost[network.from(arc)][network.to(arc)] = price;
            all = all.add(price.multiply(network.capacity(arc)));
        }
        assertThat(all.multiply(network.unitGbs())).isEqualTo(packing.bound().gbs());
        for (int via = network.ranks(); via < network.nodes(); via++) {
            for (@Nullable BigFraction[] row : cost) {
                for (int to = 0; to < row.length && row[via] != null; to++) {
                    if (cost[via][to] != null) {
                        BigFraction sum = row[via].add(cost[via][to]);
                        row[to] = row[to] == null || sum.compareTo(row[to]) < 0 ? sum : row[to];
                    }
                }
            }
        }
        if (network.symmetric()) {
            assertThat(cheapestTree(network.ranks(), cost)).isGreaterThanOrEqualTo(BigFraction.ONE);
        } else if (network.ranks() <= 4) {
            assertThat(cheapestPair(network.ranks(), cost)).isGreaterThanOrEqualTo(BigFraction.ONE);
        }
    }

    private static BigFraction cheapestTree(int ranks, @Nullable BigFraction[][] cost) {
        record Edge(int a, int b, BigFraction cost) {}
        List<Edge> edges = new ArrayList<>();
        for (int a = 0; a < ranks; a++) {
            for (int b = a + 1; b < ranks; b++) {
                if (cost[a][b] != null && cost[b][a] != null) {
                    edges.add(new Edge(a, b, cost[a][b].add(cost[b][a])));
                }
            }
        }
        edges.sort((x, y) -> x.cost().compareTo(y.cost()));
        int[] part = new int[ranks];
        Arrays.setAll(part, rank -> rank);
        BigFraction sum = BigFraction.ZERO;
        for (Edge edge : edges) {
            int from = part[edge.a()];
            int to = part[edge.b()];
            if (from != to) {
                sum = sum.add(edge.cost());
                Arrays.setAll(part, rank -> part[rank] == from ? to : part[rank]);
            }
        }
        return sum;
    }

    /** By trying all parents of all ranks. */
    private static BigFraction cheapestPair(int ranks, @Nullable BigFraction[][] cost) {
        BigFraction least = null;
        for (int root = 0; root < ranks; root++) {
            BigFraction up = cheapestRooted(root, cost, new int[ranks], 0, true);
            BigFraction down = cheapestRooted(root, cost, new int[ranks], 0, false);
            if (up != null && down != null && (least == null || up.add(down).compareTo(least) < 0)) {
                least = up.add(down);
            }
        }
        return Objects.requireNonNull(least);
    }

    private static @Nullable BigFraction cheapestRooted(
            int root, @Nullable BigFraction[][] cost, int[] parent, int rank, boolean up) {
        BigFraction least = null;
        if (rank == parent.length) {
            BigFraction sum = BigFraction.ZERO;
            for (int v = 0; v < rank; v++) {
                int node = v;
                for (int step = 0; step < rank && node != root; step++) {
                    node = parent[node];
                }
                if (node != root) {
                    return least;
                }
                sum = v == root ? sum : sum.add(up ? cost[v][parent[v]] : cost[parent[v]][v]);
            }
            return sum;
        }
        for (int of = 0; of < parent.length; of++) {
            boolean possible = rank == root ? of == root : of != rank && (up ? cost[rank][of] : cost[of][rank]) != null;
            if (possible) {
                parent[rank] = of;
                BigFraction found = cheapestRooted(root, cost, parent, rank + 1, up);
                least = least == null || (found != null && found.compareTo(least) < 0) ? found : least;
            }
        }
        return least;
    }
}

package dev.banyan.trees.packing.branching;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.banyan.trees.Networks;
import dev.banyan.trees.network.Network;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.apache.commons.numbers.fraction.BigFraction;
import org.junit.jupiter.api.Test;

/** {@link ArborescencePacking} and {@link Flattening}. */
class ArborescencePackingTest {
    private static final List<ArborescencePacking.Strategy> STRATEGIES = strategies();

    private static List<ArborescencePacking.Strategy> strategies() {
        List<ArborescencePacking.Strategy> strategies = new ArrayList<>();
        for (boolean together : new boolean[] {false, true}) {
            for (boolean wide : new boolean[] {false, true}) {
                for (int seed = 0; seed < 3; seed++) {
                    strategies.add(new ArborescencePacking.Strategy(together, wide, seed));
                }
            }
        }
        return strategies;
    }

    @Test
    void everyWayPacksAllThatFits() {
        Random random = new Random(23);
        for (int i = 0; i < 20; i++) {
            Network network =
                    Network.of(Networks.unevenly(random, Networks.random(random, 2 + random.nextInt(8), 6), 6));
            for (Spread spread : List.of(new Spread(List.of(0)), Spread.ofAll(network))) {
                BigFraction each = spread.unitsPerRoot(network);
                LogicalGraph graph =
                        LogicalGraph.ofDirect(network, each.getDenominator().longValueExact());
                long count = each.getNumerator().longValueExact();
                for (ArborescencePacking.Strategy strategy : STRATEGIES) {
                    List<Branching> trees = new ArborescencePacking(graph, spread.roots(), count, strategy).pack();
                    check(graph, spread.roots(), count, trees);
                    List<Branching> flat = Flattening.of(graph, trees);
                    check(graph, spread.roots(), count, flat);
                    assertThat(depths(flat)).isLessThanOrEqualTo(depths(trees));
                }
                assertThatThrownBy(() ->
                                new ArborescencePacking(graph, spread.roots(), count + 1, STRATEGIES.getFirst()).pack())
                        .isInstanceOf(IllegalArgumentException.class)
                        .hasMessageContaining("do not carry");
            }
        }
    }

    private static void check(LogicalGraph graph, List<Integer> roots, long count, List<Branching> trees) {
        int n = graph.ranks();
        long[] used = new long[n * n];
        long[] ofRoot = new long[n];
        for (Branching branching : trees) {
            assertThat(branching.count()).isPositive();
            ofRoot[branching.tree().root()] += branching.count();
            for (int[] edge : branching.tree().edges()) {
                used[edge[0] * n + edge[1]] += branching.count();
            }
        }
        for (int rank = 0; rank < n; rank++) {
            assertThat(ofRoot[rank]).isEqualTo(roots.contains(rank) ? count : 0);
            for (int to = 0; to < n; to++) {
                assertThat(used[rank * n + to]).isLessThanOrEqualTo(graph.capacity(rank, to));
            }
        }
    }

    private static long depths(List<Branching> trees) {
        long sum = 0;
        for (Branching branching : trees) {
            for (int rank = 0; rank < branching.tree().size(); rank++) {
                long depth = 0;
                for (int at = rank;
                        branching.tree().parent(at) >= 0;
                        at = branching.tree().parent(at)) {
                    depth++;
                }
                sum += depth * depth * depth * depth;
            }
        }
        return sum;
    }
}

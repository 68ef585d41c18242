package dev.banyan.trees.internal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.banyan.trees.Networks;
import dev.banyan.trees.network.Network;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.jgrapht.alg.flow.PushRelabelMFImpl;
import org.jgrapht.graph.DefaultWeightedEdge;
import org.jgrapht.graph.SimpleDirectedWeightedGraph;
import org.junit.jupiter.api.Test;

class MaxFlowTest {
    private record Arc(int from, int to, long capacity) {}

    @Test
    void equalsAnotherAlgorithmAndItsCut() {
        Random random = new Random(5);
        for (int i = 0; i < 400; i++) {
            int nodes = 2 + random.nextInt(11);
            List<Arc> arcs = randomArcs(random, nodes);
            MaxFlow flow = new MaxFlow(nodes, random.nextInt(4));
            for (int arc = 0; arc < arcs.size(); arc++) {
                Arc added = arcs.get(arc);
                assertThat(flow.addArc(added.from(), added.to(), added.capacity()))
                        .isEqualTo(arc);
            }
            for (int run = 0; run < 3; run++) {
                int source = random.nextInt(nodes);
                int sink = (source + 1 + random.nextInt(nodes - 1)) % nodes;
                check(nodes, arcs, flow, source, sink);
                int changed = random.nextInt(arcs.size());
                Arc arc = arcs.get(changed);
                Arc next = new Arc(arc.from(), arc.to(), random.nextInt(9));
                arcs.set(changed, next);
                flow.setCapacity(changed, next.capacity());
            }
        }
    }

    private static List<Arc> randomArcs(Random random, int nodes) {
        double density = random.nextDouble();
        List<Arc> arcs = new ArrayList<>();
        for (int from = 0; from < nodes; from++) {
            for (int to = 0; to < nodes; to++) {
                if (from != to && (arcs.isEmpty() || random.nextDouble() < density)) {
                    arcs.add(new Arc(from, to, random.nextInt(9)));
                }
            }
        }
        return arcs;
    }

    private static void check(int nodes, List<Arc> arcs, MaxFlow flow, int source, int sink) {
        long greatest = Math.round(otherAlgorithm(nodes, arcs, source, sink));
        assertThat(flow.run(source, sink)).isEqualTo(greatest);
        checkFlow(nodes, arcs, flow, source, sink, greatest);
        boolean[] side = flow.sourceSide();
        assertThat(side[source]).isTrue();
        assertThat(side[sink]).isFalse();
        long cut = 0;
        for (Arc arc : arcs) {
            cut += side[arc.from()] && !side[arc.to()] ? arc.capacity() : 0;
        }
        assertThat(cut).isEqualTo(greatest);
        for (long limit = 0; limit <= greatest + 1; limit++) {
            long amount = Math.min(limit, greatest);
            assertThat(flow.run(source, sink, limit)).isEqualTo(amount);
            checkFlow(nodes, arcs, flow, source, sink, amount);
        }
        assertThat(flow.run(source, sink, greatest + 1)).isEqualTo(greatest);
        assertThat(flow.sourceSide()).isEqualTo(side);
    }

    private static void checkFlow(int nodes, List<Arc> arcs, MaxFlow flow, int source, int sink, long amount) {
        long[] excess = new long[nodes];
        for (int i = 0; i < arcs.size(); i++) {
            Arc arc = arcs.get(i);
            assertThat(flow.flow(i)).isBetween(0L, arc.capacity());
            excess[arc.from()] -= flow.flow(i);
            excess[arc.to()] += flow.flow(i);
        }
        long[] expected = new long[nodes];
        expected[source] = -amount;
        expected[sink] = amount;
        assertThat(excess).isEqualTo(expected);
    }

    private static double otherAlgorithm(int nodes, List<Arc> arcs, int source, int sink) {
        SimpleDirectedWeightedGraph<Integer, DefaultWeightedEdge> graph =
                new SimpleDirectedWeightedGraph<>(DefaultWeightedEdge.class);
        for (int node = 0; node < nodes; node++) {
            graph.addVertex(node);
        }
        for (Arc arc : arcs) {
            widen(graph, arc.from(), arc.to(), arc.capacity());
        }
        return new PushRelabelMFImpl<>(graph).calculateMaximumFlow(source, sink);
    }

    private static void widen(
            SimpleDirectedWeightedGraph<Integer, DefaultWeightedEdge> graph, int from, int to, long capacity) {
        DefaultWeightedEdge edge = graph.getEdge(from, to);
        if (edge == null) {
            edge = graph.addEdge(from, to);
            graph.setEdgeWeight(edge, 0);
        }
        graph.setEdgeWeight(edge, graph.getEdgeWeight(edge) + capacity);
    }

    @Test
    void theSourceSideIsTheSmallest() {
        MaxFlow flow = new MaxFlow(4, 3);
        flow.addArc(0, 1, 2);
        flow.addArc(1, 2, 2);
        flow.addArc(2, 3, 2);
        assertThat(flow.run(0, 3)).isEqualTo(2);
        assertThat(flow.sourceSide()).containsExactly(true, false, false, false);
    }

    @Test
    void flowsAreExactWhereFloatingPointIsNot() {
        long wide = (1L << 61) + 1;
        MaxFlow flow = new MaxFlow(3, 3);
        flow.addArc(0, 1, wide);
        flow.addArc(1, 2, wide - 2);
        flow.addArc(0, 2, 7);
        assertThat(flow.run(0, 2)).isEqualTo(wide + 5);
    }

    @Test
    void arcsOfANetworkKeepTheirIndices() {
        Network network = Network.of(Networks.direct(3, new int[] {0, 1, 4}, new int[] {1, 2, 6}));
        MaxFlow flow = MaxFlow.of(network);
        assertThat(flow.run(0, 2)).isEqualTo(2);
        assertThat(flow.flow(network.arc(0, 1))).isEqualTo(2);
        assertThat(flow.flow(network.arc(1, 2))).isEqualTo(2);
        assertThat(flow.flow(network.arc(2, 1))).isZero();
    }

    @Test
    void refusesWhatIsNoFlow() {
        MaxFlow flow = new MaxFlow(2, 1);
        assertThatThrownBy(() -> flow.addArc(0, 1, -1)).hasMessageContaining("-1");
        flow.addArc(0, 1, 1);
        assertThatThrownBy(() -> flow.setCapacity(0, -2)).hasMessageContaining("-2");
        assertThatThrownBy(() -> flow.run(1, 1)).hasMessageContaining("node 1");
    }
}

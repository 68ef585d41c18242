package dev.banyan.trees;

import static org.assertj.core.api.Assertions.assertThat;

import dev.banyan.trees.bound.Bound;
import dev.banyan.trees.bound.Certificate;
import dev.banyan.trees.network.Network;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.IntStream;
import org.apache.commons.numbers.fraction.BigFraction;

/** Bounds by trying every set of nodes, and certificates by arithmetic alone. */
public final class Cuts {
    private Cuts() {}

    /** Least algbw in GB/s over all sets of nodes: a broadcast from the root. */
    public static BigFraction broadcast(Network network, int root) {
        return IntStream.range(0, 1 << network.nodes())
                .filter(set -> (set >> root & 1) != 0 && ranksIn(network, set) < network.ranks())
                .mapToObj(set -> leaving(network, set))
                .min(Comparator.naturalOrder())
                .orElseThrow();
    }

    /** Least algbw in GB/s over all sets of nodes: an allgather. */
    public static BigFraction allGather(Network network) {
        return IntStream.range(0, 1 << network.nodes())
                .filter(set -> ranksIn(network, set) > 0 && ranksIn(network, set) < network.ranks())
                .mapToObj(set -> leaving(network, set).multiply(network.ranks()).divide(ranksIn(network, set)))
                .min(Comparator.naturalOrder())
                .orElseThrow();
    }

    private static int ranksIn(Network network, int set) {
        return Integer.bitCount(set & (1 << network.ranks()) - 1);
    }

    private static BigFraction leaving(Network network, int set) {
        long sum = 0;
        for (int arc = 0; arc < network.arcs(); arc++) {
            sum += (set >> network.from(arc) & 1) > (set >> network.to(arc) & 1) ? network.capacity(arc) : 0;
        }
        return network.unitGbs().multiply(BigFraction.of(sum));
    }

    private static BigFraction leaving(Network network, Set<Integer> set) {
        long sum = 0;
        for (int arc = 0; arc < network.arcs(); arc++) {
            if (set.contains(network.from(arc)) && !set.contains(network.to(arc))) {
                sum += network.capacity(arc);
            }
        }
        return network.unitGbs().multiply(BigFraction.of(sum));
    }

    /** Checks that a bound of a broadcast (or, entering, of a reduction) is what its certificate proves. */
    public static void checkRooted(Network network, Bound bound, int root, boolean entering) {
        Set<Integer> set = cutOf(bound, entering);
        assertThat(set).contains(root);
        assertThat(set.containsAll(ranks(network))).isFalse();
        assertThat(leaving(entering ? network.reversed() : network, set)).isEqualTo(bound.gbs());
    }

    /** Checks that a bound of an allgather (or, entering, of a reduce-scatter) is what its certificate proves. */
    public static void checkGather(Network network, Bound bound, boolean entering) {
        Set<Integer> set = cutOf(bound, entering);
        long inside = set.stream().filter(node -> node < network.ranks()).count();
        assertThat(inside).isBetween(1L, network.ranks() - 1L);
        assertThat(leaving(entering ? network.reversed() : network, set)
                        .multiply(network.ranks())
                        .divide(BigFraction.of(inside)))
                .isEqualTo(bound.gbs());
    }

    private static Set<Integer> cutOf(Bound bound, boolean entering) {
        Certificate.Cut cut = (Certificate.Cut) bound.certificate();
        assertThat(cut.entering()).isEqualTo(entering);
        assertThat(cut.nodes()).doesNotHaveDuplicates().isSorted();
        return new HashSet<>(cut.nodes());
    }

    private static List<Integer> ranks(Network network) {
        return IntStream.range(0, network.ranks()).boxed().toList();
    }
}

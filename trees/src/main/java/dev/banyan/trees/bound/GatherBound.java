package dev.banyan.trees.bound;

import dev.banyan.trees.internal.MaxFlow;
import dev.banyan.trees.network.Network;
import java.util.Arrays;
import java.util.stream.IntStream;
import org.apache.commons.numbers.fraction.BigFraction;

/**
 * The greatest rate of an allgather or a reduce-scatter. The blocks of all ranks in a set of nodes must leave
 * it if some rank is outside, so the time is at least the greatest quotient of a set's ranks and the arcs
 * out of it.
 *
 * <p>Dinkelbach's iteration: from the quotient of one set, a minimum cut between a super source and a rank
 * finds a set without that rank whose quotient is greater, or proves that there is none. One flow per rank
 * and a few more. W. Dinkelbach, "On nonlinear fractional programming", Management Science 13, 1967,
 * doi:10.1287/mnsc.13.7.492; the bound is that of L. Zhao et al., "ForestColl: throughput-optimal collective
 * communications on heterogeneous network fabrics", 2024, arXiv:2402.06787.
 *
 * <p>Its certificate is the set: the rate is at most n / (ranks in it) times the bandwidth of the arcs out
 * of it (for a reduce-scatter, into it).
 */
public final class GatherBound {
    private GatherBound() {}

    /** The bound of an allgather; n blocks together are the whole. */
    public static Bound allGather(Network network) {
        return of(network, false);
    }

    /** The bound of a reduce-scatter; n blocks together are the whole. */
    public static Bound reduceScatter(Network network) {
        return of(network.reversed(), true);
    }

    private static Bound of(Network network, boolean entering) {
        int ranks = network.ranks();
        boolean[] worst = allButNarrowest(network);
        long inside = ranks - 1L;
        long leaving = leaving(network, worst);
        int source = network.nodes();
        MaxFlow flow = MaxFlow.of(network);
        for (int rank = 0; rank < ranks; rank++) {
            flow.addArc(source, rank, 0);
        }
        weigh(flow, network, inside, leaving);
        for (int rank = 0; rank < ranks; rank++) {
            // below ranks * leaving, a set without this rank has a greater quotient
            while (flow.run(source, rank, ranks * leaving) < ranks * leaving) {
                boolean[] side = flow.sourceSide();
                worst = side;
                inside = IntStream.range(0, ranks).filter(r -> side[r]).count();
                leaving = leaving(network, worst);
                weigh(flow, network, inside, leaving);
            }
        }
        BigFraction gbs = network.unitGbs()
                .multiply(BigFraction.of(leaving).multiply(ranks).divide(inside));
        return new Bound(gbs, RootBound.cut(network, worst, entering));
    }

    private static void weigh(MaxFlow flow, Network network, long inside, long leaving) {
        for (int arc = 0; arc < network.arcs(); arc++) {
            flow.setCapacity(arc, network.capacity(arc) * inside);
        }
        for (int rank = 0; rank < network.ranks(); rank++) {
            flow.setCapacity(network.arcs() + rank, leaving);
        }
    }

    private static boolean[] allButNarrowest(Network network) {
        long[] entering = new long[network.nodes()];
        for (int arc = 0; arc < network.arcs(); arc++) {
            entering[network.to(arc)] += network.capacity(arc);
        }
        int narrowest = 0;
        for (int rank = 1; rank < network.ranks(); rank++) {
            narrowest = entering[rank] < entering[narrowest] ? rank : narrowest;
        }
        boolean[] side = new boolean[network.nodes()];
        Arrays.fill(side, true);
        side[narrowest] = false;
        return side;
    }

    private static long leaving(Network network, boolean[] side) {
        long sum = 0;
        for (int arc = 0; arc < network.arcs(); arc++) {
            sum += side[network.from(arc)] && !side[network.to(arc)] ? network.capacity(arc) : 0;
        }
        return sum;
    }
}

package dev.banyan.trees.packing.allreduce;

import dev.banyan.trees.bound.AllReduceBound;
import dev.banyan.trees.network.Network;
import dev.banyan.trees.packing.TreePacking;
import dev.banyan.trees.packing.program.HubPacking;
import java.util.function.IntFunction;

/**
 * Trees for an allreduce: each carries a share of the data up to its root and the sum back down.
 *
 * <p>The trees depend on the links:
 *
 * <ul>
 *   <li>direct links, equally wide both ways: spanning trees that reach tau, by {@link SpanningTreePacking};
 *   <li>one switch between all ranks: trees of one hop, by {@link StarPacking};
 *   <li>anything else (several hubs, hubs beside direct links, relays, uneven links): a linear program, by
 *       {@link HubPacking};
 *   <li>but where each rank has one PCIe link and they are as fast: chains around a ring, which share the least, by
 *       {@link ChainPacking}.
 * </ul>
 *
 * <p>{@link AllReduceBound} has the argument why nothing can be faster than the first two. Each states its cost;
 * all of them stop after a fixed amount of work, which is counted, not timed. Same network, same trees. Safe for
 * use from any thread.
 */
public final class AllReducePacking {
    private AllReducePacking() {}

    /** The optimal packing. */
    public static TreePacking of(Network network) {
        return of(network, Integer.MAX_VALUE);
    }

    /**
     * The best packing found of at most so many trees.
     *
     * @param maxTrees at least 1
     * @throws IllegalArgumentException if {@code maxTrees} is less than 1
     */
    public static TreePacking of(Network network, int maxTrees) {
        return byTrees(network).apply(maxTrees);
    }

    /**
     * Returns a function from the greatest number of trees to the {@linkplain #of(Network, int) best packing}. It makes
     * once what packings of several numbers have in common, and nothing before it is called. Safe for use from any
     * thread.
     */
    public static IntFunction<TreePacking> byTrees(Network network) {
        IntFunction<TreePacking> fastest = fastest(network);
        return maxTrees -> {
            if (maxTrees < 1) {
                throw new IllegalArgumentException("at most " + maxTrees + " trees are asked for; allow at least 1");
            }
            TreePacking best = fastest.apply(maxTrees);
            return ChainPacking.of(network, best.bound())
                    .filter(chains -> chains.trees().size() <= maxTrees
                            && chains.rateGbs().compareTo(best.rateGbs()) >= 0)
                    .orElse(best);
        };
    }

    private static IntFunction<TreePacking> fastest(Network network) {
        if (AllReduceBound.isOneSwitch(network)) {
            return maxTrees -> StarPacking.of(network, maxTrees);
        }
        if (network.direct() && network.symmetric()) {
            return new SpanningTreePacking(network)::ofAtMost;
        }
        return new HubPacking(network)::ofAtMost;
    }
}

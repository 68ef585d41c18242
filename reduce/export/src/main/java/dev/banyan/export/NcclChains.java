package dev.banyan.export;

import dev.banyan.topology.Machine;
import dev.banyan.topology.Routes;
import dev.banyan.trees.Tree;
import dev.banyan.trees.network.Network;
import dev.banyan.trees.packing.LinkLoads;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.stream.IntStream;
import org.apache.commons.numbers.fraction.BigFraction;

/**
 * Rings cut open at their narrowest hops, which NCCL calls trees inside a machine. An allreduce goes up each chain and
 * down again, and so crosses a narrow link once each way where a ring crosses it twice. Of several narrowest hops each
 * ring in turn is cut at the one that leaves the highest rate.
 *
 * @param orders ranks of each channel's chain, the root first
 * @param algbw algbw of an allreduce in equal shares over the chains, in GB/s, latencies apart
 */
public record NcclChains(List<List<Integer>> orders, BigFraction algbw) {
    /** The part of what their links carry that NCCL's tuner expects of trees ({@code src/graph/tuning.cc}, 2.30.7). */
    public static final double EXPECTED = 0.92;

    public NcclChains {
        orders = orders.stream().map(List::copyOf).toList();
    }

    /**
     * Cuts rings open.
     *
     * @param machine the machine whose devices are the ranks of the channels
     */
    public static NcclChains of(Machine machine, RingChannels channels) {
        Routes routes = Routes.of(machine);
        List<List<Integer>> chains = new ArrayList<>();
        BigFraction rate = BigFraction.ZERO;
        for (List<Integer> ring : channels.orders()) {
            List<List<Integer>> best = chains;
            rate = BigFraction.ZERO;
            for (List<Integer> chain : opened(ring, routes)) {
                List<List<Integer>> longer = new ArrayList<>(chains);
                longer.add(chain);
                BigFraction algbw = algbw(longer, channels.network());
                if (algbw.compareTo(rate) > 0) {
                    best = longer;
                    rate = algbw;
                }
            }
            chains = best;
        }
        return new NcclChains(chains, rate);
    }

    /**
     * Rates chains that are given, e.g. by a file.
     *
     * @param orders all ranks of each chain, the root first
     */
    public static NcclChains rated(Network network, List<List<Integer>> orders) {
        return new NcclChains(orders, algbw(orders, network));
    }

    private static BigFraction algbw(List<List<Integer>> chains, Network network) {
        LinkLoads loads = new LinkLoads(network);
        BigFraction share = BigFraction.of(1, chains.size());
        for (List<Integer> chain : chains) {
            int[] parents = new int[chain.size()];
            for (int i = 0; i < parents.length; i++) {
                parents[chain.get(i)] = i == 0 ? -1 : chain.get(i - 1);
            }
            Tree tree = Tree.ofParents(parents);
            loads.addUp(share, tree);
            loads.addDown(share, tree);
        }
        return loads.rateGbs();
    }

    /** Returns the chains that a ring becomes at any of its narrowest hops. */
    private static List<List<Integer>> opened(List<Integer> ring, Routes routes) {
        int n = ring.size();
        double[] gbs = IntStream.range(0, n)
                .mapToDouble(at ->
                        routes.between(ring.get(at), ring.get((at + 1) % n)).gbs())
                .toArray();
        double narrowest = Arrays.stream(gbs).min().orElseThrow();
        List<List<Integer>> chains = new ArrayList<>();
        for (int cut = 0; cut < n; cut++) {
            if (gbs[cut] == narrowest) {
                List<Integer> chain = new ArrayList<>(ring);
                Collections.rotate(chain, -(cut + 1));
                chains.add(chain);
            }
        }
        return chains;
    }

    /** Returns whether NCCL's tuner, given these speeds, takes the chains for large allreduces, and not the rings. */
    public boolean areTakenBefore(RingChannels rings) {
        return EXPECTED * algbw.doubleValue() > rings.algbw().doubleValue();
    }
}

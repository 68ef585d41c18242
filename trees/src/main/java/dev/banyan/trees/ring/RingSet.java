package dev.banyan.trees.ring;

import dev.banyan.topology.Machine;
import dev.banyan.trees.network.Network;
import dev.banyan.trees.packing.LinkLoads;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import org.apache.commons.numbers.fraction.BigFraction;

/**
 * Rings over all devices that share the links of a network, and how fast an allreduce over them can be: what
 * trees compete with.
 *
 * <p>Each ring is used both ways at once, with half of its share each way. A ring allreduce is a reduce-scatter
 * and an all-gather around the ring, in which every hop carries 2(n-1)/n of the data (P. Patarasuk, X. Yuan,
 * "Bandwidth optimal all-reduce algorithms for clusters of workstations", J. Parallel Distrib. Comput. 69,
 * 2009, doi:10.1016/j.jpdc.2008.09.002); so a ring that gets b GB/s of each of its links, each way, carries b n
 * / (n-1) GB/s of algbw. Where two neighbours have no link of their own, their hop takes the {@linkplain
 * dev.banyan.trees.network.Detours usual path}.
 *
 * <p>Shares are not bound to whole lanes, which can only help the rings. On the connected device sets of
 * p3.16xlarge it makes no difference: rings of whole lanes, as NCCL lays them, carry as much.
 *
 * @param network the links
 * @param rings at least one ring; their shares sum to 1
 * @param rateGbs algbw of an allreduce in GB/s, without latencies; exact for these rings
 */
public record RingSet(Network network, List<Ring> rings, BigFraction rateGbs) {
    /**
     * One ring.
     *
     * @param order all ranks, each linked to the next and the last to the first; begins with rank 0
     * @param share share of all data, above 0
     */
    public record Ring(List<Integer> order, BigFraction share) {
        public Ring {
            order = List.copyOf(order);
            Objects.requireNonNull(share, "share");
        }

        /** Number of hops from a segment's first device to its last. */
        public int depth() {
            return order.size() - 1;
        }
    }

    public RingSet {
        Objects.requireNonNull(network, "network");
        Objects.requireNonNull(rateGbs, "rateGbs");
        rings = List.copyOf(rings);
    }

    /**
     * The best set of rings of a network; empty where no ring was found.
     *
     * <p>Up to {@value RingFinder#MAX_EXACT_DEVICES} devices no set of rings is faster, to within 1e-9 of the
     * rate: a linear program over all rings, of which only those are written down that its prices ask for;
     * the cheapest ring at given prices costs O(2^n n^2), by {@linkplain RingFinder the same programme} that
     * finds single rings. Above, rings are taken one by one from what the earlier ones leave, each as wide as
     * can be, as NCCL's search does; the result may then fall short of the best, and a ring may be missed.
     *
     * <p>Deterministic.
     */
    public static Optional<RingSet> of(Network network) {
        return new RingPacking(network).best();
    }

    /**
     * The best set of rings of some devices of a machine: over NVLink where NVLink has a ring, else over all
     * links. Empty where some devices have no path to each other but through a third.
     *
     * @throws IllegalArgumentException as {@link Network#of(Machine, int[], int...)}
     */
    public static Optional<RingSet> of(Machine machine, int... group) {
        Network network = Network.of(machine, group);
        Optional<RingSet> rings = of(network);
        return rings.isPresent() || !network.joinedByNvlink() ? rings : of(Network.ofAllLinks(machine, group));
    }

    /**
     * Returns rings of equal shares over the same links, of which several may be the same: what runtimes need that
     * split data evenly. The fewest that are nearly as fast as these, or else the fastest that were found.
     * Deterministic.
     *
     * @param most most rings, at least 1
     */
    public RingSet ofEqualShares(int most) {
        if (most < 1) {
            throw new IllegalArgumentException("at most " + most + " rings of equal shares; at least 1 is needed");
        }
        return new EqualRings(network).find(this, most);
    }

    /** A set whose rate follows from its rings' shares. */
    static RingSet of(Network network, List<Ring> rings) {
        LinkLoads loads = new LinkLoads(network);
        int n = network.ranks();
        for (Ring ring : rings) {
            BigFraction perHop = ring.share().multiply(BigFraction.of(n - 1, n));
            for (int i = 0; i < n; i++) {
                int a = ring.order().get(i);
                int b = ring.order().get((i + 1) % n);
                loads.addTransfer(perHop, a, b);
                loads.addTransfer(perHop, b, a);
            }
        }
        return new RingSet(network, rings, loads.rateGbs());
    }
}

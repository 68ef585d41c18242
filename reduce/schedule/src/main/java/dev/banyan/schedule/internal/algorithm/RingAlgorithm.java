package dev.banyan.schedule.internal.algorithm;

import dev.banyan.schedule.type.Collective;
import dev.banyan.topology.LinkMatrix;
import dev.banyan.topology.Machine;
import dev.banyan.trees.Tree;
import dev.banyan.trees.packing.Direction;
import dev.banyan.trees.packing.ForestCost;
import dev.banyan.trees.packing.PackedTree;
import dev.banyan.trees.ring.RingFinder;
import dev.banyan.trees.ring.RingSet;
import dev.banyan.trees.ring.RingSet.Ring;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.commons.numbers.fraction.BigFraction;

/**
 * Collectives around rings, each of which carries its share of the data one way around. An allreduce cuts a ring's
 * share into n slices; slice k is summed up on its way once around the ring to the k-th device (together a
 * reduce-scatter), then passed on around the ring (together an all-gather). Every device sends 2(n-1)/n of the data,
 * the least of all algorithms, to its successors only. Reduce and broadcast run along each ring as a chain, pipelined
 * by chunks.
 *
 * <p>Steps: 2n(n - 1) a ring for an allreduce. Depth: 2(n - 1), the greatest of all algorithms here: a tree is
 * better for small data. Building takes O(steps) time.
 *
 * <p>Source: P. Patarasuk, X. Yuan, "Bandwidth optimal all-reduce algorithms for clusters of
 * workstations", J. Parallel Distrib. Comput. 69 (2009), <a
 * href="https://doi.org/10.1016/j.jpdc.2008.09.002">doi:10.1016/j.jpdc.2008.09.002</a>.
 */
public final class RingAlgorithm implements TreeAlgorithm {
    /** Every ring costs steps; of more rings than this, one way around, fewer are looked for. */
    private static final int MANY = 16;

    private final List<Ring> rings;

    /**
     * Creates the algorithm around one ring, one way.
     *
     * @param order the ranks in the order of the ring, each of 0..n-1 once; the last sends to the first
     * @throws IllegalArgumentException if it is empty or not a permutation
     */
    public RingAlgorithm(int... order) {
        this(List.of(new Ring(Arrays.stream(order).boxed().toList(), BigFraction.ONE)));
    }

    /** @param rings at least one, each used one way around; their shares sum to 1 */
    private RingAlgorithm(List<Ring> rings) {
        this.rings = rings;
        for (Ring ring : rings) {
            int n = ring.order().size();
            if (n == 0
                    || !ring.order().stream()
                            .sorted()
                            .toList()
                            .equals(IntStream.range(0, n).boxed().toList())) {
                throw new IllegalArgumentException("ring " + ring.order() + " must name each of its ranks 0..n-1 once");
            }
        }
    }

    /**
     * Returns the algorithm around the rings that are the fastest by the links of a machine: the {@linkplain RingSet
     * best set}, each ring both ways around, unless the {@linkplain RingFinder best single ring}, one way around, is
     * as fast.
     *
     * @param most most rings, each one way around, at least 1; they have equal shares if the best set has more
     */
    public static RingAlgorithm of(Machine machine, int most) {
        RingAlgorithm single = new RingAlgorithm(RingFinder.order(LinkMatrix.of(machine)));
        if (most == 1 || machine.size() < 3) {
            return single;
        }
        int[] group = IntStream.range(0, machine.size()).toArray();
        return RingSet.of(machine, group)
                .map(best -> new RingAlgorithm(bothWays(fewer(best, most))))
                .filter(set -> set.rateGbs(machine, group).compareTo(single.rateGbs(machine, group)) > 0)
                .orElse(single);
    }

    /** Returns few rings of equal shares where there must be fewer, or where many rings are no faster. */
    private static RingSet fewer(RingSet best, int most) {
        if (2 * best.rings().size() <= Math.min(most, MANY)) {
            return best;
        }
        RingSet equal = best.ofEqualShares(Math.min(most, MANY) / 2);
        return 2 * best.rings().size() > most || equal.rateGbs().compareTo(best.rateGbs()) == 0 ? equal : best;
    }

    private static List<Ring> bothWays(RingSet set) {
        return set.rings().stream()
                .flatMap(ring -> Stream.of(ring.order(), ring.order().reversed())
                        .map(order -> new Ring(order, ring.share().divide(2))))
                .toList();
    }

    private BigFraction rateGbs(Machine machine, int[] group) {
        return ForestCost.of(machine, group, trees(Collective.ALL_REDUCE, -1), Direction.UP_AND_DOWN)
                .rateGbs();
    }

    @Override
    public String name() {
        return "ring";
    }

    @Override
    public int ranks() {
        return rings.getFirst().order().size();
    }

    @Override
    public List<PackedTree> trees(Collective collective, int root) {
        return new Chains(rings).trees(collective, root, ranks());
    }

    private record Chains(List<Ring> rings) implements Routing {
        @Override
        public List<PackedTree> anyRoot() {
            return rings.stream()
                    .flatMap(ring -> IntStream.range(0, ring.order().size())
                            .mapToObj(position -> around(
                                    ring,
                                    position,
                                    ring.share().divide(ring.order().size()))))
                    .toList();
        }

        @Override
        public List<PackedTree> rootedAt(int root) {
            return rings.stream()
                    .map(ring -> around(ring, ring.order().indexOf(root), ring.share()))
                    .toList();
        }

        /**
         * Returns the tree whose way up goes once around and ends at a position, and whose way down goes once around
         * from there.
         */
        private static PackedTree around(Ring ring, int position, BigFraction share) {
            int n = ring.order().size();
            int[] up = new int[n];
            int[] down = new int[n];
            for (int i = 0; i < n; i++) {
                int rank = ring.order().get(i);
                int next = ring.order().get((i + 1) % n);
                up[rank] = i == position ? -1 : next;
                down[next] = (i + 1) % n == position ? -1 : rank;
            }
            return new PackedTree(share, Tree.ofParents(up), Tree.ofParents(down));
        }
    }
}

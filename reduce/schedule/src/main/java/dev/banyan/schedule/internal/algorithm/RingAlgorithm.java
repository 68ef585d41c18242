package dev.banyan.schedule.internal.algorithm;

import dev.banyan.schedule.type.Collective;
import dev.banyan.trees.Tree;
import dev.banyan.trees.packing.PackedTree;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import org.apache.commons.numbers.fraction.BigFraction;

/**
 * Collectives around a ring. An allreduce cuts the data into n slices; slice k is summed up on its way once around the
 * ring to the k-th device (together a reduce-scatter), then passed on around the ring (together an all-gather). Every
 * device sends 2(n-1)/n of the data, the least of all algorithms, to its successor only. Reduce and broadcast run along
 * the ring as a chain, pipelined by chunks.
 *
 * <p>Steps: 2n(n - 1) for an allreduce. Depth: 2(n - 1), the greatest of all algorithms here: a tree is
 * better for small data. Building takes O(steps) time.
 *
 * <p>Source: P. Patarasuk, X. Yuan, "Bandwidth optimal all-reduce algorithms for clusters of
 * workstations", J. Parallel Distrib. Comput. 69 (2009), <a
 * href="https://doi.org/10.1016/j.jpdc.2008.09.002">doi:10.1016/j.jpdc.2008.09.002</a>.
 */
public final class RingAlgorithm implements TreeAlgorithm {
    private final int[] order;

    /**
     * @param order the ranks in the order of the ring, each of 0..n-1 once; the last sends to the first
     * @throws IllegalArgumentException if it is empty or not a permutation
     */
    public RingAlgorithm(int... order) {
        this.order = order.clone();
        int[] sorted = order.clone();
        Arrays.sort(sorted);
        if (order.length == 0
                || !Arrays.equals(sorted, IntStream.range(0, order.length).toArray())) {
            throw new IllegalArgumentException(
                    "ring " + Arrays.toString(order) + " must name each of its ranks 0..n-1 once");
        }
    }

    @Override
    public String name() {
        return "ring";
    }

    @Override
    public int ranks() {
        return order.length;
    }

    @Override
    public List<PackedTree> trees(Collective collective, int root) {
        return new Chains().trees(collective, root, ranks());
    }

    private final class Chains implements Routing {
        @Override
        public List<PackedTree> anyRoot() {
            BigFraction share = BigFraction.of(1, order.length);
            return IntStream.range(0, order.length)
                    .mapToObj(position -> around(position, share))
                    .toList();
        }

        @Override
        public List<PackedTree> rootedAt(int root) {
            int position = IntStream.range(0, order.length)
                    .filter(i -> order[i] == root)
                    .findFirst()
                    .orElseThrow();
            return List.of(around(position, BigFraction.ONE));
        }

        /**
         * Returns the tree whose way up goes once around and ends at a position, and whose way down goes once around
         * from there.
         */
        private PackedTree around(int position, BigFraction share) {
            int n = order.length;
            int[] up = new int[n];
            int[] down = new int[n];
            for (int i = 0; i < n; i++) {
                int next = (i + 1) % n;
                up[order[i]] = i == position ? -1 : order[next];
                down[order[next]] = next == position ? -1 : order[i];
            }
            return new PackedTree(share, Tree.ofParents(up), Tree.ofParents(down));
        }
    }
}

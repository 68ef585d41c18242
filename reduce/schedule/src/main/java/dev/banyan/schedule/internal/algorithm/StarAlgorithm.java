package dev.banyan.schedule.internal.algorithm;

import dev.banyan.schedule.type.Collective;
import dev.banyan.trees.Tree;
import dev.banyan.trees.packing.PackedTree;
import java.util.Arrays;
import java.util.List;
import org.apache.commons.numbers.fraction.BigFraction;

/**
 * Collectives through one device, as a parameter server does them: all send to the centre, which reduces everything in
 * one step and sends the result back to all. It is what MXNet's {@code device} KVStore does with an array: it merges
 * each array on one device, the one that has least to do; callers with many arrays give each array its own centre.
 *
 * <p>An allreduce uses the given centre. Where a collective has a root (reduce, broadcast) or a block has
 * an owner (reduce_scatter, all_gather) that rank is the centre, so that nothing takes two hops without
 * need; reduce_scatter and all_gather become direct exchanges between all pairs.
 *
 * <p>Steps: n for an allreduce. Depth: 2, the least of all algorithms here. The centre's links carry (n-1)
 * times the data each way: best for arrays so small that only latency counts. Building takes O(steps)
 * time.
 *
 * <p>Source: M. Li et al., "Scaling distributed machine learning with the parameter server", OSDI 2014, in
 * the form of MXNet's KVStore.
 */
public final class StarAlgorithm implements TreeAlgorithm {
    private final int ranks;
    private final int centre;

    /**
     * Creates a star around rank 0.
     *
     * @param ranks number of ranks, at least 1
     */
    public StarAlgorithm(int ranks) {
        this(ranks, 0);
    }

    /**
     * @param ranks number of ranks, at least 1
     * @param centre the rank that reduces an allreduce, 0..ranks-1
     * @throws IllegalArgumentException if they are out of range
     */
    public StarAlgorithm(int ranks, int centre) {
        if (ranks < 1 || centre < 0 || centre >= ranks) {
            throw new IllegalArgumentException("a star of " + ranks + " ranks around rank " + centre
                    + "; it needs at least one rank and one of them as its centre");
        }
        this.ranks = ranks;
        this.centre = centre;
    }

    @Override
    public String name() {
        return "star";
    }

    @Override
    public int ranks() {
        return ranks;
    }

    @Override
    public List<PackedTree> trees(Collective collective, int root) {
        return new Rays().trees(collective, root, ranks);
    }

    private final class Rays implements Routing {
        @Override
        public List<PackedTree> anyRoot() {
            return rootedAt(centre);
        }

        @Override
        public List<PackedTree> rootedAt(int root) {
            int[] parents = new int[ranks];
            Arrays.fill(parents, root);
            parents[root] = -1;
            return List.of(PackedTree.of(BigFraction.ONE, Tree.ofParents(parents)));
        }
    }
}

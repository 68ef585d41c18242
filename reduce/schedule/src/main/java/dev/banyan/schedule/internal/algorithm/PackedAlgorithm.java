package dev.banyan.schedule.internal.algorithm;

import dev.banyan.schedule.type.Collective;
import dev.banyan.trees.network.Network;
import dev.banyan.trees.packing.PackedTree;
import dev.banyan.trees.packing.TreePacking;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;

/**
 * Collectives over trees that are packed into the links of a machine, so that together the trees load the links as
 * evenly as possible. Each collective has a packing of its own: an allreduce goes up and down the same links, a
 * broadcast may use both directions of a link for different trees, and a block goes along the trees of its owner.
 * {@link dev.banyan.trees.packing} describes the rates that packings reach.
 *
 * <p>Steps: at most 2(n - 1) per tree for an allreduce. Depth: twice that of the deepest tree. A packing is made at its
 * first use, which may take seconds for a machine of a hundred devices; then building takes O(steps) time.
 *
 * <p>Packings are kept. They depend only on the constructor's arguments, so that this class is immutable to its users.
 * A thread that needs a packing that another thread is making waits for it.
 */
public final class PackedAlgorithm implements TreeAlgorithm {
    private final int ranks;
    private final Packings source;
    private final ConcurrentMap<Task, TreePacking> made = new ConcurrentHashMap<>();

    /**
     * The properties on which a packing depends. Its methods are spelled out, since those of records take milliseconds
     * at first.
     */
    private record Task(Collective collective, int root) {
        @Override
        public boolean equals(Object other) {
            return other instanceof Task task && collective == task.collective && root == task.root;
        }

        @Override
        public int hashCode() {
            return 31 * collective.hashCode() + root;
        }
    }

    /** Creates the algorithm over the best packings of a network. */
    public PackedAlgorithm(Network network) {
        this(network.ranks(), Packings.best(network));
    }

    /**
     * @param ranks number of ranks, at least 2
     * @param source makes the packings, each at most once
     */
    public PackedAlgorithm(int ranks, Packings source) {
        this.ranks = ranks;
        this.source = Objects.requireNonNull(source, "source");
    }

    @Override
    public String name() {
        return "packing";
    }

    @Override
    public int ranks() {
        return ranks;
    }

    /**
     * Returns the packing that carries a collective.
     *
     * @param root the root, or -1 where the collective has none
     */
    public TreePacking packing(Collective collective, int root) {
        return made.computeIfAbsent(new Task(collective, root), task -> source.packing(task.collective(), task.root()));
    }

    @Override
    public List<PackedTree> trees(Collective collective, int root) {
        return packing(collective, root).trees();
    }
}

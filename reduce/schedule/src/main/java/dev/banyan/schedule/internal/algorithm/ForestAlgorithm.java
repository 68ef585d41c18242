package dev.banyan.schedule.internal.algorithm;

import dev.banyan.schedule.type.Collective;
import dev.banyan.trees.Forest;
import dev.banyan.trees.packing.PackedTree;
import java.util.List;
import java.util.Objects;

/**
 * Collectives over trees: each tree carries its share of the data, up to its root and down again. A forest of one tree
 * has the least latency; a forest with a tree per device uses many links at once. Slices may be empty, so that fewer
 * elements than trees are no special case.
 *
 * <p>An allreduce uses the trees as they are. Where a collective has a root (reduce, broadcast) or a block has an owner
 * (reduce_scatter, all_gather) every tree is rooted there: its links stay the same, so the shares still fit the
 * machine, but it may become up to twice as deep.
 *
 * <p>Steps: at most 2(n - 1) per tree for an allreduce. Depth: twice that of the deepest tree. Building
 * takes O(steps) time.
 *
 * <p>Source: "Single machine All Reduce Topology-aware Communication", Apache MXNet wiki, for one tree per
 * device; P. Sanders, J. Speck, J. L. Traeff, "Two-tree algorithms for full bandwidth broadcast, reduction
 * and scan", Parallel Computing 35 (2009), <a
 * href="https://doi.org/10.1016/j.parco.2009.09.001">doi:10.1016/j.parco.2009.09.001</a>, for splitting
 * the data over trees.
 */
public final class ForestAlgorithm implements TreeAlgorithm {
    private final String name;
    private final List<PackedTree> trees;

    /**
     * @param name the algorithm's name as the command takes it, e.g. {@code multi-tree}
     * @param forest the trees over ranks and their shares
     */
    public ForestAlgorithm(String name, Forest forest) {
        this.name = Objects.requireNonNull(name, "name");
        trees = PackedTree.of(forest);
    }

    @Override
    public String name() {
        return name;
    }

    @Override
    public int ranks() {
        return trees.getFirst().up().size();
    }

    @Override
    public List<PackedTree> trees(Collective collective, int root) {
        return new Trees(trees).trees(collective, root, ranks());
    }

    private record Trees(List<PackedTree> anyRoot) implements Routing {
        @Override
        public List<PackedTree> rootedAt(int root) {
            return anyRoot.stream()
                    .map(tree -> tree.root() == root
                            ? tree
                            : PackedTree.of(tree.share(), tree.up().rerooted(root)))
                    .toList();
        }
    }
}

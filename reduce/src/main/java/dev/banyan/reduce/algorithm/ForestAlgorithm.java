package dev.banyan.reduce.algorithm;

import dev.banyan.reduce.schedule.Schedule;
import dev.banyan.trees.Forest;
import dev.banyan.trees.Tree;
import java.util.List;
import java.util.Objects;
import java.util.stream.IntStream;

/**
 * Collectives over trees: each tree carries its share of the data, up to its root and down again. A
 * forest of one tree has the least latency; with a tree per device every link works at once. Slices may
 * be empty, so that fewer elements than trees are no special case.
 *
 * <p>An allreduce uses the trees as they are. Where a collective has a root (reduce, broadcast) or a block
 * has an owner (reduce_scatter, all_gather) every tree is hung up there: its links stay the same, so the
 * shares still fit the machine, but it may become up to twice as deep.
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
public final class ForestAlgorithm implements CollectiveAlgorithm {
    private final String name;
    private final Forest forest;

    /**
     * @param name the algorithm's name as the command takes it, e.g. {@code multi-tree}
     * @param forest the trees over ranks and their shares
     */
    public ForestAlgorithm(String name, Forest forest) {
        this.name = Objects.requireNonNull(name, "name");
        this.forest = Objects.requireNonNull(forest, "forest");
    }

    @Override
    public String name() {
        return name;
    }

    @Override
    public int ranks() {
        return forest.size();
    }

    @Override
    public Schedule schedule(CollectiveRequest request) {
        return new Lowering(name, ranks(), request).lower(new Trees(forest));
    }

    private record Trees(Forest forest) implements Routing {
        @Override
        public List<Route> anyRoot() {
            return routes(forest.trees());
        }

        @Override
        public List<Route> rootedAt(int root) {
            return routes(forest.trees().stream()
                    .map(tree -> tree.root() == root ? tree : tree.rerooted(root))
                    .toList());
        }

        private List<Route> routes(List<Tree> trees) {
            return IntStream.range(0, trees.size())
                    .mapToObj(i -> Route.over(forest.shares().get(i), trees.get(i)))
                    .toList();
        }
    }
}

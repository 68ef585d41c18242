package dev.banyan.trees.packing.branching;

import static org.assertj.core.api.Assertions.assertThat;

import dev.banyan.trees.Tree;
import dev.banyan.trees.network.Network;
import dev.banyan.trees.packing.LinkLoads;
import dev.banyan.trees.packing.LogicalLink;
import dev.banyan.trees.packing.PackedTree;
import dev.banyan.trees.packing.TreePacking;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.commons.numbers.fraction.BigFraction;

/** Checks packings of broadcasts, reductions, allgathers and reduce-scatters without the code that made them. */
final class SpreadChecks {
    private SpreadChecks() {}

    /**
     * That the trees have the right roots and shares, use only paths that exist, and are as fast as stated.
     *
     * @param up whether data go up the trees
     */
    static void check(Network network, TreePacking packing, List<Integer> roots, boolean up) {
        assertThat(packing.network()).isSameAs(network);
        Map<Integer, BigFraction> shares = new HashMap<>();
        Map<List<Integer>, List<LogicalLink.Path>> paths = new HashMap<>();
        for (LogicalLink link : packing.links()) {
            checkLink(network, link);
            assertThat(paths.put(List.of(link.from(), link.to()), link.paths())).isNull();
        }
        Map<List<Integer>, BigFraction> loads = new HashMap<>();
        Set<List<Integer>> usedLinks = new HashSet<>();
        for (PackedTree packed : packing.trees()) {
            shares.merge(packed.root(), packed.share(), BigFraction::add);
            Tree tree = up ? packed.up() : packed.down();
            assertThat(tree.size()).isEqualTo(network.ranks());
            for (int rank = 0; rank < tree.size(); rank++) {
                if (rank == tree.root()) {
                    continue;
                }
                List<Integer> pair = up ? List.of(rank, tree.parent(rank)) : List.of(tree.parent(rank), rank);
                usedLinks.add(pair);
                for (LogicalLink.Path path :
                        paths.getOrDefault(pair, List.of(new LogicalLink.Path(pair, BigFraction.ONE)))) {
                    for (int i = 1; i < path.nodes().size(); i++) {
                        loads.merge(
                                List.of(path.nodes().get(i - 1), path.nodes().get(i)),
                                packed.share().multiply(path.share()),
                                BigFraction::add);
                    }
                }
            }
        }
        assertThat(usedLinks).containsAll(paths.keySet());
        assertThat(shares.keySet()).containsExactlyInAnyOrderElementsOf(roots);
        assertThat(shares.values()).allMatch(share -> share.equals(BigFraction.of(1, roots.size())));
        assertThat(packing.rateGbs()).isEqualTo(rate(network, loads));
        assertThat(packing.ratio()).isLessThanOrEqualTo(BigFraction.ONE);
        LinkLoads again = new LinkLoads(network, packing.links());
        for (PackedTree packed : packing.trees()) {
            if (up) {
                again.addUp(packed.share(), packed.up());
            } else {
                again.addDown(packed.share(), packed.down());
            }
        }
        assertThat(again.rateGbs()).isEqualTo(packing.rateGbs());
    }

    private static void checkLink(Network network, LogicalLink link) {
        BigFraction sum = BigFraction.ZERO;
        for (LogicalLink.Path path : link.paths()) {
            sum = sum.add(path.share());
            assertThat(path.share().signum()).isPositive();
            assertThat(path.nodes().getFirst()).isEqualTo(link.from());
            assertThat(path.nodes().getLast()).isEqualTo(link.to());
            assertThat(path.nodes()).doesNotHaveDuplicates();
            assertThat(path.nodes().subList(1, path.nodes().size() - 1)).allMatch(node -> node >= network.ranks());
        }
        assertThat(sum).isEqualTo(BigFraction.ONE);
        assertThat(link.paths().size() > 1 || link.paths().getFirst().nodes().size() > 2)
                .isTrue();
    }

    private static BigFraction rate(Network network, Map<List<Integer>, BigFraction> loads) {
        return loads.entrySet().stream()
                .map(load -> {
                    int arc =
                            network.arc(load.getKey().getFirst(), load.getKey().getLast());
                    assertThat(arc).as("arc %s", load.getKey()).isNotNegative();
                    return network.unitGbs()
                            .multiply(BigFraction.of(network.capacity(arc)))
                            .divide(load.getValue());
                })
                .min(BigFraction::compareTo)
                .orElseThrow();
    }
}

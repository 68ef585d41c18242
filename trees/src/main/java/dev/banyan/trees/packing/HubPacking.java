package dev.banyan.trees.packing;

import dev.banyan.trees.network.Network;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

final class HubPacking {
    private static final long EFFORT = 4_000_000_000L;
    private static final long CHOICE = 400_000_000L;
    private static final long EXCHANGES = 1_000_000_000L;

    private final Wires wires;
    private final PricedPaths paths;
    private final TreePricing anyTree;
    private final ColumnGeneration generation;

    private HubPacking(Network network) {
        wires = new Wires(network);
        paths = new PricedPaths(wires);
        generation = new ColumnGeneration(paths);
        anyTree = network.symmetric() ? new CheapestTree(network.ranks()) : new CheapestTreePair(network.ranks());
    }

    static TreePacking of(Network network, int maxTrees) {
        return new HubPacking(network).pack(maxTrees);
    }

    private TreePacking pack(int maxTrees) {
        FloatPacking found = generation.run(anyTree, new Effort(EFFORT));
        PriceBound bound = bound(found);
        WeightedTrees best = WeightedTrees.of(found.basis(), wires);
        FewTrees choice = new FewTrees(generation, new Effort(CHOICE));
        List<TreeShape> candidates = candidates(bound, found);
        TreeSelection few = choice.withoutLoss(found, candidates, bound);
        WeightedTrees fewer = WeightedTrees.of(few.packing().basis(), wires);
        if (fewer.rateUnits().compareTo(best.rateUnits()) >= 0) {
            best = fewer;
        }
        if (best.count() > maxTrees) {
            best = new FewTrees(generation, new Effort(EXCHANGES))
                    .everFewer(few, candidates).stream()
                            .map(selection -> WeightedTrees.of(selection.packing().basis(), wires))
                            .filter(trees -> trees.count() <= maxTrees)
                            .max(Comparator.comparing(WeightedTrees::rateUnits))
                            .orElseThrow();
        }
        return best.packing(bound.bound());
    }

    /** The trees found that are the cheapest at the end, and shallow ones that are as cheap. */
    private List<TreeShape> candidates(PriceBound bound, FloatPacking found) {
        bound.findPaths(paths);
        Set<TreeShape> candidates = new LinkedHashSet<>();
        found.basis().trees().forEach(tree -> candidates.add(tree.shape()));
        generation.found().stream().filter(tree -> bound.isCheapest(tree, paths)).forEach(candidates::add);
        return new ArrayList<>(candidates);
    }

    private PriceBound bound(FloatPacking packing) {
        long[] exact = packing.optimal() ? ExactBasis.prices(packing.basis(), wires, paths.greatestPrice()) : null;
        if (exact != null) {
            return new PriceBound(exact, paths, anyTree);
        }
        double scale = Math.min(1L << 40, paths.greatestPrice() / 2);
        long[] rounded = new long[wires.count()];
        for (int wire = 0; wire < rounded.length; wire++) {
            rounded[wire] = Math.round(Math.clamp(packing.price(wire), 0, 2) * scale);
        }
        return new PriceBound(rounded, paths, anyTree);
    }
}

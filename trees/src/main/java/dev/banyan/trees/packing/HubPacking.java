package dev.banyan.trees.packing;

import dev.banyan.trees.network.Network;

final class HubPacking {
    private HubPacking() {}

    static TreePacking of(Network network, int maxTrees) {
        Wires wires = new Wires(network);
        PricedPaths paths = new PricedPaths(wires);
        ColumnGeneration generation = new ColumnGeneration(paths);
        TreePricing anyTree = network.symmetric() ? new CheapestTree(network.ranks()) : new CheapestTreePair(network.ranks());
        Effort effort = new Effort(4_000_000_000L);
        FloatPacking best = generation.run(anyTree, effort);
        PriceBound bound = bound(best, paths, anyTree);
        WeightedTrees trees = WeightedTrees.of(best.basis(), wires);
        if (Boolean.getBoolean("hub.debug")) System.out.println(network.name() + " n " + network.ranks() + " wires " + wires.count() + " found " + generation.found().size() + " optimal " + best.optimal() + " trees " + trees.count() + " basis " + best.basis().trees().size());
        return trees.packing(bound.bound());
    }

    private static PriceBound bound(FloatPacking packing, PricedPaths paths, TreePricing anyTree) {
        Wires wires = paths.wires();
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

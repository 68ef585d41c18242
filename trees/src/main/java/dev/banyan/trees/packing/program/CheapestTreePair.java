package dev.banyan.trees.packing.program;

/**
 * The cheapest arborescence to a rank together with the cheapest out of it, over all ranks as roots. For
 * networks whose links are wider one way than the other. n times two arborescences.
 */
final class CheapestTreePair implements TreePricing {
    private final int ranks;
    private final long[][] out;
    private final long[][] in;

    CheapestTreePair(int ranks) {
        this.ranks = ranks;
        out = new long[ranks][ranks];
        in = new long[ranks][ranks];
    }

    @Override
    public TreeShape cheapest(PricedPaths paths) {
        for (int a = 0; a < ranks; a++) {
            for (int b = 0; b < ranks; b++) {
                out[a][b] = paths.cost(a, b);
                in[b][a] = paths.cost(a, b);
            }
        }
        TreeShape cheapest = rootedAt(0);
        long least = cheapest.cost(paths);
        for (int root = 1; root < ranks; root++) {
            TreeShape tree = rootedAt(root);
            long cost = tree.cost(paths);
            if (cost < least || (cost == least && tree.depth() < cheapest.depth())) {
                least = cost;
                cheapest = tree;
            }
        }
        return cheapest;
    }

    private TreeShape rootedAt(int root) {
        return TreeShape.pair(CheapestArborescence.from(root, in), CheapestArborescence.from(root, out));
    }

    @Override
    public long operations(int ranks) {
        return 8L * ranks * ranks * ranks;
    }
}

package dev.banyan.reduce.algorithm;

import dev.banyan.reduce.type.Collective;
import dev.banyan.trees.Forest;
import dev.banyan.trees.Tree;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;

/** Random algorithms and requests; the same seed gives the same ones. */
public final class Samples {
    private static final List<Collective> COLLECTIVES = List.of(Collective.values());

    private Samples() {}

    /** One algorithm of each kind over n ranks. */
    public static List<CollectiveAlgorithm> algorithms(int n, Random random) {
        List<Tree> trees = new ArrayList<>();
        List<Double> weights = new ArrayList<>();
        for (int i = 0; i < n; i++) {
            trees.add(tree(n, i, random));
            weights.add(0.1 + random.nextDouble());
        }
        double total = weights.stream().mapToDouble(Double::doubleValue).sum();
        return List.of(
                new ForestAlgorithm("single-tree", Forest.equalShares(List.of(tree(n, random.nextInt(n), random)))),
                new ForestAlgorithm("multi-tree", Forest.equalShares(trees)),
                new ForestAlgorithm("packed", new Forest(trees, weights.stream().map(w -> w / total).toList())),
                new RingAlgorithm(permutation(n, random)),
                new StarAlgorithm(n, random.nextInt(n)));
    }

    /** A random tree with a given root. */
    public static Tree tree(int n, int root, Random random) {
        int[] order = permutation(n, random);
        int at = IntStream.range(0, n).filter(i -> order[i] == root).findFirst().orElseThrow();
        order[at] = order[0];
        order[0] = root;
        int[] parents = new int[n];
        parents[root] = -1;
        for (int i = 1; i < n; i++) {
            parents[order[i]] = order[random.nextInt(i)];
        }
        return Tree.ofParents(parents);
    }

    /** 0..n-1 in random order. */
    public static int[] permutation(int n, Random random) {
        List<Integer> order = new ArrayList<>(IntStream.range(0, n).boxed().toList());
        Collections.shuffle(order, random);
        return order.stream().mapToInt(Integer::intValue).toArray();
    }

    /** A request with few elements of a random size, in random chunks. */
    public static CollectiveRequest request(int n, int mostElements, Random random) {
        Collective collective = COLLECTIVES.get(random.nextInt(COLLECTIVES.size()));
        int elementBytes = 1 << random.nextInt(4);
        long chunkBytes = random.nextInt(3) == 0 ? Long.MAX_VALUE : elementBytes * (1L + random.nextInt(100));
        return new CollectiveRequest(
                collective,
                collective.hasRoot() ? random.nextInt(n) : -1,
                random.nextInt(mostElements + 1),
                elementBytes,
                random.nextBoolean(),
                chunkBytes);
    }

    /** Roots of a collective over n ranks: all up to 8 ranks, else some; -1 alone where it has none. */
    public static int[] roots(Collective collective, int n) {
        if (!collective.hasRoot()) {
            return new int[] {-1};
        }
        return n <= 8 ? IntStream.range(0, n).toArray() : new int[] {0, n / 2, n - 1};
    }

    /** A line 0-1-2-... rooted at its start. */
    public static Tree line(int n) {
        int[] parents = new int[n];
        Arrays.setAll(parents, i -> i - 1);
        return Tree.ofParents(parents);
    }
}

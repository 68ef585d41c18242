package dev.banyan.schedule.internal.algorithm;

import dev.banyan.schedule.type.Collective;
import dev.banyan.topology.Device;
import dev.banyan.topology.Link;
import dev.banyan.topology.LinkMatrix;
import dev.banyan.topology.Machine;
import dev.banyan.trees.Forest;
import dev.banyan.trees.Tree;
import dev.banyan.trees.bound.Bound;
import dev.banyan.trees.bound.Certificate;
import dev.banyan.trees.network.Network;
import dev.banyan.trees.packing.LinkLoads;
import dev.banyan.trees.packing.PackedTree;
import dev.banyan.trees.packing.TreePacking;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.commons.numbers.fraction.BigFraction;

/** Random algorithms and requests; the same seed gives the same ones. */
public final class Samples {
    private static final List<Collective> COLLECTIVES = List.of(Collective.values());

    private Samples() {}

    /** A random machine of direct links that join all devices; wider one way than the other if so wanted. */
    public static Machine machine(int n, boolean uneven, Random random) {
        double density = random.nextDouble();
        List<Link> links = new ArrayList<>();
        for (int b = 1; b < n; b++) {
            int parent = random.nextInt(b);
            for (int a = 0; a < b; a++) {
                if (a == parent || random.nextDouble() < density) {
                    int there = 1 + random.nextInt(6);
                    int back = uneven ? 1 + random.nextInt(6) : there;
                    links.add(new Link(a, b, Link.Kind.NVLINK, 1, there, back, 1));
                }
            }
        }
        return new Machine(
                "random-" + n,
                IntStream.range(0, n).mapToObj(i -> Device.named("GPU" + i)).toList(),
                List.of(),
                links,
                List.of(),
                List.of());
    }

    /**
     * Packings of up to so many random trees per root over the links of a network, which make bad use of it.
     * The ways up and down of an allreduce differ.
     */
    public static Packings packings(Network network, int mostTrees, long seed) {
        return (collective, root) -> {
            Random random = new Random(31 * seed + 7L * collective.label().hashCode() + root);
            int n = network.ranks();
            boolean blocks = collective == Collective.REDUCE_SCATTER || collective == Collective.ALL_GATHER;
            List<PackedTree> trees = new ArrayList<>();
            for (int block = 0; block < (blocks ? n : 1); block++) {
                int[] weights = IntStream.range(0, 1 + random.nextInt(mostTrees))
                        .map(i -> 1 + random.nextInt(1 << random.nextInt(8)))
                        .toArray();
                for (int weight : weights) {
                    int at = blocks ? block : root >= 0 ? root : random.nextInt(n);
                    trees.add(new PackedTree(
                            BigFraction.of(weight, IntStream.of(weights).sum() * (blocks ? n : 1)),
                            spanningTree(network, at, random),
                            spanningTree(network, at, random)));
                }
            }
            LinkLoads loads = new LinkLoads(network);
            for (PackedTree tree : trees) {
                if (collective.reduces()) {
                    loads.addUp(tree.share(), tree.up());
                }
                if (collective == Collective.ALL_REDUCE || !collective.reduces()) {
                    loads.addDown(tree.share(), tree.down());
                }
            }
            // All data cross at least one link once.
            BigFraction allLinks = IntStream.range(0, network.arcs())
                    .mapToObj(arc -> network.unitGbs().multiply(network.capacity(arc)))
                    .reduce(BigFraction.ZERO, BigFraction::add);
            Certificate prices = new Certificate.Prices(IntStream.range(0, network.arcs())
                    .boxed()
                    .collect(Collectors.toMap(arc -> arc, arc -> BigFraction.ONE)));
            return new TreePacking(network, trees, loads.rateGbs(), new Bound(allLinks, prices), List.of());
        };
    }

    /** Grown from the root, link by random link; all links go both ways. */
    private static Tree spanningTree(Network network, int root, Random random) {
        int n = network.ranks();
        int[] parents = new int[n];
        Arrays.fill(parents, n);
        parents[root] = -1;
        for (int reached = 1; reached < n; ) {
            int arc = random.nextInt(network.arcs());
            if (parents[network.from(arc)] < n && parents[network.to(arc)] == n) {
                parents[network.to(arc)] = network.from(arc);
                reached++;
            }
        }
        return Tree.ofParents(parents);
    }

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
                new ForestAlgorithm(
                        "uneven-shares",
                        new Forest(trees, weights.stream().map(w -> w / total).toList())),
                new RingAlgorithm(permutation(n, random)),
                new StarAlgorithm(n, random.nextInt(n)),
                new OneShotAlgorithm(LinkMatrix.of(machine(n, false, random))));
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

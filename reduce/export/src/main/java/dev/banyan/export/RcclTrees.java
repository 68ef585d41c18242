package dev.banyan.export;

import dev.banyan.topology.Machine;
import dev.banyan.trees.Tree;
import dev.banyan.trees.network.Network;
import dev.banyan.trees.packing.LinkLoads;
import dev.banyan.trees.packing.PackedTree;
import dev.banyan.trees.packing.allreduce.AllReducePacking;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;
import org.apache.commons.numbers.fraction.BigFraction;

/**
 * The trees of RCCL's variable {@code RCCL_TREES}, one for each channel, and the rings of {@code NCCL_RINGS}. Channels
 * have equal shares. RCCL's device code receives from at most two children, so a packed tree with more is left out; the
 * rings, each cut and held at its middle, take its place if that is faster.
 *
 * @param trees over ranks; each carries the same share
 * @param algbw algbw of an allreduce over them, in GB/s, latencies apart
 */
public record RcclTrees(List<Tree> trees, BigFraction algbw) {
    private static final int MOST_CHILDREN = 2;
    private static final int MOST_TREES = 16;

    public RcclTrees {
        trees = List.copyOf(trees);
    }

    /** Makes the trees of an allreduce between the devices that some rings join. */
    public static RcclTrees of(RingChannels rings) {
        Network network = rings.network();
        RcclTrees best = rated(
                network, rings.orders().stream().map(RcclTrees::heldAtTheMiddle).toList());
        List<PackedTree> binary = AllReducePacking.of(network).trees().stream()
                .filter(tree -> tree.up().equals(tree.down()) && mostChildren(tree.up()) <= MOST_CHILDREN)
                .toList();
        for (int count = 1; count <= MOST_TREES && !binary.isEmpty(); count++) {
            RcclTrees rounded = rated(network, rounded(binary, count));
            best = rounded.algbw.compareTo(best.algbw) > 0 ? rounded : best;
        }
        return best;
    }

    private static RcclTrees rated(Network network, List<Tree> trees) {
        LinkLoads loads = new LinkLoads(network);
        BigFraction share = BigFraction.of(1, trees.size());
        for (Tree tree : trees) {
            loads.addUp(share, tree);
            loads.addDown(share, tree);
        }
        return new RcclTrees(trees, loads.rateGbs());
    }

    private static int mostChildren(Tree tree) {
        return Arrays.stream(tree.topDown())
                .map(device -> tree.children(device).length)
                .max()
                .orElse(0);
    }

    private static Tree heldAtTheMiddle(List<Integer> ring) {
        int[] parents = new int[ring.size()];
        int middle = ring.size() / 2;
        for (int i = 0; i < ring.size(); i++) {
            parents[ring.get(i)] = i == middle ? -1 : ring.get(i < middle ? i + 1 : i - 1);
        }
        return Tree.ofParents(parents);
    }

    /** Gives each next channel to the tree that lacks most of its share. */
    private static List<Tree> rounded(List<PackedTree> packed, int count) {
        List<Tree> trees = new ArrayList<>();
        double[] missing = packed.stream()
                .mapToDouble(tree -> tree.share().doubleValue() * count)
                .toArray();
        while (trees.size() < count) {
            int most = 0;
            for (int tree = 1; tree < missing.length; tree++) {
                most = missing[tree] > missing[most] ? tree : most;
            }
            missing[most]--;
            trees.add(packed.get(most).up());
        }
        return trees;
    }

    /** Returns the value of {@code RCCL_TREES}: nested ranks, e.g. {@code (0(1(3))(2))}. */
    public String value() {
        return trees.stream().map(tree -> nested(tree, tree.root())).collect(Collectors.joining("|"));
    }

    private static String nested(Tree tree, int device) {
        return Arrays.stream(tree.children(device))
                .mapToObj(child -> nested(tree, child))
                .collect(Collectors.joining("", "(" + device, ")"));
    }

    /** Returns the value of {@code NCCL_RINGS}: device numbers, e.g. {@code 0 1 2 3|3 2 1 0}. */
    public static String rings(Machine machine, RingChannels channels) {
        return NcclGraph.of(machine, channels).rings().stream()
                .map(ring -> ring.stream().map(String::valueOf).collect(Collectors.joining(" ")))
                .collect(Collectors.joining("|"));
    }
}

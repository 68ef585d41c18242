package dev.banyan.study.machine;

import dev.banyan.schedule.type.Collective;
import dev.banyan.trees.Forest;
import dev.banyan.trees.bound.Bound;
import dev.banyan.trees.network.Network;
import dev.banyan.trees.packing.LinkLoads;
import dev.banyan.trees.packing.PackedTree;
import dev.banyan.trees.packing.RatedForest;
import dev.banyan.trees.packing.TreePacking;
import dev.banyan.trees.packing.allreduce.AllReducePacking;
import dev.banyan.trees.packing.branching.GatherPacking;
import dev.banyan.trees.packing.branching.RootedPacking;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.commons.numbers.fraction.BigFraction;
import org.jspecify.annotations.Nullable;

/**
 * The trees that were built for a collective, and their paths over the links.
 *
 * @param group the devices, by their numbers in the whole machine, in the order of ranks
 * @param algorithm what built the trees
 * @param collective what they carry
 * @param root rank of a collective that has a root, else -1
 * @param packed whether they were packed, so that each has a share of its own, not built for a weight
 * @param packing the trees on the links
 * @param generationMs time to build them, once and cold, in ms
 * @param relays devices that may forward, by their numbers in the whole machine
 * @param alone where there are relays: the packing without them
 * @param together where there are relays: the packing with them
 * @param warnings one sentence each
 */
public record PlannedTrees(
        List<Integer> group,
        String algorithm,
        Collective collective,
        int root,
        boolean packed,
        TreePacking packing,
        double generationMs,
        List<Integer> relays,
        @Nullable TreePacking alone,
        @Nullable TreePacking together,
        List<String> warnings) {
    /** Trees of an algorithm other than packing, carrying an allreduce. */
    public static PlannedTrees of(ChosenMachine chosen, String algorithm, List<PackedTree> trees, double generationMs) {
        Network network = chosen.network();
        Bound bound = AllReducePacking.of(network).bound();
        TreePacking packing = RatedForest.of(trees, network, bound)
                .or(() -> RatedForest.of(trees, chosen.allLinks(), bound))
                .orElseThrow(() -> new IllegalStateException("some devices of "
                        + chosen.machine().name() + " have no path to each other; take --algorithm packing"));
        return new PlannedTrees(
                chosen.group(),
                algorithm,
                Collective.ALL_REDUCE,
                -1,
                false,
                packing,
                generationMs,
                List.of(),
                null,
                null,
                chosen.warnings());
    }

    /**
     * Packs trees, with and without relays where there are any, and takes what is faster.
     *
     * @param root of a collective that has one, else -1
     */
    public static PlannedTrees packing(
            ChosenMachine chosen, Collective collective, int root, int maxTrees, int... relays) {
        long start = System.nanoTime();
        TreePacking alone = pack(chosen.network(), collective, root, maxTrees);
        TreePacking together = relays.length == 0 ? alone : pack(chosen.network(relays), collective, root, maxTrees);
        double generationMs = (System.nanoTime() - start) / 1e6;
        TreePacking better = together.rateGbs().compareTo(alone.rateGbs()) > 0 ? together : alone;
        Set<String> warnings = new LinkedHashSet<>(chosen.machine().warnings());
        warnings.addAll(better.network().warnings());
        return new PlannedTrees(
                chosen.group(),
                "packing",
                collective,
                root,
                true,
                better,
                generationMs,
                Arrays.stream(relays).boxed().toList(),
                relays.length == 0 ? null : alone,
                relays.length == 0 ? null : together,
                List.copyOf(warnings));
    }

    private static TreePacking pack(Network network, Collective collective, int root, int maxTrees) {
        return switch (collective) {
            case ALL_REDUCE -> AllReducePacking.of(network, maxTrees);
            case BROADCAST -> RootedPacking.broadcast(network, root, maxTrees);
            case REDUCE -> RootedPacking.reduce(network, root, maxTrees);
            case ALL_GATHER -> GatherPacking.allGather(network, maxTrees);
            case REDUCE_SCATTER -> GatherPacking.reduceScatter(network, maxTrees);
        };
    }

    /** Returns whether data go down a tree, to its leaves. */
    public boolean goesDown() {
        return goesDown(collective);
    }

    private static boolean goesDown(Collective collective) {
        return collective != Collective.REDUCE && collective != Collective.REDUCE_SCATTER;
    }

    /** Returns whether data go up a tree, to its root. */
    public boolean goesUp() {
        return collective.reduces();
    }

    /** Returns whether the trees take ways through devices that have no rank. */
    public boolean takesRelays() {
        Network network = packing.network();
        return IntStream.range(network.ranks(), network.nodes())
                .anyMatch(node -> network.node(node).kind() == Network.Kind.RELAY);
    }

    /** The relays, if the trees are those that were packed with them; else none. */
    public int[] relaysShown() {
        return takesRelays() ? relays.stream().mapToInt(Integer::intValue).toArray() : new int[0];
    }

    /** Returns the names of the ranks' devices if these are not the machine's in its own order; else an empty text. */
    public String names() {
        boolean inOrder = IntStream.range(0, group.size()).allMatch(rank -> group.get(rank) == rank);
        return inOrder
                ? ""
                : IntStream.range(0, group.size())
                        .mapToObj(rank -> rank + " is device " + group.get(rank))
                        .collect(Collectors.joining(", "));
    }

    /** Returns the share of the data that crosses each arc. */
    public LinkLoads loads() {
        return loads(collective, packing.trees());
    }

    /** Returns the share of the data that crosses each arc if a collective goes over the given trees. */
    public LinkLoads loads(Collective carried, List<PackedTree> trees) {
        LinkLoads loads = unloaded();
        for (PackedTree tree : trees) {
            if (carried.reduces()) {
                loads.addUp(tree.share(), tree.up());
            }
            if (goesDown(carried)) {
                loads.addDown(tree.share(), tree.down());
            }
        }
        return loads;
    }

    /** No load yet; transfers go the ways that the plan has for them. */
    public LinkLoads unloaded() {
        return new LinkLoads(packing.network(), packing.links());
    }

    /** The trees without paths: those that data go down, where data go down. */
    public Forest forest() {
        List<Double> shares = new ArrayList<>();
        for (PackedTree tree : packing.trees()) {
            shares.add(tree.share().doubleValue());
        }
        return new Forest(
                packing.trees().stream()
                        .map(tree -> goesDown() ? tree.down() : tree.up())
                        .toList(),
                shares);
    }

    /** Returns the rate of a share of the data at the rate of the packing, in GB/s. */
    public double gbs(BigFraction share) {
        return packing.rateGbs().multiply(share).doubleValue();
    }
}

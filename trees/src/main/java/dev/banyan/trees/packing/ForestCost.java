package dev.banyan.trees.packing;

import dev.banyan.topology.Machine;
import dev.banyan.trees.Tree;
import dev.banyan.trees.network.Network;
import java.util.List;
import java.util.Objects;
import java.util.stream.IntStream;
import org.apache.commons.numbers.fraction.BigFraction;

/**
 * The cost of trees on the links of a machine for one collective. Any trees can be compared by it, packed or not, rings
 * (paths) and stars included. It knows links alone: no time to start a copy, none to reduce.
 *
 * @param network the links that the trees were priced on
 * @param trees number of trees
 * @param depth greatest number of logical links between a root and a rank
 * @param stages greatest number of logical links that data cross one after another: up and down for an
 *     allreduce, hence twice the depth where both ways are the same tree; else the depth
 * @param loads share of all data that crosses each arc, by the arc's index in the network, exact
 * @param rateGbs algbw in GB/s at which the busiest arc is full, exact
 * @param latencyUs greatest sum in us of the latencies of the hops that data of a tree cross one after
 *     another; where several paths share a logical link, the slowest counts
 */
public record ForestCost(
        Network network,
        int trees,
        int depth,
        int stages,
        List<BigFraction> loads,
        BigFraction rateGbs,
        double latencyUs) {
    /**
     * @throws IllegalArgumentException if there is not one load per arc, or the rate is not above 0
     */
    public ForestCost {
        Objects.requireNonNull(network, "network");
        loads = List.copyOf(loads);
        if (loads.size() != network.arcs() || rateGbs.signum() <= 0) {
            throw new IllegalArgumentException(loads.size() + " loads for the " + network.arcs() + " arcs of "
                    + network.name() + " at " + rateGbs + " GB/s; give one load per arc and a rate above 0");
        }
    }

    /** The cost of a packing, when it carries the collective that it was made for. */
    public static ForestCost of(TreePacking packing, Direction direction) {
        return price(packing.trees(), direction, new LinkLoads(packing.network(), packing.links()), packing.network());
    }

    /**
     * The cost of trees whose links go the {@linkplain dev.banyan.trees.network.Detours usual way}.
     *
     * @param trees at least one; shares are of all data
     * @throws IllegalArgumentException if the network has no path for a link of a tree
     */
    public static ForestCost of(Network network, List<PackedTree> trees, Direction direction) {
        return price(trees, direction, new LinkLoads(network), network);
    }

    /**
     * The cost of trees that were made without regard to a network: on the network of the group if that has
     * a path for each of their links, else on {@linkplain Network#ofAllLinks all links} of the machine.
     *
     * @param machine the whole machine
     * @param group the devices that take part; rank r is device {@code group[r]}
     * @param trees at least one; shares are of all data
     * @throws IllegalArgumentException if the group is no {@linkplain Network#of(Machine, int[], int...) group}
     */
    public static ForestCost of(Machine machine, int[] group, List<PackedTree> trees, Direction direction) {
        Network network = Network.of(machine, group);
        LinkLoads loads = new LinkLoads(network);
        if (trees.stream().allMatch(tree -> loads.hasPaths(tree, direction))) {
            return price(trees, direction, loads, network);
        }
        return of(Network.ofAllLinks(machine, group), trees, direction);
    }

    private static ForestCost price(List<PackedTree> trees, Direction direction, LinkLoads loads, Network network) {
        loads.add(trees, direction);
        int depth = 0;
        int stages = 0;
        double latency = 0;
        for (PackedTree tree : trees) {
            int treeStages = 0;
            double treeLatency = 0;
            if (direction.goesUp()) {
                depth = Math.max(depth, tree.up().depth());
                treeStages += tree.up().depth();
                treeLatency += latencyUs(tree.up(), true, loads);
            }
            if (direction.goesDown()) {
                depth = Math.max(depth, tree.down().depth());
                treeStages += tree.down().depth();
                treeLatency += latencyUs(tree.down(), false, loads);
            }
            stages = Math.max(stages, treeStages);
            latency = Math.max(latency, treeLatency);
        }
        return new ForestCost(
                network,
                trees.size(),
                depth,
                stages,
                IntStream.range(0, network.arcs()).mapToObj(loads::load).toList(),
                loads.rateGbs(),
                latency);
    }

    private static double latencyUs(Tree tree, boolean up, LinkLoads loads) {
        double[] toRoot = new double[tree.size()];
        double greatest = 0;
        for (int rank : tree.topDown()) {
            int parent = tree.parent(rank);
            if (parent >= 0) {
                toRoot[rank] = toRoot[parent] + (up ? loads.latencyUs(rank, parent) : loads.latencyUs(parent, rank));
                greatest = Math.max(greatest, toRoot[rank]);
            }
        }
        return greatest;
    }

    /**
     * Returns the time of a collective if nothing but the links cost time: {@code bytes / rate * (1 + (stages - 1) /
     * chunks) + latency}. The second term is the time in which the pipeline fills; of an allreduce, it has 2 depth - 1
     * chunks' length.
     *
     * @param bytes all data, as nccl-tests count them, at least 0
     * @param chunks pieces in which every tree's share goes along it, at least 1
     * @return time in us
     * @throws IllegalArgumentException if an argument is out of range
     */
    public double predictedUs(long bytes, long chunks) {
        if (bytes < 0 || chunks < 1) {
            throw new IllegalArgumentException("a price for " + bytes + " bytes in " + chunks
                    + " chunks; there must be at least 0 bytes and 1 chunk");
        }
        return bytes / (rateGbs.doubleValue() * 1e3) * (1 + (stages - 1) / (double) chunks) + latencyUs;
    }
}

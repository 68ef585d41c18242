package dev.banyan.trees.packing.allreduce;

import dev.banyan.topology.Link;
import dev.banyan.trees.Tree;
import dev.banyan.trees.bound.Bound;
import dev.banyan.trees.network.Network;
import dev.banyan.trees.packing.PackedTree;
import dev.banyan.trees.packing.RatedForest;
import dev.banyan.trees.packing.TreePacking;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;
import org.apache.commons.numbers.fraction.BigFraction;

/**
 * Chains around a ring of the ranks, one to each rank, for networks in which a rank has one PCIe link, which all
 * its transfers share. Nearly all that leaves a rank goes to the next, so that transfers hardly ever compete for a
 * link. Trees that reach the same rate by the sums of their loads, but send from a rank to many, need every
 * link at work all the time while fair sharing leaves some with transfers alone that wait for another link; and a
 * PCIe switch loses by queueing what NVSwitches, built for all pairs at once, don't.
 *
 * <p>The ring goes through the hubs depth first, and so over each link of a tree of hubs once each way. Where links
 * between hubs are narrower than the ranks' own, as between the sockets of a host, a ring could not pass at full
 * speed. There it is cut: the ranks on one side of the narrow links are a section, and rings of their own. What
 * goes to a root takes the chain through all other sections, once into the root's, and around that to the root:
 * the last rank of a section sends to the first of its own if the root is there, else to the first of the next. The
 * way down is the same with the first rank receiving from the last. Data then cross narrow links once up and once
 * down, not about twice.
 *
 * <p>O(n^2 hops). Source of the ring: P. Patarasuk, X. Yuan, "Bandwidth optimal all-reduce algorithms for clusters
 * of workstations", J. Parallel and Distributed Computing 69, 2009, section 4, for trees of switches.
 */
final class ChainPacking {
    private final Network network;
    private final long widest;
    private final boolean[] seen;
    private final List<Integer> ring = new ArrayList<>();
    /** By place in the ring: where its section begins, and its last place. */
    private final int[] first;

    private final int[] last;

    private ChainPacking(Network network) {
        this.network = network;
        widest = IntStream.range(0, network.ranks())
                .mapToLong(rank -> network.capacity(network.firstOut(rank)))
                .max()
                .orElseThrow();
        seen = new boolean[network.nodes()];
        first = new int[network.ranks()];
        last = new int[network.ranks()];
    }

    /** The chains and how fast they are; empty but where each of three ranks or more has one link, of PCIe. */
    static Optional<TreePacking> of(Network network, Bound bound) {
        return network.ranks() > 2
                        && network.symmetric()
                        && IntStream.range(0, network.ranks()).allMatch(rank -> hasOnePcieLink(network, rank))
                ? RatedForest.of(new ChainPacking(network).chains(), network, bound)
                : Optional.empty();
    }

    private static boolean hasOnePcieLink(Network network, int rank) {
        int arc = network.firstOut(rank);
        return network.firstOut(rank + 1) == arc + 1
                && network.kind(arc) == Link.Kind.PCIE
                && network.to(arc) >= network.ranks();
    }

    private List<PackedTree> chains() {
        List<Integer> starts = new ArrayList<>(List.of(network.to(network.firstOut(0))));
        for (int i = 0; i < starts.size(); i++) {
            int start = ring.size();
            visit(starts.get(i), starts);
            Arrays.fill(first, start, ring.size(), start);
            Arrays.fill(last, start, ring.size(), ring.size() - 1);
        }
        BigFraction share = BigFraction.of(1, network.ranks());
        return IntStream.range(0, network.ranks())
                .mapToObj(root -> new PackedTree(share, up(root), down(root)))
                .toList();
    }

    /**
     * Adds the ranks of a section to the ring. Goes depth first through links that are not narrow.
     *
     * @param starts takes the nodes behind the narrow ones
     */
    private void visit(int node, List<Integer> starts) {
        if (seen[node]) {
            return;
        }
        seen[node] = true;
        if (node < network.ranks()) {
            ring.add(node);
            return;
        }
        for (int arc = network.firstOut(node); arc < network.firstOut(node + 1); arc++) {
            int next = network.to(arc);
            if (next < network.ranks() || network.capacity(arc) >= widest) {
                visit(next, starts);
            } else {
                starts.add(next);
            }
        }
    }

    private Tree up(int root) {
        int[] parents = new int[ring.size()];
        for (int place = 0; place < parents.length; place++) {
            int next = place == last[root] ? first[root] : (place + 1) % parents.length;
            parents[ring.get(place)] = ring.get(next);
        }
        parents[ring.get(root)] = -1;
        return Tree.ofParents(parents);
    }

    private Tree down(int root) {
        int[] parents = new int[ring.size()];
        for (int place = 0; place < parents.length; place++) {
            int before = place == first[root] ? last[root] : Math.floorMod(place - 1, parents.length);
            parents[ring.get(place)] = ring.get(before);
        }
        parents[ring.get(root)] = -1;
        return Tree.ofParents(parents);
    }
}

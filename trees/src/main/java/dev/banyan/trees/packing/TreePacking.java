package dev.banyan.trees.packing;

import dev.banyan.trees.bound.Bound;
import dev.banyan.trees.network.Network;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.apache.commons.numbers.fraction.BigFraction;

/**
 * Trees that share the links of a network, and how close they come to the bound. It carries one collective
 * only: its links are not overloaded by that at the rate that it states.
 *
 * @param network the links
 * @param trees at least one tree; their shares sum to 1
 * @param rateGbs algbw in GB/s at which they carry the collective, without latencies, exact
 * @param bound what no schedule can exceed
 * @param links the paths of every ordered pair of ranks that a tree uses other than by the direct link
 *     between the two alone, sorted by (from, to); empty for direct networks
 */
public record TreePacking(
        Network network, List<PackedTree> trees, BigFraction rateGbs, Bound bound, List<LogicalLink> links) {
    /**
     * @throws IllegalArgumentException if there is no tree, or the shares don't sum to 1
     */
    public TreePacking {
        Objects.requireNonNull(network, "network");
        Objects.requireNonNull(rateGbs, "rateGbs");
        Objects.requireNonNull(bound, "bound");
        trees = List.copyOf(trees);
        links = List.copyOf(links);
        BigFraction sum = BigFraction.ZERO;
        for (PackedTree tree : trees) {
            sum = sum.add(tree.share());
        }
        if (!sum.equals(BigFraction.ONE)) {
            throw new IllegalArgumentException("the shares of " + trees.size() + " trees sum to " + sum + ", not to 1");
        }
    }

    /** Rate over bound; at most 1, and exactly 1 if the packing is optimal. */
    public BigFraction ratio() {
        return rateGbs.divide(bound.gbs());
    }

    /**
     * Its {@link #links} by the nodes of another network over the same ranks.
     *
     * @param other a network of the same machine and ranks that has all nodes on the paths
     * @throws IllegalArgumentException if a node is missing there
     */
    public List<LogicalLink> linksOn(Network other) {
        Map<Network.Node, Integer> indices = new HashMap<>();
        for (int node = 0; node < other.nodes(); node++) {
            indices.put(other.node(node), node);
        }
        return links.stream()
                .map(link -> new LogicalLink(
                        link.from(),
                        link.to(),
                        link.paths().stream()
                                .map(path -> new LogicalLink.Path(
                                        path.nodes().stream()
                                                .map(node -> nodeOn(other, indices, node))
                                                .toList(),
                                        path.share()))
                                .toList()))
                .toList();
    }

    private int nodeOn(Network other, Map<Network.Node, Integer> indices, int node) {
        Integer index = indices.get(network.node(node));
        if (index == null) {
            throw new IllegalArgumentException(
                    network.node(node).name() + " is no node of the network of " + other.name() + " that was given");
        }
        return index;
    }

    /** Greatest number of logical links between a root and a rank. */
    public int depth() {
        return trees.stream().mapToInt(PackedTree::depth).max().orElseThrow();
    }
}

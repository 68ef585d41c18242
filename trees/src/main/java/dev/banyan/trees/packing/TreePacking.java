package dev.banyan.trees.packing;

import dev.banyan.trees.bound.Bound;
import dev.banyan.trees.network.Network;
import java.util.List;
import java.util.Objects;
import org.apache.commons.numbers.fraction.BigFraction;

/**
 * Trees that share the wires of a network, and how close they come to the bound. It carries one collective
 * only: its links are not overloaded by that at the rate that it states.
 *
 * @param network the wires
 * @param trees at least one tree; their shares sum to 1
 * @param rateGbs algbw in GB/s at which they carry the collective, latencies apart, exact
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
        BigFraction sum = trees.stream().map(PackedTree::share).reduce(BigFraction.ZERO, BigFraction::add);
        if (!sum.equals(BigFraction.ONE)) {
            throw new IllegalArgumentException("the shares of " + trees.size() + " trees sum to " + sum + ", not to 1");
        }
    }

    /** Rate over bound; at most 1, and exactly 1 if the packing is optimal. */
    public BigFraction ratio() {
        return rateGbs.divide(bound.gbs());
    }

    /** Greatest number of logical links between a root and a rank. */
    public int depth() {
        return trees.stream().mapToInt(PackedTree::depth).max().orElseThrow();
    }
}

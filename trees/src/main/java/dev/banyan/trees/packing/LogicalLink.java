package dev.banyan.trees.packing;

import java.util.List;
import org.apache.commons.numbers.fraction.BigFraction;

/**
 * The paths of data from one rank to another through forwarders.
 *
 * @param from rank
 * @param to rank
 * @param paths the paths that carry it; their shares sum to 1
 */
public record LogicalLink(int from, int to, List<Path> paths) {
    public LogicalLink {
        paths = List.copyOf(paths);
        if (paths.isEmpty()) {
            throw new IllegalArgumentException("no path from rank " + from + " to rank " + to);
        }
    }

    /**
     * A path.
     *
     * @param nodes node indices of the network, from the one rank to the other, only forwarders between;
     *     two nodes for a direct link
     * @param share share of what goes from the one to the other, above 0, exact
     */
    public record Path(List<Integer> nodes, BigFraction share) {
        public Path {
            nodes = List.copyOf(nodes);
        }
    }
}

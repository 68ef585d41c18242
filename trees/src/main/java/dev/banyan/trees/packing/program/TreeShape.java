package dev.banyan.trees.packing.program;

import dev.banyan.trees.Tree;
import dev.banyan.trees.internal.Rerooting;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * A tree of ranks for an allreduce, without paths. Undirected shapes stand for the tree hung up at its
 * centre, and are equal if their edges are; pairs of arborescences have a root that matters. Immutable.
 */
final class TreeShape {
    private final int[] up;
    private final int[] down;
    private final int depth;

    private TreeShape(int[] up, int[] down, int depth) {
        this.up = up;
        this.down = down;
        this.depth = depth;
    }

    /** An undirected tree. */
    static TreeShape undirected(int[] parents) {
        int[] atCentre = Rerooting.atCentre(parents);
        return new TreeShape(atCentre, atCentre, Rerooting.depth(atCentre));
    }

    /** Two arborescences with the same root: a parent of each rank for the way up, and for the way down. */
    static TreeShape pair(int[] up, int[] down) {
        return new TreeShape(up.clone(), down.clone(), Math.max(Rerooting.depth(up), Rerooting.depth(down)));
    }

    int ranks() {
        return up.length;
    }

    /** Parent of a rank on the way up, -1 for the root. */
    int up(int rank) {
        return up[rank];
    }

    /** Parent of a rank on the way down, -1 for the root. */
    int down(int rank) {
        return down[rank];
    }

    int depth() {
        return depth;
    }

    /** All undirected trees that differ from this undirected one in one edge, whether or not there are paths for it. */
    List<TreeShape> neighbours() {
        List<TreeShape> neighbours = new ArrayList<>();
        for (int cut = 0; cut < up.length; cut++) {
            if (up[cut] < 0) {
                continue;
            }
            for (int below = 0; below < up.length; below++) {
                for (int above = 0; above < up.length && isBelow(below, cut); above++) {
                    if (!isBelow(above, cut) && (below != cut || above != up[cut])) {
                        neighbours.add(undirected(relinked(cut, below, above)));
                    }
                }
            }
        }
        return neighbours;
    }

    private boolean isBelow(int rank, int ancestor) {
        int node = rank;
        while (node >= 0 && node != ancestor) {
            node = up[node];
        }
        return node == ancestor;
    }

    /** Parents once the link above a rank is cut and another joins the part below it, at a rank of it. */
    private int[] relinked(int cut, int below, int above) {
        int[] parents = up.clone();
        parents[cut] = -1;
        int[] turned = Rerooting.at(below, parents);
        turned[below] = above;
        return turned;
    }

    /**
     * Returns the cost of the tree, with the cheapest path for each link; for an undirected one, one way.
     *
     * @return or {@link PricedPaths#NONE} if a link has no path
     */
    long cost(PricedPaths paths) {
        long sum = 0;
        boolean both = !paths.rows().areLinks();
        for (int rank = 0; rank < up.length; rank++) {
            if (up[rank] >= 0) {
                long upwards = paths.cost(rank, up[rank]);
                long downwards = both ? paths.cost(down[rank], rank) : 0;
                if (upwards == PricedPaths.NONE || downwards == PricedPaths.NONE) {
                    return PricedPaths.NONE;
                }
                sum += upwards + downwards;
            }
        }
        return sum;
    }

    Tree upTree() {
        return Tree.ofParents(up);
    }

    Tree downTree() {
        return Tree.ofParents(down);
    }

    boolean sameBothWays() {
        return Arrays.equals(up, down);
    }

    /** A total order: shallow ones first. */
    int compareTo(TreeShape other) {
        int order = Integer.compare(depth, other.depth);
        order = order != 0 ? order : Arrays.compare(up, other.up);
        return order != 0 ? order : Arrays.compare(down, other.down);
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof TreeShape shape && Arrays.equals(up, shape.up) && Arrays.equals(down, shape.down);
    }

    @Override
    public int hashCode() {
        return 31 * Arrays.hashCode(up) + Arrays.hashCode(down);
    }
}

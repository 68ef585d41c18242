package dev.banyan.trees.packing.branching;

import dev.banyan.trees.Tree;
import java.util.List;
import java.util.stream.IntStream;

/**
 * Makes packed out-trees shallower and keeps them within the capacities: a rank moves to another parent over
 * capacity that is left, or two trees exchange the parents of a rank, whenever that lowers the sum of all
 * depths to the fourth power. It ends where no such step is left, or after a fixed number of rounds. Each
 * round takes O(n t^2) looks for t trees over n ranks. Used once, by one thread.
 */
final class Flattening {
    private static final int ROUNDS = 20;

    private final int ranks;
    private final int trees;
    private final long[] counts;
    private final int[][] parents;
    private final int[][] depths;
    private final long[] left;
    private boolean changed;

    private Flattening(LogicalGraph graph, List<Branching> branchings) {
        ranks = graph.ranks();
        trees = branchings.size();
        counts = branchings.stream().mapToLong(Branching::count).toArray();
        parents = new int[trees][ranks];
        depths = new int[trees][ranks];
        left = new long[ranks * ranks];
        for (int pair = 0; pair < left.length; pair++) {
            left[pair] = graph.capacity(pair / ranks, pair % ranks);
        }
        for (int t = 0; t < trees; t++) {
            Tree tree = branchings.get(t).tree();
            for (int rank : tree.topDown()) {
                parents[t][rank] = tree.parent(rank);
                if (rank != tree.root()) {
                    depths[t][rank] = depths[t][tree.parent(rank)] + 1;
                    left[tree.parent(rank) * ranks + rank] -= counts[t];
                }
            }
        }
    }

    /** Trees of the same roots and counts. */
    static List<Branching> of(LogicalGraph graph, List<Branching> branchings) {
        return new Flattening(graph, branchings).run();
    }

    private List<Branching> run() {
        changed = true;
        for (int round = 0; changed && round < ROUNDS; round++) {
            changed = false;
            for (int t = 0; t < trees; t++) {
                for (int rank = 0; rank < ranks; rank++) {
                    if (parents[t][rank] >= 0) {
                        moveUp(t, rank);
                        exchange(t, rank);
                    }
                }
            }
        }
        return IntStream.range(0, trees)
                .mapToObj(t -> new Branching(Tree.ofParents(parents[t]), counts[t]))
                .toList();
    }

    private void moveUp(int tree, int rank) {
        for (int parent = 0; parent < ranks; parent++) {
            if (depths[tree][parent] < depths[tree][rank] - 1 && left[parent * ranks + rank] >= counts[tree]) {
                hang(tree, rank, parent);
                changed = true;
            }
        }
    }

    private void exchange(int tree, int rank) {
        for (int other = tree + 1; other < trees; other++) {
            int mine = parents[tree][rank];
            int theirs = parents[other][rank];
            if (theirs < 0 || theirs == mine) {
                continue;
            }
            long more = counts[tree] - counts[other];
            if (left[theirs * ranks + rank] >= more
                    && left[mine * ranks + rank] >= -more
                    && !isBelow(tree, theirs, rank)
                    && !isBelow(other, mine, rank)
                    && gain(tree, rank, theirs) + gain(other, rank, mine) > 0) {
                hang(tree, rank, theirs);
                hang(other, rank, mine);
                changed = true;
            }
        }
    }

    private boolean isBelow(int tree, int rank, int above) {
        int at = rank;
        while (depths[tree][at] > depths[tree][above]) {
            at = parents[tree][at];
        }
        return at == above;
    }

    /** By how much a new parent lowers the sum of depths to the fourth power. */
    private long gain(int tree, int rank, int parent) {
        int rise = depths[tree][rank] - depths[tree][parent] - 1;
        if (rise == 0) {
            return 0;
        }
        long gain = 0;
        for (int below = 0; below < ranks; below++) {
            if (isBelow(tree, below, rank)) {
                gain += power(depths[tree][below]) - power(depths[tree][below] - rise);
            }
        }
        return gain;
    }

    private static long power(long depth) {
        return depth * depth * depth * depth;
    }

    private void hang(int tree, int rank, int parent) {
        int rise = depths[tree][rank] - depths[tree][parent] - 1;
        boolean[] below = new boolean[ranks];
        for (int at = 0; at < ranks; at++) {
            below[at] = isBelow(tree, at, rank);
        }
        left[parents[tree][rank] * ranks + rank] += counts[tree];
        left[parent * ranks + rank] -= counts[tree];
        parents[tree][rank] = parent;
        for (int at = 0; at < ranks; at++) {
            depths[tree][at] -= below[at] ? rise : 0;
        }
    }
}

package dev.banyan.trees.balanced;

import java.util.Arrays;
import java.util.Comparator;
import java.util.stream.IntStream;

/**
 * The search of {@link Exhaustive}: fills the level arrays from the left. The row of a level holds the
 * sub-roots that may still meet someone; each in turn meets a device that nobody has met, heaviest link
 * first, or stays for good.
 */
final class Backtracking implements TreeBuilder {
    private final LinkUse links;
    private final int n;
    private final int levels;
    private final int[][] rows;
    private final int[][] partners;
    private final boolean[] reached;
    private final int[] candidate;
    private final int[] found;
    private long best;
    private int stepsLeft;

    Backtracking(LinkUse links) {
        this.links = links;
        n = links.size();
        levels = Integer.SIZE - Integer.numberOfLeadingZeros(n - 1);
        rows = new int[levels + 2][n];
        partners = new int[n][];
        reached = new boolean[n];
        candidate = new int[n];
        found = new int[n];
    }

    @Override
    public boolean build(int root, int[] parents) {
        long[] values = links.values();
        for (int v = 0; v < n; v++) {
            int from = v * n;
            partners[v] = IntStream.range(0, n)
                    .filter(u -> values[from + u] > 0)
                    .boxed()
                    .sorted(Comparator.comparingLong(u -> -values[from + u]))
                    .mapToInt(Integer::intValue)
                    .toArray();
        }
        Arrays.fill(reached, false);
        best = LinkUse.NONE;
        stepsLeft = Exhaustive.MAX_STEPS;
        reached[root] = true;
        rows[1][0] = root;
        candidate[root] = -1;
        meet(1, 0, 1, 0, n - 1, 0);
        System.arraycopy(found, 0, parents, 0, n);
        return best >= 0;
    }

    /**
     * Tries all ways to go on.
     *
     * @param level level of the row, from 1
     * @param at position of the sub-root whose turn it is
     * @param length length of the row
     * @param next length of the next row so far
     * @param left devices that nobody has met
     * @param value value of the links so far
     * @return whether the search is over
     */
    private boolean meet(int level, int at, int length, int next, int left, long value) {
        if (left == 0) {
            if (value > best) {
                best = value;
                System.arraycopy(candidate, 0, found, 0, n);
            }
            return n > Exhaustive.MAX_OPTIMAL_DEVICES;
        }
        int below = levels - level;
        if (next * ((1L << below) - 1) + (length - at) * ((2L << below) - 1) < left) {
            return false;
        }
        if (at == length) {
            return meet(level + 1, 0, next, 0, left, value);
        }
        if (n > Exhaustive.MAX_OPTIMAL_DEVICES && stepsLeft-- == 0) {
            return true;
        }
        int device = rows[level][at];
        int[] nextRow = rows[level + 1];
        for (int partner : partners[device]) {
            if (!reached[partner]) {
                reached[partner] = true;
                candidate[partner] = device;
                nextRow[next] = device;
                nextRow[next + 1] = partner;
                if (meet(level, at + 1, length, next + 2, left - 1, value + links.values()[device * n + partner])) {
                    return true;
                }
                reached[partner] = false;
            }
        }
        return meet(level, at + 1, length, next, left, value);
    }
}

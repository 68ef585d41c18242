package dev.banyan.trees.balanced;

import java.util.Arrays;
import java.util.concurrent.atomic.AtomicReferenceArray;

/**
 * The subsets of n devices that can be parts of a balanced binary tree, and the ways to split each. Devices are bits of
 * a mask; level L = ceil(log2 n) is the whole tree, level 0 the single devices, and a part at level k has at most 2^k
 * devices. Depends on n alone; immutable and shared.
 */
final class SubsetPlan {
    /** Greatest number of devices: 2^n masks per level are indexed. */
    static final int MAX_DEVICES = 16;

    private static final AtomicReferenceArray<SubsetPlan> PLANS = new AtomicReferenceArray<>(MAX_DEVICES + 1);

    private final int levels;
    private final int[][] sets;
    private final int[][] rows;
    private final int[][][] splits;

    private SubsetPlan(int n) {
        levels = Integer.SIZE - Integer.numberOfLeadingZeros(n - 1);
        sets = new int[levels + 1][];
        rows = new int[levels + 1][1 << n];
        splits = new int[levels + 1][n + 1][];
        int least = n;
        int most = n;
        for (int level = levels; level >= 0; level--) {
            int half = 1 << level >> 1;
            sets[level] = masks(n, least, most);
            for (int row = 0; row < sets[level].length; row++) {
                rows[level][sets[level][row]] = row;
            }
            for (int size = least; size <= most; size++) {
                splits[level][size] = masks(size, Math.max(1, size - half), Math.min(size - 1, half));
            }
            least = Math.max(1, least - half);
            most = Math.max(1, Math.min(most - 1, half));
        }
    }

    private static int[] masks(int bits, int least, int most) {
        int[] found = new int[1 << bits];
        int count = 0;
        for (int mask = 1; mask < 1 << bits; mask++) {
            int size = Integer.bitCount(mask);
            if (size >= least && size <= most) {
                found[count++] = mask;
            }
        }
        return Arrays.copyOf(found, count);
    }

    /** The plan for n devices, 2..16. */
    static SubsetPlan of(int n) {
        SubsetPlan plan = PLANS.get(n);
        if (plan == null) {
            // Two threads may both make it; they are equal.
            plan = new SubsetPlan(n);
            PLANS.set(n, plan);
        }
        return plan;
    }

    /** Level of the whole tree. */
    int levels() {
        return levels;
    }

    /** The subsets that occur at a level, as masks in ascending order; not to be changed. */
    int[] sets(int level) {
        return sets[level];
    }

    /** Position in {@link #sets} by mask; only for masks that occur there. Not to be changed. */
    int[] rows(int level) {
        return rows[level];
    }

    /**
     * Returns the ways to split a subset at a level: masks over its {@code size} devices in ascending order, each the
     * part that keeps the root; both parts fit the level below. Empty for a single device. Not to be changed.
     */
    int[] splits(int level, int size) {
        return splits[level][size];
    }
}

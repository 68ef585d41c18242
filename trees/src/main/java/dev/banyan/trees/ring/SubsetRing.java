package dev.banyan.trees.ring;

import dev.banyan.topology.LinkMatrix;
import java.util.Arrays;

/**
 * The optimal ring: bisection finds the greatest bandwidth at which there is a ring, {@link CheapestRing} the best of
 * these. The last device is where rings start.
 */
final class SubsetRing {
    private final int n;
    private final int start;

    /** @param n number of devices, 4..16 */
    SubsetRing(int n) {
        this.n = n;
        start = n - 1;
    }

    int[] best(LinkMatrix matrix, double[] gbs) {
        double[] steps = RingFinder.distinct(gbs);
        int low = 0;
        int high = steps.length - 1;
        // The answer is in low..high; where there is no ring at all, it ends at the slowest links.
        while (low < high) {
            int middle = (low + high + 1) >>> 1;
            if (ringExists(gbs, steps[middle])) {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        long[] values = RingFinder.values(matrix, gbs, steps.length == 0 ? Double.POSITIVE_INFINITY : steps[low]);
        // Sums of values are below 2^53, so they are exact as doubles too.
        return new CheapestRing(n).at(Arrays.stream(values).mapToDouble(v -> -v).toArray());
    }

    private boolean ringExists(double[] gbs, double least) {
        int[] neighbours = new int[n];
        for (int a = 0; a < n; a++) {
            for (int b = 0; b < n; b++) {
                if (gbs[a * n + b] >= least) {
                    neighbours[a] |= 1 << b;
                }
            }
        }
        // By subset: the devices at which a path from the start over exactly this subset may end.
        int[] ends = new int[1 << start];
        for (int set = 1; set < ends.length; set++) {
            for (int rest = set; rest != 0; rest &= rest - 1) {
                int last = rest & -rest;
                int before = set == last ? 1 << start : ends[set ^ last];
                if ((before & neighbours[Integer.numberOfTrailingZeros(last)]) != 0) {
                    ends[set] |= last;
                }
            }
        }
        return (ends[ends.length - 1] & neighbours[start]) != 0;
    }
}

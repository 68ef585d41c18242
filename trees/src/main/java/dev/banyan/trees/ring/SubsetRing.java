package dev.banyan.trees.ring;

import dev.banyan.topology.LinkMatrix;
import java.util.Arrays;

/** The optimal ring by Held and Karp's dynamic programme. The last device is where rings start. */
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
        return heaviest(RingFinder.values(matrix, gbs, steps.length == 0 ? Double.POSITIVE_INFINITY : steps[low]));
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

    private int[] heaviest(long[] values) {
        int sets = 1 << start;
        long[] best = new long[sets * start];
        Arrays.fill(best, -1);
        for (int set = 1; set < sets; set++) {
            for (int rest = set; rest != 0; rest &= rest - 1) {
                int last = Integer.numberOfTrailingZeros(rest);
                int before = set ^ 1 << last;
                long value = before == 0 ? values[start * n + last] : -1;
                for (int ends = before; ends != 0; ends &= ends - 1) {
                    int end = Integer.numberOfTrailingZeros(ends);
                    value = Math.max(value, best[before * start + end] + values[end * n + last]);
                }
                best[set * start + last] = value;
            }
        }
        int[] path = new int[n];
        path[0] = start;
        int set = sets - 1;
        int next = start;
        for (int at = n - 1; at > 0; at--) {
            int last = -1;
            long value = -1;
            for (int rest = set; rest != 0; rest &= rest - 1) {
                int end = Integer.numberOfTrailingZeros(rest);
                if (best[set * start + end] + values[end * n + next] > value) {
                    value = best[set * start + end] + values[end * n + next];
                    last = end;
                }
            }
            path[at] = last;
            set ^= 1 << last;
            next = last;
        }
        return Rings.fromZero(path);
    }
}

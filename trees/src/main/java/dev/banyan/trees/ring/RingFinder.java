package dev.banyan.trees.ring;

import dev.banyan.topology.LinkMatrix;
import java.util.Arrays;

/**
 * Finds the order in which a ring should visit the devices: the Hamiltonian cycle over the links whose
 * slowest link is fastest, and among those the one of greatest total bandwidth. Where there is no such
 * cycle, an order with as few pairs without a link as possible (those go over PCIe if they can, else
 * through the host), and then of greatest total bandwidth.
 *
 * <p>Up to {@value #MAX_EXACT_DEVICES} devices it is optimal, by dynamic programming over (subset, last
 * device), O(2^n n^2) time and O(2^n n) memory: M. Held and R. M. Karp, "A Dynamic Programming Approach to
 * Sequencing Problems", J. SIAM 10(1), 1962, doi:10.1137/0110015; the slowest link by bisection over its
 * bandwidth. Above, the nearest neighbour from up to 32 devices, improved by exchanges of two links (G. A.
 * Croes, "A Method for Solving Traveling-Salesman Problems", Operations Research 6(6), 1958,
 * doi:10.1287/opre.6.6.791), once per bandwidth that occurs.
 *
 * <p>Deterministic. Where a matrix has no bandwidths, its weights stand for them.
 */
public final class RingFinder {
    /** Greatest number of devices for which the ring is optimal. */
    public static final int MAX_EXACT_DEVICES = 16;

    private RingFinder() {}

    /**
     * The best ring found.
     *
     * @param matrix links between at least one device
     * @return all devices, each linked to the next and the last to the first; begins with 0, and its second
     *     device is less than its last
     * @throws IllegalArgumentException if there is no device
     */
    public static int[] order(LinkMatrix matrix) {
        int n = matrix.size();
        if (n == 0) {
            throw new IllegalArgumentException("no device to lay a ring over");
        }
        if (n <= 3) {
            int[] order = new int[n];
            Arrays.setAll(order, v -> v);
            return order;
        }
        double[] gbs = matrix.pairBandwidths();
        int[] order =
                n <= MAX_EXACT_DEVICES ? new SubsetRing(n).best(matrix, gbs) : new ExchangedRing(n).best(matrix, gbs);
        return canonical(order);
    }

    /** The ring from device 0 on, in that of its directions whose second device is less than its last. */
    static int[] canonical(int[] ring) {
        int n = ring.length;
        int zero = 0;
        while (ring[zero] != 0) {
            zero++;
        }
        int step = ring[(zero + 1) % n] < ring[(zero + n - 1) % n] ? 1 : n - 1;
        int[] turned = new int[n];
        for (int i = 0; i < n; i++) {
            turned[i] = ring[(zero + i * step) % n];
        }
        return turned;
    }

    /** The bandwidths that occur, in ascending order. */
    static double[] distinct(double[] gbs) {
        return Arrays.stream(gbs).filter(b -> b > 0).distinct().sorted().toArray();
    }

    /**
     * Returns the values of pairs in a ring: one with a link of at least the given bandwidth more than any number
     * without, PCIe more than nothing, and then by bandwidth.
     */
    static long[] values(LinkMatrix matrix, double[] gbs, double least) {
        int n = matrix.size();
        double greatest = Math.max(Double.MIN_NORMAL, Arrays.stream(gbs).max().orElse(0));
        long[] values = new long[n * n];
        for (int pair = 0; pair < values.length; pair++) {
            if (gbs[pair] >= least) {
                values[pair] = (1L << 44) + Math.round(gbs[pair] / greatest * (1 << 20));
            } else if (gbs[pair] > 0 || matrix.classOf(pair / n, pair % n) != LinkMatrix.NONE) {
                values[pair] = (1L << 32) + Math.round(gbs[pair] / greatest * (1 << 20));
            }
        }
        return values;
    }
}

package dev.banyan.trees.balanced;

import dev.banyan.topology.LinkMatrix;
import java.util.Arrays;

/**
 * The links of a matrix while trees are laid over them one after another: their penalised weights and
 * how often each is used.
 *
 * <p>What a link is worth to the next tree is one {@code long} of two parts: its penalised weight, and its
 * load, which is what one more tree would add to the sum over all links of uses^2 per GB/s. That sum is
 * convex, so links are loaded evenly. The weight comes first, unless {@link #putLoadFirst} says otherwise;
 * what comes second only decides between sums that are equal in the first. Values add up without rounding:
 * trees of equal weight are equal, and sums do not depend on their order.
 *
 * <p>Not safe for use from several threads.
 */
final class LinkUse {
    /**
     * Value where there is no link. Sums of it and one value of a tree, or of it twice, are negative and
     * do not overflow.
     */
    static final long NONE = -(1L << 61);

    /** The first part of a value is above this bit, the second below. The values of a tree sum to less than 2^60. */
    private static final int FIRST_SHIFT = 30;

    private final int size;
    private final double[] weights;
    private final double[] perGbs;
    private final int[] uses;
    /** Uses per GB/s, rounded, so that 2 trees on 25 GB/s are as much as 4 on 50. */
    private final float[] loads;

    private final long[] values;
    /** By uses: the penalty to that power. */
    private final double[] factors;
    /** Greatest first or second part of a value. */
    private final long units;

    private final double weightUnits;
    private final double loadUnits;
    private boolean loadFirst;

    /**
     * @param matrix links that connect at least one device
     * @param penalty factor on a link's weight for each tree that uses it, above 0 and at most 1
     * @param trees how many trees will be laid
     * @throws IllegalArgumentException if there is no device, or two devices without a path
     */
    LinkUse(LinkMatrix matrix, double penalty, int trees) {
        requireConnected(matrix);
        size = matrix.size();
        int pairs = size * size;
        weights = new double[pairs];
        perGbs = new double[pairs];
        uses = new int[pairs];
        loads = new float[pairs];
        values = new long[pairs];
        Arrays.fill(values, NONE);
        double[] bandwidths = matrix.pairBandwidths();
        double heaviest = 0;
        double slowest = 0;
        for (int pair = 0; pair < pairs; pair++) {
            weights[pair] = matrix.weight(pair / size, pair % size);
            if (weights[pair] > 0) {
                perGbs[pair] = 1 / bandwidths[pair];
                heaviest = Math.max(heaviest, weights[pair]);
                slowest = Math.max(slowest, perGbs[pair]);
            }
        }
        factors = new double[trees + 1];
        factors[0] = 1;
        for (int k = 1; k < factors.length; k++) {
            factors[k] = factors[k - 1] * penalty;
        }
        units = 1L << (FIRST_SHIFT - (Integer.SIZE - Integer.numberOfLeadingZeros(size - 1)));
        weightUnits = units / heaviest;
        loadUnits = units / (slowest * (2.0 * trees + 1));
        revalueAll();
    }

    private static void requireConnected(LinkMatrix matrix) {
        if (matrix.size() == 0) {
            throw new IllegalArgumentException("no device to build a tree over");
        }
        matrix.unreachable().ifPresent(device -> {
            throw new IllegalArgumentException("no path of links between devices 0 and " + device
                    + "; leave one of them out, or give the pair a link (PCIe is class 1)");
        });
    }

    private void revalueAll() {
        for (int pair = 0; pair < values.length; pair++) {
            if (weights[pair] > 0) {
                values[pair] = value(pair);
            }
        }
    }

    private long value(int pair) {
        // Rounded; at least 1, for a link stays a link however often it was penalised.
        long weight = Math.max(1, (long) (weights[pair] * factors[uses[pair]] * weightUnits + 0.5));
        long load = Math.max(1, (long) ((2 * uses[pair] + 1) * perGbs[pair] * loadUnits + 0.5));
        return loadFirst ? (Math.max(1, units - load) << FIRST_SHIFT) + weight : (weight << FIRST_SHIFT) - load;
    }

    /** From now on values order links by load first and by weight second. */
    void putLoadFirst() {
        loadFirst = true;
        revalueAll();
    }

    /** From now on values order links by weight first and by load second, as in the beginning. */
    void putWeightFirst() {
        loadFirst = false;
        revalueAll();
    }

    /** Number of devices n. */
    int size() {
        return size;
    }

    /** n x n values, row after row, positive or {@link #NONE}; not to be changed, and new after each tree. */
    long[] values() {
        return values;
    }

    /** Lays a tree over the links: they are penalised for the next one. */
    void use(int[] parents) {
        count(parents, 1);
    }

    /** Takes a tree away again. */
    void release(int[] parents) {
        count(parents, -1);
    }

    private void count(int[] parents, int by) {
        for (int device = 0; device < size; device++) {
            int parent = parents[device];
            if (parent >= 0) {
                int down = parent * size + device;
                int up = device * size + parent;
                uses[down] += by;
                uses[up] += by;
                loads[down] = (float) (uses[down] * perGbs[down]);
                loads[up] = loads[down];
                // Weights and loads are those of the pair.
                values[down] = value(down);
                values[up] = values[down];
            }
        }
    }

    /** Greatest number of trees per GB/s on a link. */
    float busiestLoad() {
        float busiest = 0;
        for (float load : loads) {
            busiest = Math.max(busiest, load);
        }
        return busiest;
    }

    /** Number of links, each counted both ways, that bear at least a load. */
    int linksLoaded(float least) {
        int count = 0;
        for (float load : loads) {
            if (load >= least) {
                count++;
            }
        }
        return count;
    }

    /** Whether a tree uses a link that bears at least a load. */
    boolean usesLoaded(int[] parents, float least) {
        for (int device = 0; device < size; device++) {
            if (parents[device] >= 0 && loads[parents[device] * size + device] >= least) {
                return true;
            }
        }
        return false;
    }

    /** Weight of a tree before any penalty, in whole units, so that trees of equal weight are equal. */
    long weight(int[] parents) {
        long sum = 0;
        for (int device = 0; device < size; device++) {
            if (parents[device] >= 0) {
                sum += Math.round(weights[parents[device] * size + device] * weightUnits);
            }
        }
        return sum;
    }
}

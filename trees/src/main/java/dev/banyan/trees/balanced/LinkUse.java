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
    /**
     * Pairs (a, b) of devices with a link, as {@code a * size + b}: by link, a < b, and then the same turned around.
     */
    private final int[] pairs;
    /** By pair, both ways: the index of its link. */
    private final int[] linkOf;

    private final double[] weights;
    private final double[] perGbs;
    /** Weights before any penalty, in whole units. */
    private final long[] wholeWeights;

    private final int[] uses;
    /** Uses per GB/s, rounded, so that 2 trees on 25 GB/s are as much as 4 on 50. */
    private final float[] loads;
    /** By link: its penalised weight and its load as parts of values. */
    private final long[] weightParts;

    private final long[] loadParts;

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
        int[] joined = new int[size * size];
        int ends = 0;
        for (int a = 0; a < size; a++) {
            for (int b = a + 1; b < size; b++) {
                if (matrix.weight(a, b) > 0) {
                    joined[ends++] = a * size + b;
                    joined[ends++] = b * size + a;
                }
            }
        }
        pairs = Arrays.copyOf(joined, ends);
        int count = ends / 2;
        linkOf = new int[size * size];
        weights = new double[count];
        perGbs = new double[count];
        wholeWeights = new long[count];
        uses = new int[count];
        loads = new float[count];
        weightParts = new long[count];
        loadParts = new long[count];
        values = new long[size * size];
        Arrays.fill(values, NONE);
        double[] bandwidths = matrix.pairBandwidths();
        double heaviest = 0;
        double slowest = 0;
        for (int link = 0; link < count; link++) {
            int pair = pairs[2 * link];
            linkOf[pair] = link;
            linkOf[pairs[2 * link + 1]] = link;
            weights[link] = matrix.weight(pair / size, pair % size);
            perGbs[link] = 1 / bandwidths[pair];
            heaviest = Math.max(heaviest, weights[link]);
            slowest = Math.max(slowest, perGbs[link]);
        }
        factors = new double[trees + 1];
        factors[0] = 1;
        for (int k = 1; k < factors.length; k++) {
            factors[k] = factors[k - 1] * penalty;
        }
        units = 1L << (FIRST_SHIFT - (Integer.SIZE - Integer.numberOfLeadingZeros(size - 1)));
        weightUnits = units / heaviest;
        loadUnits = units / (slowest * (2.0 * trees + 1));
        for (int link = 0; link < count; link++) {
            wholeWeights[link] = Math.round(weights[link] * weightUnits);
            setParts(link);
        }
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
        for (int link = 0; link < uses.length; link++) {
            long value = value(link);
            values[pairs[2 * link]] = value;
            values[pairs[2 * link + 1]] = value;
        }
    }

    private void setParts(int link) {
        // Rounded; at least 1, for a link stays a link however often it was penalised.
        weightParts[link] = Math.max(1, (long) (weights[link] * factors[uses[link]] * weightUnits + 0.5));
        loadParts[link] = Math.max(1, (long) ((2 * uses[link] + 1) * perGbs[link] * loadUnits + 0.5));
    }

    private long value(int link) {
        return loadFirst
                ? (Math.max(1, units - loadParts[link]) << FIRST_SHIFT) + weightParts[link]
                : (weightParts[link] << FIRST_SHIFT) - loadParts[link];
    }

    /** From now on values order links by load first and by weight second. */
    void putLoadFirst() {
        loadFirst = true;
        revalueAll();
    }

    /** Takes all trees away. From now on values order links by weight first and by load second, as in the beginning. */
    void clear() {
        loadFirst = false;
        Arrays.fill(uses, 0);
        Arrays.fill(loads, 0);
        for (int link = 0; link < uses.length; link++) {
            setParts(link);
        }
        revalueAll();
    }

    /** Number of devices n. */
    int size() {
        return size;
    }

    /** Pairs (a, b) of devices with a link, each as {@code a * size + b}, and in both orders; not to be changed. */
    int[] pairs() {
        return pairs;
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
                int pair = parent * size + device;
                int link = linkOf[pair];
                uses[link] += by;
                loads[link] = (float) (uses[link] * perGbs[link]);
                setParts(link);
                values[pair] = value(link);
                values[device * size + parent] = values[pair];
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

    /** Number of links that bear at least a load. */
    int linksLoaded(float least) {
        int count = 0;
        for (float load : loads) {
            if (load >= least) {
                count++;
            }
        }
        return count;
    }

    /** Returns whether a tree uses a link that bears at least a load. */
    boolean usesLoaded(int[] parents, float least) {
        for (int device = 0; device < size; device++) {
            if (parents[device] >= 0 && loads[linkOf[parents[device] * size + device]] >= least) {
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
                sum += wholeWeights[linkOf[parents[device] * size + device]];
            }
        }
        return sum;
    }
}

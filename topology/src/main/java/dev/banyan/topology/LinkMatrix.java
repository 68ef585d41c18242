package dev.banyan.topology;

import java.util.Arrays;
import java.util.List;
import java.util.OptionalInt;
import java.util.stream.IntStream;

/**
 * The connection of each pair of devices, as tree generators see it.
 *
 * <p>The classes of a pair are 0 (none), 1 (PCIe), 2 (one NVLink) and 3 (two NVLinks or more, or an
 * NVSwitch of at least two lanes per device). The weights follow from them by one rule: if the
 * devices are connected by NVLink alone (classes above 1), PCIe pairs weigh 0; else they weigh 1/n.
 * The rule is that of MXNet's tree KVStore ("Single machine All Reduce Topology-aware Communication",
 * Apache MXNet wiki).
 *
 * <p>Immutable and safe for use from any thread.
 */
public final class LinkMatrix {
    /** Class of a pair that has no connection. */
    public static final int NONE = 0;
    /** Class of a pair that is connected over PCIe (or through the host). */
    public static final int PCIE = 1;
    /** Class of a pair with one NVLink. */
    public static final int NVLINK = 2;
    /** Class of a pair with two NVLinks or more. */
    public static final int NVLINKS = 3;

    /**
     * Bandwidth in GB/s, one way, that is assumed for a pair that is staged through the host: half of
     * what a PCIe 3.0 x16 slot gives, as the data crosses it in and out of host memory.
     */
    public static final double HOST_STAGED_GBS = 6;

    private final int size;
    private final List<String> warnings;
    private final int[] classes;
    private final double[] weights;
    private final double[] gbs;
    private final boolean nvlinkConnected;

    /**
     * Derives the weights from classes.
     *
     * @param classes n x n classes 0..3, symmetric, 0 on the diagonal
     * @param gbs n x n one-way bandwidths in GB/s, row to column; those of pairs without weight are
     *     taken as 0
     * @throws IllegalArgumentException if the shapes differ, a class is out of range, the classes are not
     *     symmetric, or a bandwidth is negative or no number
     */
    public LinkMatrix(int[][] classes, double[][] gbs) {
        this(classes, gbs, List.of());
    }

    private LinkMatrix(int[][] classes, double[][] gbs, List<String> warnings) {
        this.warnings = warnings;
        size = classes.length;
        this.classes = new int[size * size];
        weights = new double[size * size];
        this.gbs = new double[size * size];
        if (gbs.length != size) {
            throw new IllegalArgumentException(size + " rows of classes but " + gbs.length + " of bandwidths");
        }
        for (int a = 0; a < size; a++) {
            if (classes[a].length != size || gbs[a].length != size) {
                throw new IllegalArgumentException("row " + a + " has not " + size + " columns");
            }
            for (int b = 0; b < size; b++) {
                int c = classes[a][b];
                if (c < NONE || c > NVLINKS || (a == b && c != NONE) || c != classes[b][a]) {
                    throw new IllegalArgumentException("class " + c + " of pair " + a + "," + b
                            + " must be 0..3, symmetric, and 0 on the diagonal");
                }
                this.classes[a * size + b] = c;
            }
        }
        nvlinkConnected = size > 0 && unreachedAbove(PCIE).isEmpty();
        for (int i = 0; i < weights.length; i++) {
            int c = this.classes[i];
            if (c > PCIE) {
                weights[i] = c;
            } else if (c == PCIE && !nvlinkConnected) {
                weights[i] = 1.0 / size;
            }
            double bandwidth = gbs[i / size][i % size];
            if (!(bandwidth >= 0)) {
                throw new IllegalArgumentException("bandwidth " + bandwidth + " of pair " + i / size + "," + i % size
                        + " must be at least 0 GB/s");
            }
            this.gbs[i] = weights[i] > 0 ? bandwidth : 0;
        }
    }

    /**
     * The matrix of a machine: classes and bandwidths of its {@link Routes}. Where neither NVLink nor
     * NVLink with PCIe connects the devices, pairs without any connection count as PCIe too, staged
     * through the host at {@link #HOST_STAGED_GBS}, with a warning; so there is always a plan.
     */
    public static LinkMatrix of(Machine machine) {
        int n = machine.size();
        Routes routes = Routes.of(machine);
        int[][] classes = new int[n][n];
        double[][] gbs = new double[n][n];
        for (int a = 0; a < n; a++) {
            for (int b = 0; b < n; b++) {
                Connection connection = routes.between(a, b);
                classes[a][b] = connection.linkClass();
                gbs[a][b] = connection.gbs();
            }
        }
        LinkMatrix matrix = new LinkMatrix(classes, gbs);
        if (matrix.unreachable().isEmpty()) {
            return matrix;
        }
        int staged = 0;
        for (int a = 0; a < n; a++) {
            for (int b = 0; b < n; b++) {
                if (a != b && classes[a][b] == NONE) {
                    classes[a][b] = PCIE;
                    gbs[a][b] = HOST_STAGED_GBS;
                    staged++;
                }
            }
        }
        return new LinkMatrix(
                classes,
                gbs,
                List.of(staged / 2 + " of " + n * (n - 1) / 2 + " pairs of devices of "
                        + machine.name()
                        + " have no connection in its description: they are taken as staged through the host"
                        + " at " + HOST_STAGED_GBS + " GB/s"));
    }

    /** Returns the lowest device that no path of pairs with classes above the bound connects to device 0. */
    private OptionalInt unreachedAbove(int bound) {
        boolean[] reached = new boolean[size];
        int[] queue = new int[size];
        int tail = Math.min(1, size);
        Arrays.fill(reached, 0, tail, true);
        for (int head = 0; head < tail; head++) {
            int a = queue[head];
            for (int b = 0; b < size; b++) {
                if (!reached[b] && classes[a * size + b] > bound) {
                    reached[b] = true;
                    queue[tail++] = b;
                }
            }
        }
        return IntStream.range(0, size).filter(device -> !reached[device]).findFirst();
    }

    /** Returns the lowest device that no path of pairs with weight connects to device 0, if there is one. O(n^2). */
    public OptionalInt unreachable() {
        return unreachedAbove(NONE); // the rule takes weights only from pairs that NVLink joins anyway
    }

    /** Number of devices n. */
    public int size() {
        return size;
    }

    /** Weight of a pair: 0 where trees may not use it. */
    public double weight(int a, int b) {
        return weights[index(a, b)];
    }

    /** Class 0..3 of a pair, before the rule. */
    public int classOf(int a, int b) {
        return classes[index(a, b)];
    }

    /** One-way bandwidth from a to b in GB/s; 0 where the weight is 0. */
    public double gbs(int a, int b) {
        return gbs[index(a, b)];
    }

    /**
     * Bandwidth of each pair in GB/s, the lesser of its directions, 0 where the weight is 0; row after row in a new
     * array. Where some pair with weight has no bandwidth, the weights stand for all bandwidths.
     */
    public double[] pairBandwidths() {
        double[] lesser = new double[size * size];
        boolean known = true;
        for (int pair = 0; pair < lesser.length; pair++) {
            lesser[pair] = Math.min(gbs[pair], gbs[pair % size * size + pair / size]);
            known &= weights[pair] <= 0 || lesser[pair] > 0;
        }
        return known ? lesser : weights.clone();
    }

    /** Returns whether NVLinks alone connect all devices. False for a machine of no device. */
    public boolean nvlinkConnected() {
        return nvlinkConnected;
    }

    /** Returns the assumptions about the machine beyond its description, one sentence each. */
    public List<String> warnings() {
        return warnings;
    }

    private int index(int a, int b) {
        if (a < 0 || b < 0 || a >= size || b >= size) {
            throw new IndexOutOfBoundsException("pair " + a + "," + b + " of " + size + " devices");
        }
        return a * size + b;
    }
}

package dev.banyan.topology;

import java.util.Arrays;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Checks the link classes that a driver ranks against the peer access that it grants.
 *
 * <p>CUDA 9.2 on p3.16xlarge ranks pairs with two NVLinks as PCIe, while peer access is granted to
 * exactly the pairs that have NVLink. Access to a PCIe pair alone proves nothing: boxes without NVLink
 * grant it between devices under one host bridge, and boxes with switches grant it to every pair. It is
 * taken as a contradiction when some pair is ranked as NVLink, so that the machine has it; access is not
 * granted to all pairs, so that it tells pairs apart; and a pair ranked as PCIe or worse has it. Then peer access
 * decides: class 2 for pairs that have it, 1 for all others.
 *
 * <p>A machine that mixes NVLink bridges with PCIe peer access inside each socket looks the same; there
 * the result overrates PCIe pairs, which the warning says how to undo.
 */
public final class PeerAccess {
    private final int[][] classes;
    private final @Nullable String warning;

    private PeerAccess(int[][] classes, @Nullable String warning) {
        this.classes = classes;
        this.warning = warning;
    }

    /**
     * Reconciles classes with peer access.
     *
     * @param classes n x n classes 0..3, symmetric
     * @param access n x n; whether the row's device may access the column's memory. A pair has access
     *     when both directions do; the diagonal is ignored
     * @throws IllegalArgumentException if the shapes differ
     */
    public static PeerAccess reconcile(int[][] classes, boolean[][] access) {
        Objects.requireNonNull(classes, "classes");
        int n = classes.length;
        if (access.length != n) {
            throw new IllegalArgumentException(n + " rows of classes but " + access.length + " of peer access");
        }
        for (int a = 0; a < n; a++) {
            if (access[a].length != n || classes[a].length != n) {
                throw new IllegalArgumentException("row " + a + " has not " + n + " columns");
            }
        }
        int granted = 0;
        int misread = 0;
        boolean nvlink = false;
        for (int a = 0; a < n; a++) {
            for (int b = 0; b < a; b++) {
                boolean yes = access[a][b] && access[b][a];
                nvlink |= classes[a][b] > LinkMatrix.PCIE;
                granted += yes ? 1 : 0;
                misread += yes && classes[a][b] <= LinkMatrix.PCIE ? 1 : 0;
            }
        }
        int pairs = n * (n - 1) / 2;
        if (!nvlink || misread == 0 || granted == pairs) {
            return new PeerAccess(copyOf(classes), null);
        }
        int[][] result = new int[n][n];
        for (int a = 0; a < n; a++) {
            for (int b = 0; b < n; b++) {
                if (a != b) {
                    result[a][b] = access[a][b] && access[b][a] ? LinkMatrix.NVLINK : LinkMatrix.PCIE;
                }
            }
        }
        return new PeerAccess(
                result,
                misread + (misread == 1 ? " pair has" : " pairs have")
                        + " peer access but the ranks call them PCIe (CUDA 9.2 does so to double NVLinks): the ranks"
                        + " are ignored, pairs with access count as one NVLink and the others as PCIe; leave out the"
                        + " peer access matrix to keep the ranks");
    }

    /** The n x n classes to use: those given where there is no contradiction. */
    public int[][] classes() {
        return copyOf(classes);
    }

    /** What contradicted what, one sentence; empty where nothing did. */
    public Optional<String> warning() {
        return Optional.ofNullable(warning);
    }

    private static int[][] copyOf(int[][] matrix) {
        return Arrays.stream(matrix).map(int[]::clone).toArray(int[][]::new);
    }
}

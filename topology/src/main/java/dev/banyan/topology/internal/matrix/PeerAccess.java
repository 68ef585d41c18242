package dev.banyan.topology.internal.matrix;

import dev.banyan.topology.LinkMatrix;
import java.util.List;

/**
 * Checks the link classes that a driver ranks against the peer access that it grants. A pair has access if both
 * directions do; the diagonal is ignored.
 *
 * <p>CUDA 9.2 on p3.16xlarge ranks pairs with two NVLinks as PCIe, while peer access is granted to
 * exactly the pairs that have NVLink. Access to a PCIe pair alone proves nothing: boxes without NVLink
 * grant it between devices under one host bridge, and boxes with switches grant it to every pair. It is
 * taken as a contradiction if some pair is ranked as NVLink, so that the machine has it; if access is not
 * granted to all pairs, so that it distinguishes pairs; and if a pair ranked as PCIe or worse has it. Then peer
 * access decides: class 2 for pairs that have it, 1 for all others.
 *
 * <p>A machine that mixes NVLink bridges with PCIe peer access inside each socket looks the same; there
 * the result overrates PCIe pairs, and the warning says how to undo that.
 */
final class PeerAccess {
    private PeerAccess() {}

    /** The n x n classes that follow from peer access alone: one NVLink where a pair has access, else PCIe. */
    static int[][] classes(boolean[][] access) {
        int n = access.length;
        int[][] classes = new int[n][n];
        for (int a = 0; a < n; a++) {
            for (int b = 0; b < n; b++) {
                if (a != b) {
                    classes[a][b] = access[a][b] && access[b][a] ? LinkMatrix.NVLINK : LinkMatrix.PCIE;
                }
            }
        }
        return classes;
    }

    /**
     * The n x n classes to use: those given, unless peer access contradicts them.
     *
     * @param classes n x n classes 0..3, symmetric
     * @param access n x n; whether the row's device may access the column's memory
     * @param warnings receives one sentence if there is a contradiction
     */
    static int[][] reconcile(int[][] classes, boolean[][] access, List<String> warnings) {
        int n = classes.length;
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
        if (!nvlink || misread == 0 || granted == n * (n - 1) / 2) {
            return classes;
        }
        warnings.add(misread + (misread == 1 ? " pair has" : " pairs have")
                + " peer access but the ranks call them PCIe (CUDA 9.2 does so to double NVLinks): the ranks are"
                + " ignored, pairs with access count as one NVLink and the others as PCIe; leave out the peer access"
                + " matrix to keep the ranks");
        return classes(access);
    }
}

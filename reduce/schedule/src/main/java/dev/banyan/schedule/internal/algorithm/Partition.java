package dev.banyan.schedule.internal.algorithm;

import dev.banyan.trees.packing.PackedTree;
import java.util.Arrays;
import java.util.List;

/**
 * Cuts a range of elements into slices by share and slices into chunks. If there is enough data, inner edges lie on
 * multiples of 64 bytes from the range's start, so that vector loops stay aligned and no two threads write one cache
 * line.
 */
final class Partition {
    /** Edges lie on multiples of this number of bytes. */
    static final int ALIGNMENT = 64;

    private Partition() {}

    /** Returns the number of elements of which an edge should be a multiple. */
    static int unit(int elementBytes) {
        return ALIGNMENT % elementBytes == 0 ? ALIGNMENT / elementBytes : 1;
    }

    /**
     * Returns the edges of slices, one slice per tree. It rounds the running sum of shares: every slice is within one
     * unit of its share, and the sum is exact whatever the shares' rounding errors.
     *
     * @return trees + 1 ascending edges from 0 to count; slices may be empty
     */
    static long[] slices(long count, int elementBytes, List<PackedTree> trees) {
        int unit = unit(elementBytes);
        if (count / unit < trees.size()) {
            unit = 1;
        }
        double[] shares =
                trees.stream().mapToDouble(tree -> tree.share().doubleValue()).toArray();
        double total = Arrays.stream(shares).sum();
        long units = count / unit;
        long[] edges = new long[trees.size() + 1];
        double before = 0;
        for (int i = 1; i < trees.size(); i++) {
            before += shares[i - 1];
            edges[i] = Math.min(Math.round(units * (before / total)) * unit, count);
        }
        edges[trees.size()] = count;
        return edges;
    }

    /**
     * Returns the edges of chunks of nearly equal length.
     *
     * @return at least one edge, from 0 to length; no chunk is empty or longer than chunkBytes
     */
    static long[] chunks(long length, int elementBytes, long chunkBytes) {
        long limit = chunkBytes / elementBytes;
        int unit = limit < unit(elementBytes) ? 1 : unit(elementBytes);
        long limitUnits = limit / unit;
        long units = Math.ceilDiv(length, (long) unit);
        int pieces = Math.toIntExact(Math.ceilDiv(units, limitUnits));
        long[] edges = new long[pieces + 1];
        for (int i = 1; i <= pieces; i++) {
            long edge = i * (units / pieces) + Math.min(i, units % pieces);
            edges[i] = Math.min(edge * unit, length);
        }
        return edges;
    }
}

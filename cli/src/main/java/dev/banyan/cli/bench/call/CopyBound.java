package dev.banyan.cli.bench.call;

import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.function.IntConsumer;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * The bound of the host's memory: a plain copy of the same buffers by all cores, measured in turns with the rows. A
 * collective on the host must read every input and write every output once; a copy does nothing else. Copied onto
 * themselves, buffers show the same for calls in place, which touch half as much memory.
 *
 * @param bytes bytes that were read and written
 * @param nanos least time in ns of several copies
 */
public record CopyBound(long bytes, long nanos) {
    private static final int RUNS = 3;
    private static final long PIECE = 4L << 20;

    public static CopyBound measure(MemorySegment[] from, MemorySegment[] to) {
        long each = from[0].byteSize();
        int pieces = Math.toIntExact(Math.ceilDiv(each, PIECE));
        IntConsumer copyPiece = i -> {
            long offset = i % pieces * PIECE;
            MemorySegment.copy(from[i / pieces], offset, to[i / pieces], offset, Math.min(PIECE, each - offset));
        };
        // A second thread is worth waking for much work only.
        Runnable copy = each * from.length < PIECE
                ? () -> IntStream.range(0, from.length * pieces).forEach(copyPiece)
                : () -> IntStream.range(0, from.length * pieces).parallel().forEach(copyPiece);
        long nanos = Arrays.stream(Repeats.exactly(1, RUNS).time(copy)).min().orElseThrow();
        return new CopyBound(2 * each * from.length, nanos);
    }

    /** Returns the faster one of two copies of as much. */
    public CopyBound or(@Nullable CopyBound other) {
        return other == null || nanos <= other.nanos ? this : other;
    }

    /** Shortest time in us in which that much could be read and written. */
    public double leastUs(long traffic) {
        return nanos / 1e3 * traffic / bytes;
    }

    double gbs() {
        return (double) bytes / nanos;
    }
}

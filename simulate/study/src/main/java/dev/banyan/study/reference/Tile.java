package dev.banyan.study.reference;

import dev.banyan.schedule.type.DataType;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/** A block of elements that is repeated without end. */
final class Tile {
    /** Floating-point values that a rounded result may be off from, and by how much. */
    static final class Bounds {
        private final double[] exact;
        private final double[] tolerance;

        Bounds(double[] exact, double[] tolerance) {
            this.exact = exact;
            this.tolerance = tolerance;
        }

        boolean allow(int index, double value) {
            // False for NaN.
            return Math.abs(value - exact[index]) <= tolerance[index];
        }
    }

    /** Looks at a stretch that lies in one repetition; places and length in elements. */
    private interface Run {
        void accept(long inTile, long inSegment, long length);
    }

    private final DataType type;
    private final MemorySegment values;
    private final @Nullable Bounds bounds;

    /**
     * @param values the elements
     * @param bounds what is close enough to each element, or null where only equal bits will do
     */
    Tile(DataType type, MemorySegment values, @Nullable Bounds bounds) {
        this.type = type;
        this.values = values;
        this.bounds = bounds;
    }

    /** The elements themselves. */
    MemorySegment values() {
        return values;
    }

    /** Fills a segment with the elements from {@code first} on. */
    void copyTo(MemorySegment segment, long first) {
        int size = type.bytes();
        forEachRun(
                segment,
                first,
                (inTile, inSegment, length) ->
                        MemorySegment.copy(values, inTile * size, segment, inSegment * size, length * size));
    }

    /** Number of elements of a segment that are not those from {@code first} on. */
    long wrong(MemorySegment segment, long first) {
        long[] wrong = {0};
        forEachRun(segment, first, (inTile, inSegment, length) -> {
            wrong[0] += bounds == null
                    ? different(segment, inTile, inSegment, length)
                    : outside(bounds, segment, inTile, inSegment, length);
        });
        return wrong[0];
    }

    private void forEachRun(MemorySegment segment, long first, Run run) {
        long period = values.byteSize() / type.bytes();
        long count = segment.byteSize() / type.bytes();
        for (long done = 0; done < count; ) {
            long inTile = (first + done) % period;
            long length = Math.min(period - inTile, count - done);
            run.accept(inTile, done, length);
            done += length;
        }
    }

    private long different(MemorySegment segment, long inTile, long inSegment, long length) {
        int size = type.bytes();
        MemorySegment expected = values.asSlice(inTile * size, length * size);
        MemorySegment actual = segment.asSlice(inSegment * size, length * size);
        if (expected.mismatch(actual) < 0) {
            return 0;
        }
        long different = 0;
        for (long i = 0; i < length; i++) {
            if (expected.asSlice(i * size, size).mismatch(actual.asSlice(i * size, size)) >= 0) {
                different++;
            }
        }
        return different;
    }

    private long outside(Bounds allowed, MemorySegment segment, long inTile, long inSegment, long length) {
        long outside = 0;
        for (int i = 0; i < length; i++) {
            if (!allowed.allow((int) inTile + i, Elements.getDouble(type, segment, inSegment + i))) {
                outside++;
            }
        }
        return outside;
    }
}

package dev.banyan.study.text;

import java.util.List;
import java.util.function.LongUnaryOperator;
import java.util.stream.LongStream;

/** The sizes of a sweep. */
public final class Sizes {
    /** The greatest size in bytes, far above any memory; sums over ranks and calls stay below 2^63. */
    public static final long MOST_BYTES = 1L << 50;

    private static final long NONE = -1;

    private Sizes() {}

    /** Sizes in bytes from {@code first} up to {@code last}, each {@code factor} times the one before. */
    public static List<Long> byFactor(long first, long last, int factor) {
        return upTo(first, last, size -> size > last / factor ? NONE : size * factor);
    }

    /** Sizes in bytes from {@code first} up to {@code last}, each {@code step} more than the one before. */
    public static List<Long> byStep(long first, long last, long step) {
        return upTo(first, last, size -> size > last - step ? NONE : size + step);
    }

    private static List<Long> upTo(long first, long last, LongUnaryOperator next) {
        return LongStream.iterate(first, size -> size != NONE && size <= last, next)
                .boxed()
                .toList();
    }
}

package dev.banyan.cli.bench;

import java.util.ArrayList;
import java.util.List;

/** The sizes of a sweep. */
final class Sizes {
    private Sizes() {}

    /** Sizes in bytes from {@code first} up to {@code last}, each {@code factor} times the one before. */
    static List<Long> byFactor(long first, long last, int factor) {
        List<Long> sizes = new ArrayList<>();
        for (long size = first; size <= last; size *= factor) {
            sizes.add(size);
            if (size > last / factor) {
                break;
            }
        }
        return sizes;
    }

    /** Sizes in bytes from {@code first} up to {@code last}, each {@code step} more than the one before. */
    static List<Long> byStep(long first, long last, long step) {
        List<Long> sizes = new ArrayList<>();
        for (long size = first; size <= last; size += step) {
            sizes.add(size);
            if (size > last - step) {
                break;
            }
        }
        return sizes;
    }
}

package dev.banyan.cuda.internal.ptx;

import dev.banyan.schedule.type.DataType;
import java.util.Locale;

/** The elements that kernels combine: the types of collectives, and sums of 64-bit integers. */
public enum Element {
    F32(4),
    F64(8),
    F16(2),
    BF16(2),
    I8(1),
    U8(1),
    I32(4),
    I64(8),
    /** Two's complement, the low half first. */
    I128(16);

    private final int bytes;

    Element(int bytes) {
        this.bytes = bytes;
    }

    public int bytes() {
        return bytes;
    }

    /** As names of kernels have it. */
    public String label() {
        return name().toLowerCase(Locale.ROOT);
    }

    public boolean isFloating() {
        return this == F32 || this == F64 || this == F16 || this == BF16;
    }

    public static Element of(DataType type) {
        return valueOf(type.name());
    }

    /** Returns the element that keeps sums of integers of a type, so that they cannot overflow. */
    public static Element wide(DataType type) {
        return switch (type) {
            case I8, U8, I32 -> I64;
            case I64 -> I128;
            case F32, F64, F16, BF16 -> throw new IllegalArgumentException("no wide sums of " + type);
        };
    }
}

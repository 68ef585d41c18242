package dev.banyan.schedule.type;

/** The type of a collective's elements. Elements are in the byte order of the machine. */
public enum DataType {
    /** 32-bit IEEE 754 float. */
    F32(4, true),
    /** 64-bit IEEE 754 float. */
    F64(8, true),
    /** 16-bit IEEE 754 float; a reduction step accumulates in 32-bit. */
    F16(2, true),
    /** 16-bit brain float (upper half of a 32-bit float); a reduction step accumulates in 32-bit. */
    BF16(2, true),
    /** Signed 8-bit integer; sums and products wrap around. */
    I8(1, false),
    /** Unsigned 8-bit integer; sums and products wrap around. */
    U8(1, false),
    /** Signed 32-bit integer; sums and products wrap around. */
    I32(4, false),
    /** Signed 64-bit integer; sums and products wrap around. */
    I64(8, false);

    /** The greatest number of floats that reproducible sums add up as integers of 32 bits. */
    private static final int MOST_NARROW = 16;

    private final int bytes;
    private final boolean floating;

    DataType(int bytes, boolean floating) {
        this.bytes = bytes;
        this.floating = floating;
    }

    /** Returns the size of one element in bytes, 1 to 8. */
    public int bytes() {
        return bytes;
    }

    /** Returns whether it is a floating-point type. */
    public boolean isFloating() {
        return floating;
    }

    /**
     * Returns the type of the integers that stand for floats of this type in reproducible sums.
     *
     * @param contributions how many floats a sum has
     */
    public DataType sumIntegers(int contributions) {
        return this == F64 || contributions > MOST_NARROW ? I64 : I32;
    }
}

package dev.banyan.schedule.type;

/** Type of the elements of a collective. Elements are in the byte order of the machine. */
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

    private final int bytes;
    private final boolean floating;

    DataType(int bytes, boolean floating) {
        this.bytes = bytes;
        this.floating = floating;
    }

    /** Size of one element in bytes. */
    public int bytes() {
        return bytes;
    }

    /** Whether it is a floating-point type. */
    public boolean isFloating() {
        return floating;
    }
}

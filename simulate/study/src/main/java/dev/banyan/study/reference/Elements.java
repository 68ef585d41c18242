package dev.banyan.study.reference;

import dev.banyan.schedule.type.DataType;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** Single elements of a buffer as 64-bit numbers. */
final class Elements {
    private Elements() {}

    static double getDouble(DataType type, MemorySegment segment, long index) {
        return switch (type) {
            case F32 -> segment.getAtIndex(ValueLayout.JAVA_FLOAT, index);
            case F64 -> segment.getAtIndex(ValueLayout.JAVA_DOUBLE, index);
            case F16 -> Float.float16ToFloat(segment.getAtIndex(ValueLayout.JAVA_SHORT, index));
            case BF16 -> Float.intBitsToFloat(segment.getAtIndex(ValueLayout.JAVA_SHORT, index) << 16);
            case I8, U8, I32, I64 -> getLong(type, segment, index);
        };
    }

    /** Writes a number, rounded to the type's nearest (of two, the even one). */
    static void putDouble(DataType type, MemorySegment segment, long index, double value) {
        switch (type) {
            case F32 -> segment.setAtIndex(ValueLayout.JAVA_FLOAT, index, (float) value);
            case F64 -> segment.setAtIndex(ValueLayout.JAVA_DOUBLE, index, value);
            case F16 -> segment.setAtIndex(ValueLayout.JAVA_SHORT, index, Float.floatToFloat16((float) value));
            case BF16 -> segment.setAtIndex(ValueLayout.JAVA_SHORT, index, bfloat16((float) value));
            case I8, U8, I32, I64 -> putLong(type, segment, index, (long) value);
        }
    }

    /** Finite numbers only. */
    private static short bfloat16(float value) {
        int bits = Float.floatToRawIntBits(value);
        return (short) ((bits + 0x7FFF + (bits >>> 16 & 1)) >>> 16);
    }

    static long getLong(DataType type, MemorySegment segment, long index) {
        return switch (type) {
            case I8 -> segment.getAtIndex(ValueLayout.JAVA_BYTE, index);
            case U8 -> Byte.toUnsignedInt(segment.getAtIndex(ValueLayout.JAVA_BYTE, index));
            case I32 -> segment.getAtIndex(ValueLayout.JAVA_INT, index);
            case I64 -> segment.getAtIndex(ValueLayout.JAVA_LONG, index);
            case F32, F64, F16, BF16 -> throw new IllegalArgumentException(type + " is no integer type");
        };
    }

    /** Writes the low bits of an integer. */
    static void putLong(DataType type, MemorySegment segment, long index, long value) {
        switch (type) {
            case I8, U8 -> segment.setAtIndex(ValueLayout.JAVA_BYTE, index, (byte) value);
            case I32 -> segment.setAtIndex(ValueLayout.JAVA_INT, index, (int) value);
            case I64 -> segment.setAtIndex(ValueLayout.JAVA_LONG, index, value);
            case F32, F64, F16, BF16 -> throw new IllegalArgumentException(type + " is no integer type");
        }
    }

    /** Distance between neighbouring numbers of a floating-point type at a normal magnitude. */
    static double ulp(DataType type, double magnitude) {
        return switch (type) {
            case F32 -> Math.ulp((float) magnitude);
            case F64 -> Math.ulp(magnitude);
            case F16 -> Math.scalb(1.0, Math.max(Math.getExponent(magnitude), -14) - 10);
            case BF16 -> Math.scalb(1.0, Math.max(Math.getExponent(magnitude), -126) - 7);
            case I8, U8, I32, I64 -> throw new IllegalArgumentException(type + " has no ulp");
        };
    }
}

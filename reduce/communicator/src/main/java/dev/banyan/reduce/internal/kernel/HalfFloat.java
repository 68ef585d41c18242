package dev.banyan.reduce.internal.kernel;

/** Conversions of 16-bit floats as IEEE 754 defines them. */
public final class HalfFloat {
    private HalfFloat() {}

    public static void widen(short[] bits, float[] target, int elements) {
        for (int i = 0; i < elements; i++) {
            target[i] = Float.float16ToFloat(bits[i]);
        }
    }

    /** Rounds to nearest, ties to even. */
    public static void narrow(float[] values, short[] target, int elements) {
        for (int i = 0; i < elements; i++) {
            target[i] = Float.floatToFloat16(values[i]);
        }
    }
}

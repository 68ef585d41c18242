package dev.banyan.reduce.internal.kernel;

/** Conversions of 16-bit brain floats, the upper halves of 32-bit floats. */
public final class BrainFloat {
    private BrainFloat() {}

    public static void widen(short[] bits, float[] target, int elements) {
        for (int i = 0; i < elements; i++) {
            target[i] = Float.intBitsToFloat(bits[i] << 16);
        }
    }

    /** Rounds to nearest, ties to even; a NaN stays a (quiet) NaN. */
    public static void narrow(float[] values, short[] target, int elements) {
        for (int i = 0; i < elements; i++) {
            int bits = Float.floatToRawIntBits(values[i]);
            int rounded = (bits + 0x7fff + ((bits >>> 16) & 1)) >>> 16;
            int quieted = (bits >>> 16) | 0x40;
            int nan = (0x7f800000 - (bits & 0x7fffffff)) >> 31;
            target[i] = (short) ((rounded & ~nan) | (quieted & nan));
        }
    }
}

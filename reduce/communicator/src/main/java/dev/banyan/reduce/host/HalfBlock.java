package dev.banyan.reduce.host;

/** Inputs and results of a {@link HalfLoop}, which are copied to the heap and back. One thread uses it at a time. */
final class HalfBlock {
    /**
     * The greatest number of results. Measured: with so few, what was read is still in the level 1 cache when it is
     * written.
     */
    static final int ELEMENTS = 512;

    /** Inputs as they are in memory. */
    final short[][] inputs = new short[FusedLoop.MOST_OPERANDS][ELEMENTS];
    /** Inputs that other loops have written, in the places of those above. */
    final float[][] wideInputs = new float[FusedLoop.MOST_OPERANDS][ELEMENTS];
    /** The values that other loops write or read, in the form of private memory. */
    final float[] lanes = new float[ELEMENTS];
    /** Results as they are in memory. */
    final short[] elements = new short[ELEMENTS];
    /** Results that other loops go on with. */
    final float[] wide = new float[ELEMENTS];
}

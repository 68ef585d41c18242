package dev.banyan.reduce.host;

/** Results of a {@link HalfLoop} on the heap, before they are copied to its outputs. One thread uses it at a time. */
final class HalfBlock {
    /**
     * The greatest number of results. Measured: with so few, what was read is still in the level 1 cache when it is
     * written.
     */
    static final int ELEMENTS = 512;

    /** Results as they are in memory. */
    final short[] elements = new short[ELEMENTS];
    /** Results that other loops go on with. */
    final float[] wide = new float[ELEMENTS];
}

package dev.banyan.schedule;

/** The memory of a rank that a {@link Location} is in. */
public enum Space {
    /** The rank's input buffer; never written unless the collective is in place. */
    INPUT,
    /** The rank's output buffer. */
    OUTPUT,
    /** Memory of the plan on the rank's device, for partial results; undefined at the start. */
    SCRATCH
}

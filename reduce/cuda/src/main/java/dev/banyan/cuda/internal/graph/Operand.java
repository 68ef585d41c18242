package dev.banyan.cuda.internal.graph;

/**
 * The memory that a node reads or writes.
 *
 * @param kind which memory
 * @param index number of the location, the slot or the host slot in its {@link Route}
 */
record Operand(Kind kind, int index) {
    enum Kind {
        /** The caller's. */
        BUFFER,
        /** The plan's, on the device of a rank. */
        SLOT,
        /** The plan's, in the host's memory. */
        HOST
    }
}

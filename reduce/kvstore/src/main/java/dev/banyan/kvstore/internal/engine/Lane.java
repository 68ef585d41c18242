package dev.banyan.kvstore.internal.engine;

/** The kind of work of an operation. Each kind has threads of its own, so that no kind blocks another. */
public enum Lane {
    /** Computation. */
    COMPUTE,
    /** Data movement between devices. */
    COMMUNICATION
}

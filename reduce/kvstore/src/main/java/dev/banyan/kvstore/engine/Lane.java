package dev.banyan.kvstore.engine;

/** What kind of work an operation is; each kind has threads of its own, so that none keeps another from going on. */
public enum Lane {
    /** Computes. */
    COMPUTE,
    /** Moves memory between devices. */
    COMMUNICATION
}

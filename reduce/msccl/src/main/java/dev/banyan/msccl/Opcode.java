package dev.banyan.msccl;

/**
 * The operation of a threadblock's step. "Received" is what comes from the threadblock's receive peer, "sends" goes to
 * its send peer.
 */
enum Opcode {
    /** Sends the source. */
    SEND("s", true, false, true, false),
    /** Target = received. */
    RECEIVE("r", false, true, false, true),
    /** Target = received; sends it on. */
    RECEIVE_COPY_SEND("rcs", true, true, false, true),
    /** Sends source + received; keeps nothing. */
    RECEIVE_REDUCE_SEND("rrs", true, true, true, false),
    /** Target = source + received. */
    RECEIVE_REDUCE_COPY("rrc", false, true, true, true),
    /** Target = source + received; sends it on. */
    RECEIVE_REDUCE_COPY_SEND("rrcs", true, true, true, true),
    /** Target = source. */
    COPY("cpy", false, false, true, true),
    /** Target = target + source. */
    REDUCE("re", false, false, true, true),
    /** Waits for its dependency. */
    NOP("nop", false, false, false, false);

    private final String label;
    final boolean sends;
    final boolean receives;
    final boolean readsSource;
    final boolean writesTarget;

    Opcode(String label, boolean sends, boolean receives, boolean readsSource, boolean writesTarget) {
        this.label = label;
        this.sends = sends;
        this.receives = receives;
        this.readsSource = readsSource;
        this.writesTarget = writesTarget;
    }

    /** Name in the file. */
    String label() {
        return label;
    }
}

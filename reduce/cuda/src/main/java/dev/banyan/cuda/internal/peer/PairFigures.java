package dev.banyan.cuda.internal.peer;

/**
 * The figures of copies from one GPU to another. Without working peer access they are those of the path through the
 * host; figures that a stuck copy prevented are 0.
 *
 * @param peer what came of peer access
 * @param gbs copies one way in GB/s (1e9 bytes/s)
 * @param bothGbs copies both ways at once, both together, in GB/s
 * @param latencyUs a small copy in us
 * @param hostGbs as {@code gbs}, through pinned memory of the host
 * @param hostBothGbs as {@code bothGbs}, through the host
 * @param hostLatencyUs as {@code latencyUs}, through the host
 */
public record PairFigures(
        Outcome peer,
        double gbs,
        double bothGbs,
        double latencyUs,
        double hostGbs,
        double hostBothGbs,
        double hostLatencyUs) {
    /** The outcome of peer access. */
    public enum Outcome {
        /** Every byte arrived. */
        RIGHT,
        /** The driver grants none. */
        NOT_GRANTED,
        /** Other bytes arrived than were sent. */
        WRONG_BYTES,
        /** A copy did not end in time. */
        STUCK,
        /** Not tried, since a copy of one of the two GPUs was stuck already. */
        NOT_TRIED
    }
}

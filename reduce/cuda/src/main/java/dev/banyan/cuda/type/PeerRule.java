package dev.banyan.cuda.type;

/** Decides which GPUs may touch each other's memory if the driver grants it; the others' data goes through the host. */
@FunctionalInterface
public interface PeerRule {
    /** All of them. */
    PeerRule ALL = (from, to) -> true;

    /** None. */
    PeerRule NONE = (from, to) -> false;

    /**
     * Returns whether work on one GPU may touch the other's memory.
     *
     * @param from as the driver counts them
     * @param to as the driver counts them; another one
     */
    boolean allows(int from, int to);

    /**
     * Returns whether kernels on one GPU may store to the other's memory. Graphs serve pairs that may touch each
     * other's memory otherwise.
     *
     * @param from as for {@link #allows}
     * @param to as for {@link #allows}
     */
    default boolean allowsStores(int from, int to) {
        return allows(from, to);
    }
}

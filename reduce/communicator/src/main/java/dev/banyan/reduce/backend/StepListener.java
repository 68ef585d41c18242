package dev.banyan.reduce.backend;

/**
 * Receives the work of devices while a schedule runs, step by step and block by block. Times are of {@link
 * System#nanoTime()}, in ns.
 *
 * <p>All working threads call it at once. Methods must be quick and throw nothing.
 */
public interface StepListener {
    /** A device read or wrote another device's memory. */
    void moved(Move move);

    /** A device combined arrays, or copied within its memory. */
    void computed(Computation computation);

    /**
     * A transfer from one device to another.
     *
     * @param run number of the run of a schedule on the backend
     * @param chunk index of the chunk in the schedule
     * @param step index of the step in the chunk, as the backend has joined them
     * @param from rank that it came from
     * @param to rank that it went to
     * @param bytes bytes of the transfer
     * @param beginNanos when it began
     * @param endNanos when it was done
     */
    record Move(long run, int chunk, int step, int from, int to, long bytes, long beginNanos, long endNanos) {}

    /**
     * Work of one device.
     *
     * @param run number of the run of a schedule on the backend
     * @param chunk index of the chunk in the schedule
     * @param step index of the step in the chunk, as the backend has joined them
     * @param rank rank of the device
     * @param bytes bytes that it read and wrote
     * @param beginNanos when it began
     * @param endNanos when it was done
     */
    record Computation(long run, int chunk, int step, int rank, long bytes, long beginNanos, long endNanos) {}
}

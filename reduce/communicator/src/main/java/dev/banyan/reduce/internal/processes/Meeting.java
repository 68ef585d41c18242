package dev.banyan.reduce.internal.processes;

/** The place where the processes of a job find its control block. */
public interface Meeting extends AutoCloseable {
    /**
     * Makes the control block in process 0, and opens it in the others.
     *
     * @param deadline value of {@link System#nanoTime()} after which it gives up
     */
    SharedMemory open(long deadline);

    /**
     * Ends what lets processes find the block: all have opened it, or this one has given up. A second call does no
     * harm.
     */
    @Override
    void close();
}

package dev.banyan.simulate;

/**
 * The order of the copies between the same two ranks, and of the kernels of one device. All jobs share the streams in
 * either order.
 */
public enum StreamOrder {
    /**
     * The first, in the order of jobs, chunks and steps, of those that nothing holds back. Schedules of trees list
     * chunks by how far along their tree's slice they are, so that this is the one that is furthest behind.
     *
     * <p>CUDA has no such queue, but an executor reaches it with a stream for each tree, way and pair of ranks, as
     * branches of a graph or with events between them: copies of one such stream become ready in the order of their
     * chunks, so that in-order streams lose nothing, and a pair's copies pass each other where one can't begin.
     * Which of two that are ready goes first is then the driver's choice, not the order's.
     */
    READY_FIRST,
    /**
     * The first that was issued; it holds back all behind it: one stream per directed pair of ranks and per
     * device, filled job by job in the order of chunks and steps.
     */
    AS_ISSUED
}

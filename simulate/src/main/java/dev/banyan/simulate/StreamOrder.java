package dev.banyan.simulate;

/**
 * Which of the copies between the same two ranks, or of the kernels of one device, comes next. Either way
 * the streams are shared by all jobs.
 */
public enum StreamOrder {
    /**
     * The first, in the order of jobs, chunks and steps, of those that nothing holds back: what an executor
     * reaches that gives each route through a link a stream of its own.
     */
    READY_FIRST,
    /**
     * The first that was issued; it holds back all behind it: one stream per directed pair of ranks and per
     * device, filled job by job in the order of chunks and steps.
     */
    AS_ISSUED
}

package dev.banyan.study.cluster;

/** The algorithms of an allreduce between machines. */
public enum AllReduceRule {
    /** Whichever of the ring, recursive doubling and halving-doubling takes the least time as priced here. */
    LEAST_TIME,

    /**
     * The fixed rule of Open MPI's {@code tuned} module up to 4.0 ({@code ompi_coll_tuned_allreduce_intra_dec_fixed}):
     * recursive doubling below 10,000 bytes, else the ring. Where there are no more elements than machines it reduces
     * and then broadcasts, which is priced as recursive doubling.
     */
    OPEN_MPI_4_0
}

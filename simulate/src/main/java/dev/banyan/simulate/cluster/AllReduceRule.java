package dev.banyan.simulate.cluster;

/** Which algorithm carries an allreduce between machines. */
public enum AllReduceRule {
    /** Whichever of the ring, recursive doubling and halving-doubling takes the least time as priced here. */
    LEAST_TIME("least time"),

    /**
     * The fixed rule of Open MPI's {@code tuned} module up to 4.0 ({@code ompi_coll_tuned_allreduce_intra_dec_fixed}):
     * recursive doubling below 10,000 bytes and where there are no more elements than machines, else the ring.
     */
    OPEN_MPI_4_0("Open MPI 4.0");

    private final String label;

    AllReduceRule(String label) {
        this.label = label;
    }

    /** What it is called in tables. */
    public String label() {
        return label;
    }
}

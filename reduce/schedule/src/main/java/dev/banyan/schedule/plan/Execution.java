package dev.banyan.schedule.plan;

/** The ways in which backends execute schedules, as far as times depend on them. */
public enum Execution {
    /** Chunk by chunk: each step is copies and a reduction. */
    CHUNKS("graph"),
    /**
     * By {@linkplain dev.banyan.schedule.internal.program device programs}, which cut data by themselves, where the
     * devices reach each other's memory; else chunk by chunk.
     */
    PROGRAMS("kernel"),
    /**
     * By loops over the memory of one host, which holds the data of all ranks. An allreduce reads and writes every line
     * once whatever the tree is, and no link decides how long it takes.
     */
    LOOPS("loops");

    private final String label;

    Execution(String label) {
        this.label = label;
    }

    /** Returns the name that users know: of GPUs as BANYAN_CUDA_EXECUTOR takes it. */
    public String label() {
        return label;
    }
}

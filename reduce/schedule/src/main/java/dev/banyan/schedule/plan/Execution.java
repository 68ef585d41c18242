package dev.banyan.schedule.plan;

/** How a backend executes schedules, as far as it decides how long they take. */
public enum Execution {
    /** Chunk by chunk: each step is copies and a reduction. */
    CHUNKS,
    /**
     * By {@linkplain dev.banyan.schedule.program device programs}, which cut data by themselves, where the devices
     * reach each other's memory; else chunk by chunk.
     */
    PROGRAMS
}

package dev.banyan.djl;

/** How this process was started. */
final class Launch {
    /** Those that mpirun started together, or this one alone. */
    static final Processes PROCESSES = Processes.ALONE;

    private Launch() {}
}

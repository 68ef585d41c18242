package dev.banyan.cuda.internal.program;

import dev.banyan.cuda.internal.driver.CudaDevice;
import dev.banyan.cuda.internal.launch.Pool;
import java.util.List;

/**
 * The runs of a kind of kernels that work on elements, in the streams of device programs. Used by one thread at a time.
 */
final class ElementRuns {
    private final String name;
    private final ProgramLauncher programs;
    private final Pool<ElementRun> pool;
    private volatile long lastNanos;

    /**
     * @param name of a run, for messages
     * @param devices all devices, as the programs have them
     * @param programs owns the streams
     */
    ElementRuns(String name, List<CudaDevice> devices, ProgramLauncher programs) {
        this.name = name;
        this.programs = programs;
        pool = new Pool<>(() -> new ElementRun(this, devices, programs.events()));
    }

    String name() {
        return name;
    }

    /** Returns the run of what was launched. */
    ElementRun ended() {
        ElementRun run = pool.take();
        programs.record(run.ended(), name);
        return run;
    }

    /** Keeps a run for a later launch. */
    void recycle(ElementRun run) {
        pool.give(run);
    }

    /** Notes how long a run took, in ns. */
    void took(long nanos) {
        lastNanos = nanos;
    }

    /** Returns how long the last run took, in ns; 0 before the first one's end. */
    long lastNanos() {
        return lastNanos;
    }
}

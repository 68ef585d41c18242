package dev.banyan.cuda.internal.launch;

import dev.banyan.reduce.backend.Executable;

/** Calls that a thread starts together. Used under the lock of the queue. */
public interface Gathering {
    /** Launches the calls that were gathered up to now. */
    void flush();

    /** Returns whether a call of an executable waits to be launched. */
    boolean holds(Executable executable);
}

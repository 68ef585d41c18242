package dev.banyan.cuda;

import dev.banyan.reduce.backend.Executable;

/** Calls that a thread starts together. Used under the lock of the queue. */
interface Gathering {
    /** Launches what was gathered up to now. */
    void flush();

    /** Whether a call of an executable waits to be launched. */
    boolean holds(Executable executable);
}

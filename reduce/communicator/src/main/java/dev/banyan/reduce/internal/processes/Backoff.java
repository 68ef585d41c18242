package dev.banyan.reduce.internal.processes;

import java.util.concurrent.locks.LockSupport;

/** Short waits for what other processes do. */
final class Backoff {
    private static final long NANOS = 1_000_000;

    private Backoff() {}

    static void pause() {
        LockSupport.parkNanos(NANOS);
    }
}

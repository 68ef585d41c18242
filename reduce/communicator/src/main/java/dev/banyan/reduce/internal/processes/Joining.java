package dev.banyan.reduce.internal.processes;

import dev.banyan.reduce.backend.CollectiveTimeoutException;
import dev.banyan.reduce.internal.processes.ControlBlock.Break;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Waits in one process until all processes of a job have joined. A process is watched as soon as it has written its id
 * to the control block; if it ends, the job is broken and all that wait name it.
 */
final class Joining {
    private static final Logger LOG = LoggerFactory.getLogger(Joining.class);
    private static final long LOOK_NANOS = 20_000_000;

    private final ControlBlock block;
    private final long deadline;

    /** @param deadline value of {@link System#nanoTime()} after which it gives up */
    Joining(ControlBlock block, long deadline) {
        this.block = block;
        this.deadline = deadline;
    }

    /**
     * @throws IllegalStateException if a process has ended or failed
     * @throws CollectiveTimeoutException if a process is late
     */
    void await() {
        long looked = System.nanoTime();
        Reminder reminder = new Reminder(looked);
        for (int p = 0; p < block.processes(); p++) {
            while (!block.hasJoined(p)) {
                long now = System.nanoTime();
                if (now - looked >= LOOK_NANOS) {
                    looked = now;
                    breakIfLost();
                }
                if (now - deadline > 0) {
                    block.breakBy(p, Break.LATE);
                }
                if (reminder.isDue(now)) {
                    LOG.warn("waiting for process {} of {} to join", p, block.processes());
                }
                checkUnbroken();
                Backoff.pause();
            }
        }
    }

    private void breakIfLost() {
        for (int p = 0; p < block.processes(); p++) {
            if (block.isKnown(p) && !block.id(p).isAlive()) {
                block.breakBy(p, Break.LOST);
            }
        }
    }

    private void checkUnbroken() {
        int breaker = block.breaker();
        if (breaker < 0) {
            return;
        }
        if (block.isBrokenAs(Break.TWICE)) {
            throw new IllegalStateException(ControlBlock.twice(breaker));
        }
        String who = "process " + breaker + " of " + block.processes()
                + (block.isKnown(breaker) ? " (" + block.id(breaker) + ")" : "");
        if (block.isBrokenAs(Break.LOST)) {
            throw new IllegalStateException(who + " ended before all had joined; start all processes of the job anew");
        }
        if (block.isBrokenAs(Break.FAILED)) {
            throw new IllegalStateException(
                    who + " failed while it joined; see what it reports, and start all processes of the job anew");
        }
        throw new CollectiveTimeoutException(who + " has not joined in time; start it with the same"
                + " BANYAN_RENDEZVOUS, or allow more time by BANYAN_TIMEOUT_MS");
    }
}

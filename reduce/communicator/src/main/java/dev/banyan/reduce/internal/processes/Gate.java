package dev.banyan.reduce.internal.processes;

import dev.banyan.reduce.backend.CollectiveTimeoutException;
import dev.banyan.reduce.internal.processes.ControlBlock.Break;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import java.util.List;
import java.util.stream.IntStream;

/**
 * A barrier of all processes of a job. A process that waits polls for a short time, then sleeps until the last one has
 * arrived. Where there are more processes than cores, it gives its core to another one instead of polling. While it
 * sleeps it looks now and then whether the others are alive.
 *
 * <p>If a process has ended, has left, is late or has failed, the job is broken: all that wait fail with its name, and
 * processes that arrive later fail, too. Used by one thread at a time.
 */
public final class Gate {
    /** Several times as long as it takes to wake a process, which virtual machines do slowly. */
    private static final int POLLS = 20_000;
    /** With fewer cores, a process gives its core to another one after each look. Measured: 50 to 1,000 are alike. */
    private static final int LOOKS_WITHOUT_CORES = 200;

    private static final long LOOK_NANOS = 20_000_000;

    private final ControlBlock block;
    private final int process;
    private final int processes;
    private final boolean hasCores;
    /** The time for which a process sleeps until it looks. */
    private final MemorySegment nap;

    private long arrivals;

    /**
     * @param block that all processes have joined
     * @param process the number of this process
     */
    Gate(ControlBlock block, int process) {
        this.block = block;
        this.process = process;
        processes = block.processes();
        List<ProcessId> ids = IntStream.range(0, processes).mapToObj(block::id).toList();
        hasCores = JobCores.count(ids) >= processes;
        nap = Arena.ofAuto().allocateFrom(ValueLayout.JAVA_LONG, 0, LOOK_NANOS);
    }

    /**
     * Arrives and waits until all have.
     *
     * @param what what all do together, for messages
     * @param timeoutNanos how long it waits
     * @throws CollectiveTimeoutException if a process is late
     * @throws IllegalStateException if a process has ended or left
     */
    public void pass(String what, long timeoutNanos) {
        checkUnbroken(what);
        block.setArrivals(process, ++arrivals);
        // A process that begins to wait either is seen here, or sees the arrival: both write, then read.
        VarHandle.fullFence();
        int missing = firstMissing(0);
        // Only the last one wakes the others: sooner they would find that some are missing, and sleep again.
        if (missing == processes && block.waiters() > 0) {
            block.nextGeneration();
            LinuxCalls.wakeAll(block.generationAddress());
        }
        int looks = hasCores ? POLLS : LOOKS_WITHOUT_CORES;
        for (int look = 0; missing < processes && look < looks; look++) {
            if (hasCores) {
                Thread.onSpinWait();
            } else {
                Thread.yield();
            }
            missing = firstMissing(missing);
        }
        if (missing < processes) {
            sleep(missing, what, timeoutNanos);
        }
    }

    private int firstMissing(int from) {
        int missing = from;
        while (missing < processes && block.arrivals(missing) >= arrivals) {
            missing++;
        }
        return missing;
    }

    private void sleep(int from, String what, long timeoutNanos) {
        long begin = System.nanoTime();
        long looked = begin;
        block.addWaiters(1);
        try {
            int generation = block.generation();
            for (int missing = firstMissing(from); missing < processes; missing = firstMissing(missing)) {
                LinuxCalls.await(block.generationAddress(), generation, nap);
                generation = block.generation();
                long now = System.nanoTime();
                if (now - looked >= LOOK_NANOS) {
                    looked = now;
                    breakIfLost();
                    int late = firstMissing(missing);
                    if (now - begin >= timeoutNanos && late < processes) {
                        block.breakBy(late, Break.LATE);
                    }
                    // Arrivals are read last: what breaks the job after all have arrived does not concern this meeting.
                    if (block.breaker() >= 0 && firstMissing(missing) < processes) {
                        checkUnbroken(what);
                    }
                }
            }
        } finally {
            block.addWaiters(-1);
        }
    }

    /** Breaks the job if a process has ended or left before it arrived. */
    private void breakIfLost() {
        for (int other = 0; other < processes; other++) {
            // A process may arrive, pass and leave meanwhile: arrivals are read last.
            if ((block.hasLeft(other) || !block.id(other).isAlive()) && block.arrivals(other) < arrivals) {
                block.breakBy(other, Break.LOST);
            }
        }
    }

    /**
     * Breaks the job if another process has ended, or has left before it started a run; safe for use from any thread.
     *
     * @param run number of the run
     */
    public void breakIfLostBefore(long run) {
        for (int other = 0; other < processes; other++) {
            // A process may start the run and leave meanwhile: what it has started is read last.
            if (other != process
                    && (!block.id(other).isAlive() || (block.hasLeft(other) && block.started(other) < run))) {
                block.breakBy(other, Break.LOST);
            }
        }
    }

    /** Breaks the job, as something has failed in this process: all others fail, too. */
    public void fail() {
        block.breakBy(process, Break.FAILED);
        block.nextGeneration();
        LinuxCalls.wakeAll(block.generationAddress());
    }

    /**
     * Checks that all processes can go on.
     *
     * @throws IllegalStateException if the job is broken
     */
    public void checkUnbroken(String what) {
        int breaker = block.breaker();
        if (breaker < 0) {
            return;
        }
        String who = name(breaker);
        if (block.isBrokenAs(Break.FAILED)) {
            throw new IllegalStateException(who
                    + " failed or was aborted, which broke the job; see what it reports, and start all processes anew");
        }
        if (block.hasLeft(breaker)) {
            throw new IllegalStateException(who + " has closed its communicator, and " + what
                    + " needs all; let all processes make the same calls");
        }
        if (block.isBrokenAs(Break.LOST)) {
            throw new IllegalStateException(
                    who + " ended before " + what + " was done; start all processes of the job anew");
        }
        throw new CollectiveTimeoutException(who + " did not take part in " + what
                + " in time; see what it does (jstack), or allow more time by BANYAN_TIMEOUT_MS");
    }

    /** Returns a name of a process for messages. */
    private String name(int other) {
        int first = 0;
        for (int p = 0; p < other; p++) {
            first += block.ranks(p);
        }
        int ranks = block.ranks(other);
        String held = ranks == 1 ? "rank " + first : "ranks " + first + " to " + (first + ranks - 1);
        return held + " (" + block.id(other) + ")";
    }
}

package dev.banyan.reduce.internal.processes;

import dev.banyan.reduce.backend.CollectiveTimeoutException;
import java.util.ArrayList;
import java.util.List;
import java.util.function.IntPredicate;
import java.util.stream.IntStream;

/**
 * The processes of one machine that work on the same calls, seen by one of them: their control block, the gate where
 * they meet, and how many ranks each holds. Ranks are numbered by process.
 *
 * <p>Used by one thread at a time, but for {@link #fail}, {@link #breakIfLostBefore} and {@link #checkUnbroken}.
 */
public final class Job implements AutoCloseable {
    private final int process;
    private final SharedMemory memory;
    private final ControlBlock block;
    private final Gate gate;
    /** The first rank of each process, and the number of all. */
    private final int[] firstRanks;

    /** @param block that all processes have joined */
    private Job(int process, SharedMemory memory, ControlBlock block) {
        this.process = process;
        this.memory = memory;
        this.block = block;
        gate = new Gate(block, process);
        firstRanks = new int[block.processes() + 1];
        for (int p = 0; p < block.processes(); p++) {
            firstRanks[p + 1] = firstRanks[p] + block.ranks(p);
        }
    }

    /**
     * Joins the other processes in a folder, as {@link #join(int, int, int, String, long, Meeting)} does.
     *
     * @param ranks that this process holds, at least 1
     * @param agreed what must be the same in all processes: machine and settings
     * @param timeoutNanos how long it waits for the others
     * @throws IllegalStateException if the processes do not agree, cannot open each other's memory, or one has ended
     * @throws CollectiveTimeoutException if a process does not come in time
     */
    public static Job join(JobPlace place, int ranks, String agreed, long timeoutNanos) {
        return join(place.process(), place.processes(), ranks, agreed, timeoutNanos, new FolderMeeting(place));
    }

    /**
     * Joins the other processes, and returns when all have joined.
     *
     * @param process 0..processes-1
     * @param processes at least 1
     * @param ranks that this process holds, at least 1
     * @param agreed what must be the same in all processes: machine and settings
     * @param timeoutNanos how long it waits for the others
     * @param meeting where they find the control block; this method closes it
     * @throws IllegalStateException if the processes do not agree, cannot open each other's memory, or one has ended
     * @throws CollectiveTimeoutException if a process does not come in time
     */
    public static Job join(int process, int processes, int ranks, String agreed, long timeoutNanos, Meeting meeting) {
        if (ranks < 1 || ranks > ControlBlock.MOST_RANKS) {
            throw new IllegalArgumentException(
                    ranks + " ranks in one process; give it 1 to " + ControlBlock.MOST_RANKS);
        }
        long deadline = System.nanoTime() + timeoutNanos;
        ProcessId own = ProcessId.own();
        try (meeting) {
            SharedMemory memory = meeting.open(deadline);
            try {
                ControlBlock block = ControlBlock.of(memory.memory(), processes);
                block.join(process, own, ranks, ControlBlock.fingerprint(agreed));
                try {
                    new Joining(block, deadline).await();
                    if (process == 0) {
                        // A later job may meet in the same place as soon as any process goes on.
                        meeting.close();
                    }
                    Job job = new Job(process, memory, block);
                    job.agree(deadline - System.nanoTime());
                    return job;
                } catch (Throwable e) {
                    // The others would wait for this process, or blame it when it ends. A job that is broken stays so.
                    block.breakBy(process, ControlBlock.Break.FAILED);
                    throw e;
                }
            } catch (Throwable e) {
                memory.close();
                throw e;
            }
        }
    }

    private void agree(long timeoutNanos) {
        gate.pass("joining", timeoutNanos);
        List<Integer> others = new ArrayList<>(IntStream.range(0, processes())
                .filter(p -> block.fingerprint(p) != block.fingerprint(0))
                .boxed()
                .toList());
        if (!others.isEmpty()) {
            throw new IllegalStateException("processes " + others + " have another machine or other settings"
                    + " than process 0; start all with the same ones");
        }
    }

    /** Returns the number of this process. */
    public int process() {
        return process;
    }

    /** Returns the number of processes. */
    public int processes() {
        return firstRanks.length - 1;
    }

    /** Returns the number of ranks of all processes. */
    public int ranks() {
        return firstRanks[processes()];
    }

    /** Returns the first rank of a process. */
    public int firstRank(int ofProcess) {
        return firstRanks[ofProcess];
    }

    /** Returns the first rank of this process. */
    public int firstRank() {
        return firstRanks[process];
    }

    /** Returns the number of ranks of this process. */
    public int ranksHeld() {
        return firstRanks[process + 1] - firstRanks[process];
    }

    /** Returns the process that holds a rank. */
    public int processOf(int rank) {
        int holder = 0;
        while (firstRanks[holder + 1] <= rank) {
            holder++;
        }
        return holder;
    }

    /** Returns the control block. */
    public ControlBlock block() {
        return block;
    }

    /** Arrives and waits until all processes have, as {@link Gate#pass}. */
    public void meet(String what, long timeoutNanos) {
        gate.pass(what, timeoutNanos);
    }

    /** Breaks the job, as {@link Gate#fail}; safe for use from any thread. */
    public void fail() {
        gate.fail();
    }

    /** Notes how many runs this process has started, for {@link #breakIfLostBefore}. */
    public void setStarted(long runs) {
        block.setStarted(process, runs);
    }

    /** Breaks the job as {@link Gate#breakIfLostBefore} does; safe for use from any thread. */
    public void breakIfLostBefore(long run) {
        gate.breakIfLostBefore(run);
    }

    /** Checks that the job is not broken, as {@link Gate#checkUnbroken}. */
    public void checkUnbroken(String what) {
        gate.checkUnbroken(what);
    }

    /**
     * Leaves the job, waits until all have left, gives back what this process has of the others' memory, and waits
     * until all have done that.
     *
     * @param givingBack gives it back
     * @param timeoutNanos how long it waits each time
     * @return whether all have; else one is late, has ended or has failed, and may still touch memory of this process
     */
    public boolean leave(Runnable givingBack, long timeoutNanos) {
        block.leave(process);
        if (!await(block::hasLeft, timeoutNanos)) {
            return false;
        }
        try {
            givingBack.run();
        } finally {
            block.close(process);
        }
        return await(block::isClosed, timeoutNanos);
    }

    private boolean await(IntPredicate state, long timeoutNanos) {
        long deadline = System.nanoTime() + timeoutNanos;
        for (int other = 0; other < processes(); other++) {
            while (!state.test(other)) {
                if (block.breaker() >= 0
                        || System.nanoTime() - deadline > 0
                        || !block.id(other).isAlive()) {
                    return state.test(other);
                }
                Backoff.pause();
            }
        }
        return true;
    }

    /** Breaks the job and leaves it, as this process cannot take part: the others hear that it has failed. */
    public void abandon() {
        fail();
        close();
    }

    /** Leaves the job. Others that wait for this process fail. */
    @Override
    public void close() {
        if (!block.hasLeft(process)) {
            block.leave(process);
        }
        memory.close();
    }
}

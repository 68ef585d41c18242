package dev.banyan.reduce.internal.code;

import dev.banyan.reduce.backend.CollectiveAbortedException;
import dev.banyan.reduce.backend.CollectiveTimeoutException;
import dev.banyan.reduce.backend.Executable;
import dev.banyan.reduce.internal.BackendArguments;
import dev.banyan.reduce.internal.WorkerPool;
import java.lang.foreign.MemorySegment;
import java.lang.ref.Reference;
import java.time.Duration;
import java.util.Arrays;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.stream.Stream;

/**
 * Work that is cut into blocks, which the caller and the workers of a pool share. Each thread has a range of blocks of
 * its own, the same one in each run, so that it finds in its cache what it wrote in the run before. When it has taken
 * all of them, it goes on with those that others have not taken yet.
 */
public abstract class BlockExecutable implements Executable, WorkerPool.Task {
    /** Two cache lines, as processors fetch neighbours. */
    private static final int LONGS_PER_LINES = 16;
    /** Index of the deadline, behind the next block of a range. */
    private static final int DEADLINE = 1;
    /** Index of a word that is 1 while the range's own thread works in it. */
    private static final int ATTENDED = 2;

    /** Some microseconds: what another core has in its cache is worth waiting for, unless that core is gone. */
    private static final int SPINS_FOR_OWNER = 50;

    private final int ranks;
    private final WorkerPool pool;
    private final long timeoutNanos;
    /** A thread looks at the clock after so many blocks. */
    private final int blocksPerLook;

    /** The next block of each range; on cache lines of their own. */
    private final AtomicLongArray next;

    private final AtomicBoolean running = new AtomicBoolean();
    private volatile boolean late;
    /** True if a thread has failed, so that the others need not go on. */
    private volatile boolean failed;

    private volatile boolean aborted;
    /** True if a worker did not end in time; it may still use the scratch memory and all buffers. */
    private volatile boolean stuck;
    /** The buffers of a stuck run, whose memory must not be freed. */
    private MemorySegment[] stuckBuffers = {};

    public BlockExecutable(int ranks, WorkerPool pool, Duration timeout, int blocksPerLook) {
        this.ranks = ranks;
        this.pool = pool;
        timeoutNanos = TimeUnit.NANOSECONDS.convert(timeout);
        this.blocksPerLook = blocksPerLook;
        next = new AtomicLongArray((pool.helpers() + 3) * LONGS_PER_LINES);
    }

    /** Sets the buffers of a run, which stay reachable until it ends. The arrays may change afterwards. */
    public abstract void begin(MemorySegment[] inputs, MemorySegment[] outputs);

    /** Drops the buffers, so that a cached plan does not keep the user's arenas alive. */
    public abstract void end();

    /** Returns the number of blocks of the run. */
    public abstract long blocks();

    /** Returns whether each block is at one place in all buffers that it is in, right behind the block before. */
    public boolean isAligned() {
        return false;
    }

    /** Returns where a block begins in all buffers of an aligned run, in bytes; for {@link #blocks} the end. */
    public long place(long block) {
        throw new UnsupportedOperationException("blocks have no place in common");
    }

    /** Returns the number of threads that may run blocks at the same time. */
    public abstract int participants();

    /** Returns the number of bytes that the run reads and writes. */
    public abstract long traffic();

    /**
     * Runs a block.
     *
     * @param participant the thread, 0 for the caller
     */
    public abstract void runBlock(int participant, long block);

    /** Runs some blocks of the run in the calling thread alone, without a deadline. */
    public final void runBlocks(MemorySegment[] inputs, MemorySegment[] outputs, long firstBlock, long behindLast) {
        begin(inputs, outputs);
        try {
            for (long block = firstBlock; block < behindLast; block++) {
                runBlock(0, block);
            }
        } finally {
            end();
            Reference.reachabilityFence(inputs);
            Reference.reachabilityFence(outputs);
        }
    }

    /** Frees the scratch memory. */
    public abstract void free();

    @Override
    public final void run(MemorySegment[] inputs, MemorySegment[] outputs) {
        BackendArguments.checkBuffers(inputs, outputs, ranks);
        if (!running.compareAndSet(false, true)) {
            throw new IllegalStateException("this executable is running already; prepare one for each thread");
        }
        try {
            if (stuck) {
                throw new IllegalStateException("a thread is stuck in this executable since it timed out; "
                        + "close the communicator and make a new one");
            }
            begin(inputs, outputs);
            long deadline = System.nanoTime() + timeoutNanos;
            // A value that has not changed is not written, because workers have it in their caches.
            if (late || failed) {
                late = false;
                failed = false;
            }
            for (int range = 0; range < participants(); range++) {
                next.setPlain(placeOf(range), firstOf(range));
                next.setPlain(placeOf(range) + DEADLINE, deadline);
                next.setPlain(placeOf(range) + ATTENDED, 0);
            }
            if (participants() == 1) {
                work(0);
            } else {
                runOnPool(deadline);
            }
            if (late) {
                throw new CollectiveTimeoutException("the collective did not end within "
                        + Math.ceilDiv(timeoutNanos, 1_000_000) + " ms; give it more time by BANYAN_TIMEOUT_MS");
            }
            if (aborted) {
                throw new CollectiveAbortedException("the collective was aborted");
            }
        } finally {
            if (!stuck) {
                end();
            } else if (stuckBuffers.length == 0) {
                stuckBuffers =
                        Stream.of(inputs, outputs).flatMap(Arrays::stream).toArray(MemorySegment[]::new);
            }
            running.set(false);
            Reference.reachabilityFence(inputs);
            Reference.reachabilityFence(outputs);
        }
    }

    private void runOnPool(long deadline) {
        try {
            pool.run(this, participants() - 1, traffic(), deadline);
        } catch (CollectiveTimeoutException e) {
            stuck = true;
            throw e;
        }
    }

    /** Returns whether the owner of a range that has one block left takes that within a moment. */
    private boolean isLastTakenSoon(int at, long end) {
        if (next.get(at + ATTENDED) != 0) {
            for (int spin = 0; spin < SPINS_FOR_OWNER && next.get(at) == end - 1; spin++) {
                Thread.onSpinWait();
            }
        }
        return next.get(at) >= end;
    }

    private static int placeOf(int range) {
        return (range + 1) * LONGS_PER_LINES;
    }

    private long firstOf(int range) {
        return blocks() * range / participants();
    }

    @Override
    public final void work(int participant) {
        int ranges = participants();
        int untilLook = blocksPerLook;
        next.set(placeOf(participant) + ATTENDED, 1);
        try {
            for (int r = 0; r < ranges; r++) {
                int range = (participant + r) % ranges;
                long end = firstOf(range + 1);
                int at = placeOf(range);
                while (next.get(at) < end) {
                    if (r > 0 && isLastTakenSoon(at, end)) {
                        break;
                    }
                    long block = next.getAndIncrement(at);
                    if (block < end) {
                        if (--untilLook < 0) {
                            untilLook = blocksPerLook - 1;
                            if (System.nanoTime() - next.getPlain(at + DEADLINE) > 0) {
                                late = true;
                            }
                        }
                        if (late || failed || aborted) {
                            return;
                        }
                        runBlock(participant, block);
                    }
                }
            }
        } catch (Throwable e) {
            failed = true;
            throw e;
        }
    }

    /** Ends a run after the blocks that its threads work on; no later run succeeds. */
    @Override
    public final void abort() {
        aborted = true;
    }

    @Override
    public final void close() {
        if (!stuck || !pool.isWorking()) {
            free();
        }
    }
}

package dev.banyan.reduce.host;

import dev.banyan.reduce.backend.CollectiveTimeoutException;
import dev.banyan.reduce.backend.Executable;
import dev.banyan.reduce.internal.BackendArguments;
import dev.banyan.reduce.internal.WorkerPool;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;

/** Work that is cut into blocks, which the caller and the workers of a pool take one after another. */
abstract class BlockExecutable implements Executable, WorkerPool.Task {
    private final int ranks;
    private final WorkerPool pool;
    private final long timeoutNanos;
    /** A thread looks at the clock after so many blocks. */
    private final int blocksPerLook;

    private final AtomicLong nextBlock = new AtomicLong();
    private final AtomicBoolean running = new AtomicBoolean();
    private long deadline;
    private volatile boolean late;
    private volatile boolean aborted;
    /** Whether a worker did not end in time; it may still use the scratch memory and all buffers. */
    private volatile boolean stuck;

    BlockExecutable(int ranks, WorkerPool pool, Duration timeout, int blocksPerLook) {
        this.ranks = ranks;
        this.pool = pool;
        timeoutNanos = TimeUnit.NANOSECONDS.convert(timeout);
        this.blocksPerLook = blocksPerLook;
    }

    /** Sets the buffers of a run. The arrays may change afterwards. */
    abstract void begin(MemorySegment[] inputs, MemorySegment[] outputs);

    /** Drops the buffers, so that a cached plan does not keep the user's arenas alive. */
    abstract void end();

    /** Returns the number of blocks of the run. */
    abstract long blocks();

    /** Returns the number of threads that may run blocks at the same time. */
    abstract int participants();

    /** Returns the number of bytes that the run reads and writes. */
    abstract long traffic();

    /**
     * Runs a block.
     *
     * @param participant the thread, 0 for the caller
     */
    abstract void runBlock(int participant, long block);

    /** Frees the scratch memory. */
    abstract void free();

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
            deadline = System.nanoTime() + timeoutNanos;
            late = false;
            nextBlock.set(0);
            if (participants() == 1) {
                work(0);
            } else {
                runOnPool();
            }
            if (late) {
                throw new CollectiveTimeoutException("the collective did not end within "
                        + Math.ceilDiv(timeoutNanos, 1_000_000) + " ms; give it more time by BANYAN_TIMEOUT_MS");
            }
            if (aborted) {
                throw new IllegalStateException("the collective was aborted");
            }
        } finally {
            if (!stuck) {
                end();
            }
            running.set(false);
        }
    }

    private void runOnPool() {
        try {
            pool.run(this, participants() - 1, traffic(), deadline);
        } catch (CollectiveTimeoutException e) {
            stuck = true;
            throw e;
        }
    }

    @Override
    public final void work(int participant) {
        long blocks = blocks();
        int untilLook = blocksPerLook;
        try {
            for (long block = nextBlock.getAndIncrement(); block < blocks; block = nextBlock.getAndIncrement()) {
                runBlock(participant, block);
                if (aborted) {
                    nextBlock.set(blocks);
                } else if (--untilLook == 0) {
                    untilLook = blocksPerLook;
                    if (nextBlock.get() < blocks && System.nanoTime() - deadline > 0) {
                        late = true;
                        nextBlock.set(blocks);
                    }
                }
            }
        } catch (Throwable e) {
            nextBlock.set(blocks);
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

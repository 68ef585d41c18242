package dev.banyan.reduce.host;

import dev.banyan.reduce.backend.CollectiveTimeoutException;
import dev.banyan.reduce.backend.Executable;
import dev.banyan.reduce.backend.StepListener;
import dev.banyan.reduce.internal.BackendArguments;
import dev.banyan.reduce.internal.WorkerPool;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/** A schedule that is ready to run: as fused loops, or step by step where a listener wants to know of the steps. */
final class HostExecutable implements Executable, WorkerPool.Task {
    /** A thread looks at the clock after so many blocks. */
    private static final int BLOCKS_PER_LOOK = 8;

    private final int ranks;
    private final HostCompiler compiler;
    private final HostBackend backend;
    private final WorkerPool pool;
    private final long timeoutNanos;
    private final Program fused;
    /** Made when a listener is there for the first time. */
    private @Nullable Program stepwise;
    /** What the run works on. */
    private Program program;

    private final AtomicLong nextBlock = new AtomicLong();
    private final AtomicBoolean running = new AtomicBoolean();
    private long deadline;
    private volatile boolean late;
    private volatile boolean aborted;
    /** Whether a worker did not end in time; it may still use the frames and all buffers. */
    private volatile boolean stuck;

    /** @param backend has the listener of steps */
    HostExecutable(int ranks, HostCompiler compiler, HostBackend backend, WorkerPool pool, Duration timeout) {
        this.ranks = ranks;
        this.compiler = compiler;
        this.backend = backend;
        this.pool = pool;
        timeoutNanos = TimeUnit.NANOSECONDS.convert(timeout);
        fused = compiler.fused();
        program = fused;
    }

    @Override
    public void run(MemorySegment[] inputs, MemorySegment[] outputs) {
        BackendArguments.checkBuffers(inputs, outputs, ranks);
        if (!running.compareAndSet(false, true)) {
            throw new IllegalStateException("this executable is running already; prepare one for each thread");
        }
        try {
            if (stuck) {
                throw new IllegalStateException("a thread is stuck in this executable since it timed out; "
                        + "close the communicator and make a new one");
            }
            StepListener listener = backend.listener();
            program = listener == null ? fused : stepwise();
            program.setBuffers(inputs, outputs);
            if (listener != null) {
                program.attach(listener, backend.nextRun());
            }
            deadline = System.nanoTime() + timeoutNanos;
            late = false;
            nextBlock.set(0);
            if (program.participants() == 1) {
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
                program.forgetBuffers();
            }
            running.set(false);
        }
    }

    private Program stepwise() {
        Program made = stepwise;
        if (made == null) {
            made = compiler.stepwise();
            stepwise = made;
        }
        return made;
    }

    private void runOnPool() {
        try {
            pool.run(this, program.participants() - 1, program.traffic(), deadline);
        } catch (CollectiveTimeoutException e) {
            stuck = true;
            throw e;
        }
    }

    @Override
    public void work(int participant) {
        Program current = program;
        long blocks = current.blocks();
        int part = 0;
        int done = 0;
        try {
            for (long block = nextBlock.getAndIncrement(); block < blocks; block = nextBlock.getAndIncrement()) {
                part = current.runBlock(participant, block, part);
                if (aborted) {
                    nextBlock.set(blocks);
                } else if (++done % BLOCKS_PER_LOOK == 0
                        && nextBlock.get() < blocks
                        && System.nanoTime() - deadline > 0) {
                    late = true;
                    nextBlock.set(blocks);
                }
            }
        } catch (Throwable e) {
            nextBlock.set(blocks);
            throw e;
        }
    }

    /** Ends a run after the blocks that its threads work on; no later run succeeds. */
    @Override
    public void abort() {
        aborted = true;
    }

    @Override
    public void close() {
        if (!stuck || !pool.isWorking()) {
            fused.close();
            Program steps = stepwise;
            if (steps != null) {
                steps.close();
            }
        }
    }
}

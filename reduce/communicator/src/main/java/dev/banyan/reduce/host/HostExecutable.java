package dev.banyan.reduce.host;

import dev.banyan.reduce.backend.CollectiveTimeoutException;
import dev.banyan.reduce.backend.Executable;
import dev.banyan.reduce.backend.StepListener;
import dev.banyan.reduce.internal.BackendArguments;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;

/**
 * A compiled schedule. Its chunks are cut into blocks; a block goes through all steps of its chunk
 * before the thread takes the next one, so that partial results stay in the thread's cache and every
 * buffer passes through memory once.
 */
final class HostExecutable implements Executable, WorkerPool.Task {
    /**
     * A chunk.
     *
     * @param code its steps
     * @param elements its length
     * @param firstBlock number of blocks of the chunks before it
     */
    record Part(ChunkCode code, long elements, long firstBlock) {}

    private final Part[] parts;
    private final long blocks;
    private final int blockElements;
    private final int ranks;
    private final Frame[] frames;
    private final MemorySegment[] buffers;
    private final Arena scratch;
    private final HostBackend backend;
    private final WorkerPool pool;
    private final long timeoutNanos;
    private final AtomicLong nextBlock = new AtomicLong();
    private final AtomicBoolean running = new AtomicBoolean();
    private long deadline;
    private volatile boolean late;
    private volatile boolean aborted;
    /** Whether a worker did not end in time; it may still use the frames and all buffers. */
    private volatile boolean stuck;

    /**
     * @param parts the chunks
     * @param blocks number of blocks of all of them
     * @param frames one for each thread that may take part, the caller's first; all share {@code buffers}
     * @param scratch the arena of the frames' private memory
     * @param backend has the listener of steps
     */
    HostExecutable(
            List<Part> parts,
            long blocks,
            int blockElements,
            List<Frame> frames,
            MemorySegment[] buffers,
            Arena scratch,
            HostBackend backend,
            WorkerPool pool,
            Duration timeout) {
        this.parts = parts.toArray(Part[]::new);
        this.blocks = blocks;
        this.blockElements = blockElements;
        this.ranks = buffers.length / 2;
        this.frames = frames.toArray(Frame[]::new);
        this.buffers = buffers;
        this.scratch = scratch;
        this.backend = backend;
        this.pool = pool;
        timeoutNanos = TimeUnit.NANOSECONDS.convert(timeout);
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
            System.arraycopy(inputs, 0, buffers, 0, ranks);
            System.arraycopy(outputs, 0, buffers, ranks, ranks);
            deadline = System.nanoTime() + timeoutNanos;
            late = false;
            nextBlock.set(0);
            StepListener listener = backend.listener();
            if (listener != null) {
                attach(listener);
            }
            if (frames.length == 1) {
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
                forgetBuffers();
            }
            running.set(false);
        }
    }

    private void attach(StepListener listener) {
        long run = backend.nextRun();
        for (Frame frame : frames) {
            frame.listener = listener;
            frame.run = run;
        }
    }

    private void runOnPool() {
        try {
            pool.run(this, frames.length - 1, deadline);
        } catch (CollectiveTimeoutException e) {
            stuck = true;
            throw e;
        }
    }

    @Override
    public void work(int participant) {
        Frame frame = frames[participant];
        try {
            int part = 0;
            for (long block = nextBlock.getAndIncrement(); block < blocks; block = nextBlock.getAndIncrement()) {
                while (part + 1 < parts.length && parts[part + 1].firstBlock() <= block) {
                    part++;
                }
                Part current = parts[part];
                frame.chunk = part;
                long first = (block - current.firstBlock()) * blockElements;
                current.code().run(frame, first, (int) Math.min(blockElements, current.elements() - first));
                if (aborted) {
                    nextBlock.set(blocks);
                } else if (nextBlock.get() < blocks && System.nanoTime() - deadline > 0) {
                    late = true;
                    nextBlock.set(blocks);
                }
            }
        } catch (Throwable e) {
            nextBlock.set(blocks);
            throw e;
        }
    }

    /** Drops the buffers, so that a cached plan does not keep the user's arenas alive. */
    private void forgetBuffers() {
        Arrays.fill(buffers, MemorySegment.NULL);
        for (Frame frame : frames) {
            Arrays.fill(frame.segments, MemorySegment.NULL);
            frame.listener = null;
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
            scratch.close();
        }
    }
}

package dev.banyan.reduce.host;

import dev.banyan.reduce.backend.CollectiveTimeoutException;
import dev.banyan.reduce.backend.ExactSumRequest;
import dev.banyan.reduce.backend.Executable;
import dev.banyan.reduce.internal.BackendArguments;
import dev.banyan.reduce.internal.WorkerPool;
import dev.banyan.schedule.type.Collective;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * Sums that are rounded once. Any rank's memory is within reach of every thread, so no schedule moves exponents and
 * fixed point between ranks: a thread takes a block of elements, reads it of all ranks, and writes it where it is
 * wanted.
 */
final class HostExactSum implements Executable, WorkerPool.Task {
    /** Bytes to read for which one more thread is woken. */
    private static final long BYTES_PER_HELPER = 128 << 10;

    private final ExactSumRequest request;
    private final int ranks;
    private final WorkerPool pool;
    private final long timeoutNanos;
    /** One for each thread that may take part, the caller's first. */
    private final ExactSum[] sums;

    private final int sections;
    private final long sectionBlocks;
    /** Bytes of all inputs. */
    private final long read;

    private final long blocks;
    private final AtomicLong nextBlock = new AtomicLong();
    private final AtomicBoolean running = new AtomicBoolean();
    private long deadline;
    private volatile MemorySegment @Nullable [] sources;
    private volatile MemorySegment @Nullable [] targets;
    private volatile boolean late;
    private volatile boolean aborted;
    /** Whether a worker did not end in time; it may still use the buffers. */
    private volatile boolean stuck;

    HostExactSum(ExactSumRequest request, int ranks, WorkerPool pool, Duration timeout) {
        this.request = request;
        this.ranks = ranks;
        this.pool = pool;
        timeoutNanos = TimeUnit.NANOSECONDS.convert(timeout);
        sections = request.collective() == Collective.REDUCE_SCATTER ? ranks : 1;
        sectionBlocks = Math.ceilDiv(request.count(), ExactSum.BLOCK);
        blocks = sections * sectionBlocks;
        read = (long) sections * ranks * request.count() * request.type().bytes();
        int helpers = Math.clamp(Math.min(blocks - 1, read / BYTES_PER_HELPER), 0, pool.helpers());
        sums = IntStream.rangeClosed(0, helpers)
                .mapToObj(_ -> ExactSum.of(request.type(), ranks, request.mean()))
                .toArray(ExactSum[]::new);
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
            sources = request.inPlace() ? outputs.clone() : inputs.clone();
            targets = outputs.clone();
            deadline = System.nanoTime() + timeoutNanos;
            late = false;
            nextBlock.set(0);
            if (sums.length == 1) {
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
            // A cached plan must not keep the user's arenas alive.
            sources = null;
            targets = null;
            running.set(false);
        }
    }

    private void runOnPool() {
        try {
            pool.run(this, sums.length - 1, read, deadline);
        } catch (CollectiveTimeoutException e) {
            stuck = true;
            throw e;
        }
    }

    @Override
    public void work(int participant) {
        MemorySegment[] from = sources;
        MemorySegment[] to = targets;
        if (from == null || to == null) {
            return;
        }
        try {
            for (long block = nextBlock.getAndIncrement(); block < blocks; block = nextBlock.getAndIncrement()) {
                sum(sums[participant], from, to, (int) (block / sectionBlocks), block % sectionBlocks);
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

    private void sum(ExactSum sum, MemorySegment[] from, MemorySegment[] to, int section, long block) {
        int bytes = request.type().bytes();
        long first = block * ExactSum.BLOCK;
        long start = (section * request.count() + first) * bytes;
        sum.begin((int) Math.min(ExactSum.BLOCK, request.count() - first));
        for (MemorySegment source : from) {
            sum.look(source, start);
        }
        for (MemorySegment source : from) {
            sum.add(source, start);
        }
        sum.round();
        switch (request.collective()) {
            case ALL_REDUCE -> {
                for (MemorySegment target : to) {
                    sum.store(target, start);
                }
            }
            case REDUCE -> sum.store(to[request.root()], start);
            case REDUCE_SCATTER -> sum.store(to[section], request.inPlace() ? start : first * bytes);
            case BROADCAST, ALL_GATHER -> throw new IllegalStateException(request.collective() + " sums nothing");
        }
    }

    /** Ends a run after the blocks that its threads work on; no later run succeeds. */
    @Override
    public void abort() {
        aborted = true;
    }

    /** Does nothing: the garbage collector frees the scratch memory. */
    @Override
    public void close() {}
}

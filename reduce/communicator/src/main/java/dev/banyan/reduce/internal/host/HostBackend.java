package dev.banyan.reduce.internal.host;

import dev.banyan.config.Setting;
import dev.banyan.reduce.backend.Backend;
import dev.banyan.reduce.backend.Completion;
import dev.banyan.reduce.backend.Executable;
import dev.banyan.reduce.backend.StepListener;
import dev.banyan.reduce.internal.BackendArguments;
import dev.banyan.reduce.internal.WorkerPool;
import dev.banyan.reduce.internal.code.HostCompiler;
import dev.banyan.reduce.internal.kernel.Kernels;
import dev.banyan.reduce.internal.loop.LoopReadiness;
import dev.banyan.reduce.internal.loop.LoopWarmup;
import dev.banyan.reduce.internal.sum.FusedSums;
import dev.banyan.reduce.internal.sum.SumRequest;
import dev.banyan.reduce.optimizer.ParameterUpdate;
import dev.banyan.schedule.Schedule;
import dev.banyan.schedule.plan.Platform;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Runs schedules on virtual devices, which are host memory and threads. Buffers may be any native segments that all
 * threads may access (of a shared, automatic or global arena), of any length and alignment.
 *
 * <p>The calling thread runs a schedule; the backend's worker threads help if there is enough work. The result does not
 * depend on the number of threads. Element-wise loops use {@code jdk.incubator.vector} where the JVM was started with
 * it ({@code --add-modules jdk.incubator.vector}), plain loops otherwise, with the same bits.
 *
 * <p>Safe for use from any thread. Different executables may run at the same time; the workers then help
 * the first of them.
 */
public final class HostBackend implements Backend, FusedSums {
    /** The number of threads that a host backend, or the engine of a store, works with. */
    public static final Setting<Integer> THREADS = Setting.wholeNumber(
                    "BANYAN_THREADS",
                    "threads",
                    1,
                    4096,
                    Runtime.getRuntime().availableProcessors(),
                    "Sets the number of worker threads of the host backend.")
            .withDefaultText("the JVM's available processors");

    /** The time for which a worker polls before it parks, in ns; about the time to wake it. */
    private static final long POLL_NANOS = 50_000;

    private static final int ALIGNMENT = 64;
    static final int PAGE_BYTES = 4096;
    /** The distance of two ranks' buffers in a page; a page has room for seven, and the eighth is at another place. */
    private static final int STAGGER_BYTES = 9 * ALIGNMENT;
    /** The length in bytes of a buffer from which on the system gives whole pages for it. */
    private static final long LARGE_BYTES = 1 << 20;
    /**
     * By how many bytes large buffers are farther apart than the system would place them. Their addresses would differ
     * by their length, which may be a power of two, and a page, and some processors take two such addresses for one
     * when they look for them in the level 1 cache. Measured: 9 pages and more are alike.
     */
    private static final long GAP_BYTES = 17 * PAGE_BYTES;

    private static final Logger LOG = LoggerFactory.getLogger(HostBackend.class);
    private static final AtomicInteger COUNT = new AtomicInteger();

    private final int ranks;
    private final Duration timeout;
    private final Kernels kernels;
    private final LoopReadiness readiness;
    private final WorkerPool pool;
    private final Arena memory = Arena.ofShared();
    private final AtomicLong runs = new AtomicLong();
    private volatile @Nullable StepListener listener;

    /**
     * @param ranks number of virtual devices, at least 1
     * @param threads number of threads that work on a schedule, the caller's among them; at least 1
     * @param timeout how long a run may take
     * @throws IllegalArgumentException if one of them is not positive
     */
    public HostBackend(int ranks, int threads, Duration timeout) {
        this(ranks, threads, timeout, Kernels.best(), LoopWarmup.SHARED);
    }

    HostBackend(int ranks, int threads, Duration timeout, Kernels kernels, LoopReadiness readiness) {
        if (ranks < 1 || threads < 1 || !timeout.isPositive()) {
            throw new IllegalArgumentException("a host backend of " + ranks + " ranks, " + threads
                    + " threads and timeout " + timeout + "; all must be positive");
        }
        this.ranks = ranks;
        this.timeout = timeout;
        this.kernels = kernels;
        this.readiness = readiness;
        pool = new WorkerPool("banyan-host-" + COUNT.incrementAndGet(), threads - 1, POLL_NANOS, () -> {});
    }

    /**
     * Sets the listener of the steps of all runs that begin from now on, except means of integers, which do not run
     * step by step; null removes it. Without a listener a step costs one comparison with null more.
     */
    public void setListener(@Nullable StepListener newListener) {
        listener = newListener;
    }

    @Nullable
    StepListener listener() {
        return listener;
    }

    LoopReadiness readiness() {
        return readiness;
    }

    /** Returns the number of the next run that has a listener. */
    long nextRun() {
        return runs.getAndIncrement();
    }

    @Override
    public boolean inHostMemory() {
        return true;
    }

    @Override
    public String name() {
        return "host";
    }

    @Override
    public Platform platform() {
        return Platform.ofThisHost();
    }

    @Override
    public MemorySegment allocate(int rank, long bytes) {
        BackendArguments.checkAllocation(rank, ranks, bytes);
        if (!memory.scope().isAlive()) {
            throw new IllegalStateException("the backend's memory is freed already; allocate before it is closed");
        }
        return staggered(rank, bytes, memory);
    }

    @Override
    public MemorySegment allocate(int rank, long bytes, Arena arena) {
        BackendArguments.checkAllocation(rank, ranks, bytes);
        BackendArguments.checkShared(arena);
        return staggered(rank, bytes, arena);
    }

    /**
     * Returns the place in a page where buffers of a rank begin. Large allocations begin at the same place of a page,
     * so that equal offsets of all ranks would meet in the few lines of one set of the cache.
     */
    static long stagger(int rank) {
        return (long) rank * STAGGER_BYTES % PAGE_BYTES;
    }

    private static MemorySegment staggered(int rank, long bytes, Arena arena) {
        long shift = stagger(rank);
        long gap = bytes < LARGE_BYTES ? 0 : GAP_BYTES;
        return arena.allocate(shift + bytes + gap, ALIGNMENT).asSlice(shift, bytes);
    }

    @Override
    public void copyToDevice(MemorySegment target, MemorySegment source) {
        MemorySegment.copy(source, 0, target, 0, source.byteSize());
    }

    @Override
    public void copyToHost(MemorySegment source, MemorySegment target) {
        MemorySegment.copy(source, 0, target, 0, target.byteSize());
    }

    @Override
    public @Nullable String refusal(MemorySegment buffer, DataType type) {
        return BackendArguments.isShared(buffer)
                ? null
                : "belongs to one thread only; take one from Communicator.allocate or a shared Arena";
    }

    @Override
    public Executable prepare(Schedule schedule, DataType type, ReduceOp op) {
        BackendArguments.checkSchedule(schedule, type, ranks);
        HostCompiler compiler = new HostCompiler(schedule, type, op, kernels, pool.helpers());
        return new HostExecutable(ranks, compiler, this, pool, timeout);
    }

    @Override
    public Executable prepare(SumRequest request) {
        return new HostSum(request, ranks, pool, timeout);
    }

    /** Runs the updates on the calling thread. */
    @Override
    public void update(List<ParameterUpdate> updates, Completion completion) {
        updates.forEach(HostOptimizer::run);
        completion.ended(null);
    }

    /**
     * Ends the worker threads and frees the memory. If a worker is stuck in a run that timed out, the memory is kept,
     * since the worker may still write to it. Closing twice is no error.
     */
    @Override
    public void close() {
        pool.close();
        if (pool.isWorking()) {
            LOG.warn("a thread is stuck in a collective that timed out; the memory of the backend is kept");
        } else if (memory.scope().isAlive()) {
            memory.close();
        }
    }
}

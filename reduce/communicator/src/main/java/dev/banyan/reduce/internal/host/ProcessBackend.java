package dev.banyan.reduce.internal.host;

import dev.banyan.reduce.backend.Backend;
import dev.banyan.reduce.backend.CollectiveTimeoutException;
import dev.banyan.reduce.backend.Completion;
import dev.banyan.reduce.backend.Executable;
import dev.banyan.reduce.backend.RankRange;
import dev.banyan.reduce.internal.BackendArguments;
import dev.banyan.reduce.internal.CloseAll;
import dev.banyan.reduce.internal.code.BlockExecutable;
import dev.banyan.reduce.internal.kernel.Kernels;
import dev.banyan.reduce.internal.processes.Job;
import dev.banyan.reduce.internal.sum.FusedSums;
import dev.banyan.reduce.internal.sum.SumRequest;
import dev.banyan.reduce.optimizer.ParameterUpdate;
import dev.banyan.schedule.Schedule;
import dev.banyan.schedule.plan.Platform;
import dev.banyan.schedule.type.Collective;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * Runs schedules on ranks that several processes of one machine hold, in host memory that all of them have mapped: each
 * process takes its share of the blocks, as the threads of a {@link HostBackend} do. All processes start the same
 * executables in the same order, with the buffers of their own ranks.
 *
 * <p>Memory of {@link #allocate(int, long)} is shared, so that nothing is copied. Other buffers are copied to shared
 * memory and back.
 *
 * <p>Safe for use from any thread; one executable runs at a time.
 */
public final class ProcessBackend implements Backend, FusedSums {
    private final Job job;
    private final HostBackend blocks;
    private final Duration timeout;
    private final SharedPieces pieces;
    private final Inboxes inboxes;
    private final ReentrantLock lock = new ReentrantLock();

    private ProcessBackend(Job job, Duration timeout) {
        this.job = job;
        this.timeout = timeout;
        blocks = new HostBackend(job.ranks(), 1, timeout);
        pieces = new SharedPieces(job);
        inboxes = new Inboxes(job, pieces);
    }

    /**
     * Makes the backend of this process, in all processes at the same time.
     *
     * @param job the processes, which {@link #close} leaves
     * @param timeout how long this and later runs may take
     */
    public static ProcessBackend join(Job job, Duration timeout) {
        return join(job, timeout, timeout);
    }

    /**
     * Makes the backend of this process, in all processes at the same time.
     *
     * @param job the processes, which {@link #close} leaves
     * @param joining how long this may take
     * @param timeout how long a run may take
     */
    public static ProcessBackend join(Job job, Duration joining, Duration timeout) {
        ProcessBackend joined = new ProcessBackend(job, timeout);
        try {
            joined.openInboxes(TimeUnit.NANOSECONDS.convert(joining));
            return joined;
        } catch (Throwable e) {
            joined.free();
            throw e;
        }
    }

    /** A process may close its communicator while others still read what it gave for its last short call. */
    private void openInboxes(long nanos) {
        long deadline = System.nanoTime() + nanos;
        job.meet("joining", nanos);
        IntStream.range(0, job.processes()).forEach(pieces::inbox);
        job.meet("joining", deadline - System.nanoTime());
    }

    @Override
    public String name() {
        return "host";
    }

    @Override
    public boolean inHostMemory() {
        return true;
    }

    @Override
    public RankRange held(int ranks) {
        return new RankRange(job.firstRank(), job.ranksHeld());
    }

    @Override
    public Platform platform() {
        return Platform.ofThisHost();
    }

    private void checkAllocation(int rank, long bytes) {
        BackendArguments.checkAllocation(rank, job.ranks(), bytes);
        RankRange held = held(job.ranks());
        if (!held.contains(rank)) {
            throw new IllegalArgumentException("rank " + rank + " is of another process; this one holds ranks "
                    + held.first() + " to " + (held.first() + held.count() - 1));
        }
    }

    @Override
    public MemorySegment allocate(int rank, long bytes) {
        checkAllocation(rank, bytes);
        lock.lock();
        try {
            return pieces.allocate(bytes, rank);
        } finally {
            lock.unlock();
        }
    }

    /** {@inheritDoc} This memory is not shared. */
    @Override
    public MemorySegment allocate(int rank, long bytes, Arena arena) {
        checkAllocation(rank, bytes);
        return blocks.allocate(rank, bytes, arena);
    }

    @Override
    public void copyToDevice(MemorySegment target, MemorySegment source) {
        blocks.copyToDevice(target, source);
    }

    @Override
    public void copyToHost(MemorySegment source, MemorySegment target) {
        blocks.copyToHost(source, target);
    }

    @Override
    public @Nullable String refusal(MemorySegment buffer, DataType type) {
        return blocks.refusal(buffer, type);
    }

    @Override
    public Executable prepare(Schedule schedule, DataType type, ReduceOp op) {
        String name = schedule.collective().label() + " by " + schedule.algorithm();
        String kind = name + " of " + schedule.count() + " " + type + " " + op + " to " + schedule.root()
                + (schedule.inPlace() ? " in place" : "");
        return executable(
                (BlockExecutable) blocks.prepare(schedule, type, op),
                name,
                kind,
                sizes(schedule.collective(), schedule.count(), type, schedule.inPlace()),
                schedule.inPlace());
    }

    @Override
    public Executable prepare(SumRequest request) {
        return executable(
                (BlockExecutable) blocks.prepare(request),
                "reproducible " + request.collective().label(),
                request.toString(),
                sizes(request.collective(), request.count(), request.type(), request.inPlace()),
                request.inPlace());
    }

    private ProcessExecutable.Sizes sizes(Collective collective, long count, DataType type, boolean inPlace) {
        long input = collective.inputElements(count, job.ranks()) * type.bytes();
        long output = collective.outputElements(count, job.ranks()) * type.bytes();
        return inPlace
                ? new ProcessExecutable.Sizes(Math.max(input, output), Math.max(input, output))
                : new ProcessExecutable.Sizes(input, output);
    }

    private Executable executable(
            BlockExecutable work, String name, String kind, ProcessExecutable.Sizes sizes, boolean inPlace) {
        // JVMs with and without vectors cut blocks differently.
        String cut = kind + " in " + work.blocks() + " blocks, " + Kernels.best();
        return new ProcessExecutable(work, name, cut, sizes, inPlace, job, pieces, inboxes, lock, timeout);
    }

    @Override
    public @Nullable Throwable failure() {
        try {
            job.checkUnbroken("a later call");
            return null;
        } catch (IllegalStateException | CollectiveTimeoutException e) {
            return e;
        }
    }

    @Override
    public void update(List<ParameterUpdate> updates, Completion completion) {
        blocks.update(updates, completion);
    }

    @Override
    public void close() {
        lock.lock();
        try {
            CloseAll all = new CloseAll();
            all.close(this::free);
            all.close(job::close);
            all.throwFailure();
        } finally {
            lock.unlock();
        }
    }

    private void free() {
        CloseAll all = new CloseAll();
        all.close(blocks::close);
        all.close(inboxes::close);
        all.close(pieces::close);
        all.throwFailure();
    }
}

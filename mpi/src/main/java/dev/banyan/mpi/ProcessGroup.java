package dev.banyan.mpi;

import dev.banyan.reduce.Communicator;
import dev.banyan.reduce.internal.CallQueue;
import dev.banyan.reduce.internal.CloseAll;
import dev.banyan.reduce.internal.Completions;
import dev.banyan.reduce.internal.host.Combiner;
import dev.banyan.reduce.internal.sum.ReproducibleSum;
import dev.banyan.schedule.plan.Algorithms;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.ref.Reference;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A group of the processes of a {@link World}, which includes this process, and the collectives between them. Each
 * process passes one buffer.
 *
 * <p><b>Order.</b> All processes of a group call the same collectives in the same order, with the same arguments
 * except for the buffers. The group runs them one at a time, in the order of the calls, on a thread of its own. Groups
 * are independent of each other. Processes of one machine reduce in memory that they share, and MPI goes between
 * machines; with BANYAN_SHARED_MEMORY=0, or where MPI takes memory of GPUs, MPI does all. With BANYAN_CHECK_ORDER=1
 * the processes compare the next call before they run it; if the calls differ, they fail on all processes with an
 * {@link OrderException}. Without that setting they compare each broadcast, and reductions of each length, type and
 * operation when they first run one; other calls that differ hang until their deadline.
 *
 * <p><b>Buffers</b> are native memory of the host, of any alignment and arena that the calling thread may access. If
 * {@link World#takesDeviceMemory} is true, they may be memory of a GPU, except for AVG. Until a call has ended, its
 * buffers must not be accessed and their arenas must stay open; after a timeout MPI may still write to them. An invalid
 * buffer is rejected with an IllegalArgumentException.
 *
 * <p><b>Results</b> are the same bits on all processes, and from run to run of the same world. With
 * BANYAN_REPRODUCIBLE=1 sums and means of floats depend on the numbers alone, whatever the number of processes, as
 * {@link ReproducibleSum} defines them.
 *
 * <p><b>Failures.</b> A call that does not end within BANYAN_TIMEOUT_MS fails with a
 * {@link dev.banyan.reduce.backend.CollectiveTimeoutException}, and a call that MPI rejects with an
 * {@link MpiException}. Either one breaks the world.
 *
 * <p><b>Futures</b> are copies: cancelling or completing one changes nothing but the copy.
 *
 * <p>Safe for use from any thread.
 */
public final class ProcessGroup implements AutoCloseable {
    private static final AtomicInteger COUNT = new AtomicInteger();

    private final World world;
    private final MpiProcesses processes;
    private final Duration timeout;
    private final CallQueue queue;
    private final @Nullable OrderCheck order;
    private final Agreements agreements;
    private final boolean reproducible;

    private final AtomicBoolean closed = new AtomicBoolean();
    /** True if the group's thread has asked for {@link #machine}. */
    private boolean knowsMachine;
    /** Reduces on this machine; made by the first reduction, null where MPI does that. */
    private @Nullable MachineReduction machine;

    private ProcessGroup(World world, MpiProcesses processes, Duration timeout) {
        this.world = world;
        this.processes = processes;
        this.timeout = timeout;
        queue = new CallQueue("banyan-mpi-group-" + COUNT.incrementAndGet(), timeout, Duration.ZERO);
        reproducible = world.config().get(Algorithms.REPRODUCIBLE);
        order = world.config().get(World.CHECK_ORDER)
                ? new OrderCheck(world.mpi(), processes.communicator(), processes.size())
                : null;
        agreements = new Agreements(world, processes);
    }

    /** Returns the group of some processes and registers it with the world. */
    static ProcessGroup of(World world, MpiProcesses processes) {
        return of(world, processes, world.config().get(Communicator.TIMEOUT));
    }

    private static ProcessGroup of(World world, MpiProcesses processes, Duration timeout) {
        ProcessGroup group = new ProcessGroup(world, processes, timeout);
        world.joined(group);
        return group;
    }

    /** Returns the rank of this process in the group, 0..size-1. */
    public int rank() {
        return processes.rank();
    }

    /** Returns the number of processes. */
    public int size() {
        return processes.size();
    }

    /**
     * Returns a group of the same processes whose collectives are independent of this group's. All processes call
     * it.
     */
    public ProcessGroup duplicate() {
        return duplicate(timeout);
    }

    /** Like {@link #duplicate()}, but calls of the new group have another timeout. */
    ProcessGroup duplicate(Duration other) {
        return make("duplicates the group", processes::duplicate, other);
    }

    /** Returns the group of the processes on this process's machine, which share memory. All processes call it. */
    ProcessGroup onSameMachine() {
        return make("splits the group by machine", processes::onSameMachine, timeout);
    }

    /**
     * Joins the devices of each machine, as {@link MachineDevices#join} does. All processes call it.
     *
     * @param local over the devices of this process
     */
    @Nullable
    MachineDevices joinDevices(Communicator local, Function<ProcessGroup, Between> exchange) {
        AtomicReference<@Nullable MachineDevices> joined = new AtomicReference<>();
        Completions.join(submit(
                "joins the devices of this machine",
                () -> joined.set(MachineDevices.join(world, processes, processes.onSameMachine(), local, exchange))));
        return joined.get();
    }

    private ProcessGroup make(String what, Supplier<MpiProcesses> call, Duration other) {
        AtomicReference<@Nullable ProcessGroup> made = new AtomicReference<>();
        Completions.join(submit(what, () -> made.set(of(world, call.get(), other))));
        return Objects.requireNonNull(made.get());
    }

    /** Returns when all processes have called this method. */
    public void barrier() {
        Completions.join(barrierAsync());
    }

    /** Like {@link #barrier}, but returns a future that completes when all processes have called this method. */
    public CompletableFuture<Void> barrierAsync() {
        return submit("waits at a barrier", processes::barrier);
    }

    /**
     * Compares what the processes are about to do if BANYAN_CHECK_ORDER is on; does nothing otherwise.
     *
     * @param what what this process does, as a predicate for messages, such as {@code pushes key 7}
     * @throws OrderException on all processes if their words differ
     */
    public void agree(String what) {
        Completions.join(agreeAsync(what));
    }

    /** Like {@link #agree}, but returns a future that completes when the comparison has ended. */
    public CompletableFuture<Void> agreeAsync(String what) {
        return order == null ? CompletableFuture.completedFuture(null) : submit(what, () -> {});
    }

    /**
     * Copies the root's buffer to the buffers of all other processes, which first compare name, length and type.
     *
     * @param name the name of the array for messages, such as {@code key 7}
     */
    public void broadcast(String name, MemorySegment buffer, long count, DataType type, int root) {
        if (root < 0 || root >= size()) {
            throw new IllegalArgumentException(
                    "root " + root + " for a broadcast between " + size() + " processes; roots are 0.." + (size() - 1));
        }
        check("broadcast", buffer, count, type);
        checkMemory("broadcast", buffer, world.takesDeviceMemory());
        MemorySegment memory = address(buffer);
        String what = words("broadcasts", name, count, type) + " from rank " + root;
        Completions.join(submit(
                what,
                () -> {
                    if (order == null) {
                        agreements.check(what);
                    }
                    processes.broadcast(memory, count, type, root);
                },
                buffer));
    }

    /** Reduces the buffers of all processes; every buffer receives the result. */
    public void allReduce(MemorySegment buffer, long count, DataType type, ReduceOp op) {
        Completions.join(allReduceAsync("an array", buffer, count, type, op));
    }

    /** Reduces one number per process and returns the result, which is the same on all processes. */
    public long combine(long number, ReduceOp op) {
        // A call that timed out may still write to the buffer, so the garbage collector frees it.
        MemorySegment buffer = Arena.ofAuto().allocateFrom(ValueLayout.JAVA_LONG, number);
        allReduce(buffer, 1, DataType.I64, op);
        return buffer.get(ValueLayout.JAVA_LONG, 0);
    }

    /**
     * Like {@link #allReduce}, but returns a future that completes when the call has ended.
     *
     * @param name the name of the array for messages, such as {@code key 7}
     */
    public CompletableFuture<Void> allReduceAsync(
            String name, MemorySegment buffer, long count, DataType type, ReduceOp op) {
        checkMemory("all_reduce by " + op, buffer, world.takesDeviceMemory() && op != ReduceOp.AVG);
        return allReduceAsync(name, buffer, count, type, op, size());
    }

    /** @param contributions how many numbers each result combines, by which AVG divides */
    CompletableFuture<Void> allReduceAsync(
            String name, MemorySegment buffer, long count, DataType type, ReduceOp op, int contributions) {
        check("all_reduce", buffer, count, type);
        MemorySegment memory = address(buffer);
        boolean mean = op == ReduceOp.AVG;
        if (mean && !type.isFloating()) {
            return meanAsync(name, List.of(buffer), count, type, contributions);
        }
        if (reproducible && ReproducibleSum.covers(type, op)) {
            return sumAsync(name, List.of(buffer), count, new ReproducibleSum(type, contributions, mean));
        }
        return submit(
                words("reduces", name, count, type) + " by " + op.name().toLowerCase(Locale.ROOT),
                () -> {
                    MpiProcesses among = agreed(count, type, op);
                    combine(among, memory, count, type, op);
                    if (mean) {
                        new Combiner(type, ReduceOp.SUM).divide(host(memory, count, type), count, contributions);
                    }
                },
                buffer);
    }

    /**
     * Averages arrays of integers of all processes; each process may pass several, and every array receives the result.
     *
     * @param contributions the number of arrays of all processes
     */
    CompletableFuture<Void> meanAsync(
            String name, List<MemorySegment> arrays, long count, DataType type, int contributions) {
        List<MemorySegment> memory =
                arrays.stream().map(array -> host(address(array), count, type)).toList();
        return submit(
                words("reduces", name, count, type) + " by avg",
                () -> {
                    MpiProcesses among = agreed(count, type, ReduceOp.AVG);
                    new IntegerMean(type, contributions).reduce(memory, count, sums -> sum(among, sums, DataType.I64));
                },
                arrays.toArray(MemorySegment[]::new));
    }

    /**
     * Sums arrays of floats of all processes reproducibly; each process may pass several, and every array receives the
     * result. The bits depend on the numbers alone, not on the processes that pass them.
     *
     * @param name the name of the array for messages, such as {@code key 7}
     * @param arrays of this process, at least one, of equal length
     * @param contributions the number of arrays of all processes
     * @param divisor by which sums are divided before they are rounded, 1 to the number of contributions
     * @return completes when the call has ended
     */
    public CompletableFuture<Void> reproducibleSumAsync(
            String name, List<MemorySegment> arrays, long count, DataType type, int contributions, int divisor) {
        ReproducibleSum sum = new ReproducibleSum(type, contributions, divisor);
        arrays.forEach(array -> {
            check("all_reduce", array, count, type);
            checkMemory("all_reduce", array, false);
        });
        return sumAsync(name, arrays, count, sum);
    }

    /** Sums arrays in host memory, which have been checked. */
    CompletableFuture<Void> sumAsync(String name, List<MemorySegment> arrays, long count, ReproducibleSum sum) {
        DataType type = sum.type();
        List<MemorySegment> memory =
                arrays.stream().map(array -> host(address(array), count, type)).toList();
        ReduceOp op = sum.divisor() > 1 ? ReduceOp.AVG : ReduceOp.SUM;
        return submit(
                words("reduces", name, count, type) + " by " + op.name().toLowerCase(Locale.ROOT) + ", reproducibly",
                () -> {
                    MpiProcesses among = agreed(count, type, op);
                    new SumReduction(sum)
                            .reduce(
                                    memory,
                                    count,
                                    codes ->
                                            combine(among, address(codes), codes.byteSize(), DataType.U8, ReduceOp.MAX),
                                    integers -> sum(among, integers, sum.integers()));
                },
                arrays.toArray(MemorySegment[]::new));
    }

    /** Returns the processes as they run a kind of reduction, on which they agree before they touch its memory. */
    private MpiProcesses agreed(long count, DataType type, ReduceOp op) {
        return order == null
                ? agreements.among(
                        "reduces " + count + " " + type + " by " + op.name().toLowerCase(Locale.ROOT))
                : processes;
    }

    private void sum(MpiProcesses among, MemorySegment integers, DataType type) {
        combine(among, address(integers), integers.byteSize() / type.bytes(), type, ReduceOp.SUM);
    }

    /** Returns a view of host memory that the group's thread may access, even if another thread confines the arena. */
    @SuppressWarnings("restricted")
    private static MemorySegment host(MemorySegment memory, long count, DataType type) {
        return memory.reinterpret(count * type.bytes());
    }

    /** Runs on the group's thread. AVG is a sum. */
    private void combine(MpiProcesses among, MemorySegment memory, long count, DataType type, ReduceOp op) {
        if (!knowsMachine && world.sharesMemory()) {
            knowsMachine = true;
            machine = MachineReduction.create(world, processes, processes.onSameMachine());
        }
        if (machine == null) {
            among.allReduce(memory, count, type, op);
        } else {
            machine.allReduce(host(memory, count, type), count, type, op == ReduceOp.AVG ? ReduceOp.SUM : op);
        }
    }

    /**
     * Waits for the submitted calls and frees the group. All processes call it. It ends the group's thread even if MPI
     * fails. A second call does nothing.
     */
    @Override
    public void close() {
        if (!closed.compareAndSet(false, true)) {
            return;
        }
        CloseAll all = new CloseAll();
        all.close(() -> Completions.join(submit("closes the group", () -> {
            if (machine != null) {
                machine.close();
            }
            agreements.close();
            processes.close();
        })));
        all.close(this::drain);
        world.left(this);
        all.throwFailure();
    }

    /** Waits for the submitted calls and accepts no more. */
    void drain() {
        try {
            queue.close();
        } catch (RuntimeException e) {
            throw world.failure("work in flight", timeout, e);
        }
    }

    /** Returns the address of a buffer, which any thread may pass to MPI. */
    private static MemorySegment address(MemorySegment buffer) {
        return MemorySegment.ofAddress(buffer.address());
    }

    private static String words(String verb, String name, long count, DataType type) {
        return verb + " " + name + " of " + count + " " + type;
    }

    private static void check(String what, MemorySegment buffer, long count, DataType type) {
        if (count < 0 || count > Long.MAX_VALUE / type.bytes()) {
            throw new IllegalArgumentException(what + " of " + count + " elements; give 0 or more");
        }
        long bytes = count * type.bytes();
        if (!buffer.isNative() || buffer.byteSize() < bytes) {
            throw new IllegalArgumentException(what + ": the buffer "
                    + (buffer.isNative()
                            ? "has " + buffer.byteSize() + " bytes, but " + bytes + " are needed"
                            : "is on the Java heap; take one from an Arena"));
        }
    }

    /** Memory of a GPU belongs to no thread that runs, so that it looks like memory of another thread's arena. */
    private static void checkMemory(String what, MemorySegment buffer, boolean takesDeviceMemory) {
        if (!takesDeviceMemory && !buffer.isAccessibleBy(Thread.currentThread())) {
            throw new IllegalArgumentException(what
                    + ": the buffer is memory of a GPU or of another thread's arena, which MPI does not take here;"
                    + " give host memory of this thread or of all, such as a copy by Communicator.copyToHost, or let"
                    + " MPI take memory of GPUs for all but AVG by BANYAN_MPI_DEVICE_MEMORY=1");
        }
    }

    /**
     * Runs a call on the group's thread, after those before. A failure breaks the world even if nobody waits for the
     * future or a user has cancelled it.
     *
     * @param what what the call does, as a predicate for messages
     * @param used the buffers, which MPI knows by address alone; they stay reachable until the call has ended
     */
    private CompletableFuture<Void> submit(String what, Runnable call, MemorySegment... used) {
        world.checkUsable();
        return queue.submit(() -> {
                    world.checkUsable();
                    if (order != null) {
                        order.check(what);
                    }
                    try {
                        call.run();
                    } finally {
                        Reference.reachabilityFence(used);
                    }
                })
                .exceptionally(failure -> {
                    throw world.failure("what " + what, timeout, failure);
                })
                .copy();
    }
}

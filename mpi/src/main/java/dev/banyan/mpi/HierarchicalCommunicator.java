package dev.banyan.mpi;

import dev.banyan.reduce.CollectiveCall;
import dev.banyan.reduce.Communicator;
import dev.banyan.reduce.internal.CallQueue;
import dev.banyan.reduce.internal.CloseAll;
import dev.banyan.reduce.internal.Completions;
import dev.banyan.schedule.type.Collective;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * Collectives over the devices of all processes: each process has a {@link Communicator} over its own devices, and MPI
 * goes between the processes. An allreduce is a reduction inside each process, an allreduce between the processes'
 * leaders and a broadcast inside, chunk by chunk, so that the three overlap. {@link Leaders} says when several devices
 * lead at once: then slices are reduce-scattered inside, all-reduced between and all-gathered inside. Where all
 * processes have one device they do nothing but the call of MPI, on the caller's buffer. Processes may differ in their
 * number of devices and in their backend; then one device of each leads.
 *
 * <p><b>Buffers</b> are as {@link Communicator} wants them, one for each device of this process. Where devices have
 * memory of their own, MPI gets it as it is if it {@linkplain World#isCudaAware takes it}; else chunks go through the
 * host's.
 *
 * <p><b>Order, results and failures</b> are as {@link ProcessGroup} has them: the same calls in the same order in all
 * processes, one at a time; the same bits on all devices.
 *
 * <p><b>Cost.</b> Making one is a collective. With n processes of d devices, an allreduce of b bytes moves
 * 2 b (n-1)/n or more over each process's network, whatever d is.
 *
 * <p>Safe for use from any thread.
 */
public final class HierarchicalCommunicator implements AutoCloseable {
    /** What inner calls get beyond the timeout, to report it themselves. */
    private static final Duration GRACE = Duration.ofSeconds(5);

    /** Assumed, not tuned: long enough for bandwidth, short enough to overlap. */
    private static final long PIECE_BYTES = 4 << 20;

    private static final AtomicInteger COUNT = new AtomicInteger();

    private final Communicator local;
    private final List<ProcessGroup> groups;
    private final Leaders leaders;
    private final int devices;
    private final CallQueue queue;
    private final CallQueue copies;
    private final Arena arena = Arena.ofShared();
    private final AtomicBoolean closed = new AtomicBoolean();
    private final Between direct;
    /** What MPI can't take from where it is. */
    private final Between staged;

    private final boolean cudaAware;
    /** Whether processes differ only in what their buffers hold; if not, all cut arrays as the one does that must. */
    private final boolean alike;

    private HierarchicalCommunicator(World world, Communicator local, Leaders leaders, boolean cudaAware) {
        this.local = local;
        ProcessGroup first = world.all().duplicate();
        alike = alike(first, local, cudaAware);
        this.leaders = alike ? leaders : Leaders.ONE;
        groups = Stream.concat(
                        Stream.of(first),
                        IntStream.range(1, this.leaders.groups(local)).mapToObj(_ -> first.duplicate()))
                .toList();
        devices = (int) first.combine(local.size(), ReduceOp.SUM);
        String name = "banyan-hierarchy-" + COUNT.incrementAndGet();
        queue = new CallQueue(name, local.config().get(Communicator.TIMEOUT), GRACE);
        copies = new CallQueue(name + "-copies", local.config().get(Communicator.TIMEOUT), GRACE);
        this.cudaAware = cudaAware;
        direct = new Between.Direct(groups, devices);
        staged = local.inHostMemory() ? direct : new Between.Staged(groups, devices, local, copies, arena);
    }

    /**
     * A communicator over the devices of all processes. All processes call it.
     *
     * @param local over the devices of this process; is left open
     */
    public static HierarchicalCommunicator create(World world, Communicator local) {
        return create(world, local, Leaders.AUTO, world.isCudaAware());
    }

    /**
     * The same with given choices, the same in all processes.
     *
     * @param cudaAware whether MPI takes the devices' memory
     */
    static HierarchicalCommunicator create(World world, Communicator local, Leaders leaders, boolean cudaAware) {
        return new HierarchicalCommunicator(world, Objects.requireNonNull(local, "local"), leaders, cudaAware);
    }

    /** Whether all processes have as many devices, of the same kind of memory, and the same choice. */
    private static boolean alike(ProcessGroup group, Communicator local, boolean cudaAware) {
        long mine = 4L * local.size() + (local.inHostMemory() ? 2 : 0) + (cudaAware ? 1 : 0);
        return group.combine(mine, ReduceOp.MIN) == group.combine(mine, ReduceOp.MAX);
    }

    /** Number of devices of all processes. */
    public int devices() {
        return devices;
    }

    /** The devices of this process. */
    public Communicator local() {
        return local;
    }

    /** Gives every device of every process the reduction of all buffers, in place. */
    public void allReduce(List<MemorySegment> buffers, long count, DataType type, ReduceOp op) {
        CollectiveCall call = checked(buffers, count, type, op);
        queue.run(() -> carryOut("an array", call));
    }

    /**
     * As {@link #allReduce}; the future completes when it has ended.
     *
     * @param name what is reduced, for messages, such as {@code key 7}
     */
    public CompletableFuture<Void> allReduceAsync(
            String name, List<MemorySegment> buffers, long count, DataType type, ReduceOp op) {
        CollectiveCall call = checked(buffers, count, type, op);
        return queue.submit(() -> carryOut(name, call));
    }

    private CollectiveCall checked(List<MemorySegment> buffers, long count, DataType type, ReduceOp op) {
        CollectiveCall call = CollectiveCall.inPlace(Collective.ALL_REDUCE, -1, count, type, op, buffers);
        local.check(call);
        return call;
    }

    private void carryOut(String name, CollectiveCall call) {
        // A mean is divided by the host.
        Between between = cudaAware && call.op() != ReduceOp.AVG ? direct : staged;
        if (call.op() == ReduceOp.AVG && !call.type().isFloating()) {
            mean(name, call);
        } else if (alike && local.size() == 1 && between.limit() == Long.MAX_VALUE) {
            Completions.join(
                    between.start(0, 0, name, call.outputs().getFirst(), call.count(), call.type(), call.op()));
        } else {
            long sliced = leaders.sliced(call, local);
            Phases each = new Phases.SeveralLeaders(local, between);
            new Pipeline(name, call, each, Math.min(PIECE_BYTES, between.limit()) * local.size()).run(0, sliced);
            Phases one = new Phases.OneLeader(local, between);
            new Pipeline(name, call, one, Math.min(PIECE_BYTES, between.limit())).run(sliced, call.count());
        }
    }

    /** Sums of integers that are too long for their type go by way of the host. */
    private void mean(String name, CollectiveCall call) {
        List<MemorySegment> arrays = call.outputs();
        if (local.inHostMemory()) {
            Completions.join(groups.getFirst().meanAsync(name, arrays, call.count(), call.type(), devices));
            return;
        }
        try (Arena copies = Arena.ofShared()) {
            long bytes = call.count() * call.type().bytes();
            List<MemorySegment> read =
                    arrays.stream().map(_ -> copies.allocate(bytes, Long.BYTES)).toList();
            for (int device = 0; device < arrays.size(); device++) {
                local.copyToHost(arrays.get(device), read.get(device));
            }
            Completions.join(groups.getFirst().meanAsync(name, read, call.count(), call.type(), devices));
            for (int device = 0; device < arrays.size(); device++) {
                local.copyToDevice(arrays.get(device).asSlice(0, bytes), read.get(device));
            }
        }
    }

    /**
     * Copies the first buffer of process 0 to all buffers of all processes.
     *
     * @param buffers one for each device of this process
     */
    public void broadcast(List<MemorySegment> buffers, long count, DataType type) {
        CollectiveCall call = CollectiveCall.inPlace(Collective.BROADCAST, 0, count, type, ReduceOp.SUM, buffers);
        local.check(call);
        queue.run(() -> {
            MemorySegment first = buffers.getFirst().asSlice(0, count * type.bytes());
            if (local.inHostMemory()) {
                groups.getFirst().broadcast(first, count, type, 0);
            } else {
                try (Arena copies = Arena.ofShared()) {
                    MemorySegment copy = copies.allocate(first.byteSize(), Long.BYTES);
                    local.copyToHost(first, copy);
                    groups.getFirst().broadcast(copy, count, type, 0);
                    local.copyToDevice(first, copy);
                }
            }
            local.run(call);
        });
    }

    /**
     * Waits for the calls that were submitted and frees what it holds. All processes call it. It closes every part even
     * if one fails; memory that a call may still use is kept. Closing twice is no error.
     */
    @Override
    public void close() {
        if (!closed.compareAndSet(false, true)) {
            return;
        }
        CloseAll all = new CloseAll();
        all.close(queue::close);
        groups.forEach(group -> all.close(group::close));
        if (all.close(copies::close)) {
            all.close(arena::close);
        }
        all.throwFailure();
    }
}

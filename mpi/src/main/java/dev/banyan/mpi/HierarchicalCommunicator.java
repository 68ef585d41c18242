package dev.banyan.mpi;

import dev.banyan.reduce.CollectiveCall;
import dev.banyan.reduce.Communicator;
import dev.banyan.reduce.backend.CallerStreams;
import dev.banyan.reduce.backend.Completion;
import dev.banyan.reduce.internal.CallQueue;
import dev.banyan.reduce.internal.CloseAll;
import dev.banyan.reduce.internal.Completions;
import dev.banyan.reduce.internal.sum.ReproducibleSum;
import dev.banyan.schedule.plan.Algorithms;
import dev.banyan.schedule.type.Collective;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Allreduce over the devices of all processes. Each process has a {@link Communicator} over its own devices; MPI
 * connects the processes. An allreduce is a reduction inside each process, an allreduce between the leading devices of
 * the processes and a broadcast inside each process. It works in pieces, so that the three phases overlap. If several
 * devices lead at once ({@link Leaders}), slices are reduce-scattered inside, all-reduced between and all-gathered
 * inside. If every process has one device, the allreduce is one call of MPI on the caller's buffer. Processes may
 * differ in their number of devices and in their backend; then one device of each process leads.
 *
 * <p><b>Processes of one machine.</b> If all have the same number of GPUs of their own, these GPUs reach each other's
 * memory. If all have the same number of devices in host memory, and no process has a second processor, the processes
 * share memory. Then the devices of a machine reduce to one of them, one process of each machine exchanges the sums,
 * and all receive the result. On a single machine, the allreduce is one collective. A call that fails there breaks this
 * communicator.
 *
 * <p><b>Buffers</b> must meet the requirements of {@link Communicator}, one for each device of this process. Pieces of
 * device memory go through pinned memory of the host, unless MPI {@linkplain World#takesDeviceMemory takes device
 * memory}.
 *
 * <p><b>Order, results and failures</b> are those of {@link ProcessGroup}: all processes make the same calls in the
 * same order, one at a time, and all devices receive the same bits. With BANYAN_REPRODUCIBLE=1 sums and means of floats
 * have one phase, on the host: they depend neither on the number of processes nor on that of their devices.
 *
 * <p><b>Cost.</b> Creating one is a collective. With n processes, an allreduce of b bytes moves at least 2 b (n-1)/n
 * bytes over the network of each process, whatever its number of devices.
 *
 * <p>Safe for use from any thread.
 */
public final class HierarchicalCommunicator implements AutoCloseable {
    /** The grace period in which an inner call that timed out reports that itself. */
    private static final Duration GRACE = Duration.ofSeconds(5);

    /** Bytes of a piece per leader. Assumed, not tuned: long enough for bandwidth, short enough to overlap. */
    private static final long PIECE_BYTES = 4 << 20;

    private static final AtomicInteger COUNT = new AtomicInteger();

    private final Communicator local;
    private final List<ProcessGroup> groups;
    private final Leaders leaders;
    private final int devices;
    private final boolean reproducible;

    private final CallQueue queue;
    private final CallQueue copies;
    private final Arena arena = Arena.ofShared();
    private final AtomicBoolean closed = new AtomicBoolean();
    private final Between direct;
    /** For memory that MPI cannot access. */
    private final Between staged;

    private final boolean takesDeviceMemory;
    /** The devices of the processes of each machine, where they reach each other's memory; else null. */
    private final @Nullable MachineDevices joined;

    /**
     * True if all processes have the same number of devices and kind of memory. If not, one device of each leads, and
     * all processes cut arrays into pieces, even a process that could do without.
     */
    private final boolean alike;

    /**
     * Creates a communicator with given choices, which must be the same in all processes.
     *
     * @param takesDeviceMemory whether MPI takes the devices' memory
     * @param joins whether the devices of a machine's processes reduce together, if they are alike and can
     */
    HierarchicalCommunicator(
            World world, Communicator local, Leaders leaders, boolean takesDeviceMemory, boolean joins) {
        this.local = Objects.requireNonNull(local, "local");
        ProcessGroup first = world.all().duplicate();
        reproducible = isReproducible(first, local);
        alike = alike(first, local, takesDeviceMemory);
        this.leaders = alike ? leaders : Leaders.ONE;
        groups = Stream.concat(
                        Stream.of(first),
                        IntStream.range(1, this.leaders.groups(local)).mapToObj(_ -> first.duplicate()))
                .toList();
        devices = (int) first.combine(local.size(), ReduceOp.SUM);
        String name = "banyan-hierarchy-" + COUNT.incrementAndGet();
        queue = new CallQueue(name, local.config().get(Communicator.TIMEOUT), GRACE);
        copies = new CallQueue(name + "-copies", local.config().get(Communicator.TIMEOUT), GRACE);
        this.takesDeviceMemory = takesDeviceMemory;
        direct = new Between.Direct(groups, devices);
        joined = joins && alike && !reproducible
                ? first.joinDevices(
                        local,
                        leading -> local.inHostMemory()
                                ? new Between.Direct(List.of(leading), devices)
                                : new Between.Staged(List.of(leading), devices, local, copies, arena))
                : null;
        staged = local.inHostMemory() || joined != null
                ? direct
                : new Between.Staged(groups, devices, local, copies, arena);
    }

    /**
     * Creates a communicator over the devices of all processes. All processes call it.
     *
     * @param local the communicator over the devices of this process; it stays open
     */
    public static HierarchicalCommunicator create(World world, Communicator local) {
        boolean takesDeviceMemory = world.takesDeviceMemory();
        boolean joins = joins(world, local, takesDeviceMemory);
        return new HierarchicalCommunicator(world, local, Leaders.AUTO, takesDeviceMemory, joins);
    }

    /**
     * Returns whether devices of several processes reduce together if they can. In host memory each process has one
     * thread for that; its own communicator has one for each processor. One array of each process is a call of the
     * group, which shares memory itself.
     */
    private static boolean joins(World world, Communicator local, boolean takesDeviceMemory) {
        if (!local.inHostMemory()) {
            return world.sharesMemory() && !takesDeviceMemory;
        }
        return world.sharesMemory() && world.fillsMachines() && local.size() > 1;
    }

    private static boolean isReproducible(ProcessGroup group, Communicator local) {
        boolean reproducible = local.config().get(Algorithms.REPRODUCIBLE);
        if (group.combine(reproducible ? 1 : 0, ReduceOp.SUM) % group.size() != 0) {
            throw new IllegalArgumentException(
                    "some processes have BANYAN_REPRODUCIBLE=1 and others not; set it alike in all of them");
        }
        return reproducible;
    }

    /** Returns whether all processes have the same number of devices, kind of memory and choice. */
    private static boolean alike(ProcessGroup group, Communicator local, boolean takesDeviceMemory) {
        long mine = 4L * local.size() + (local.inHostMemory() ? 2 : 0) + (takesDeviceMemory ? 1 : 0);
        return group.combine(mine, ReduceOp.MIN) == group.combine(mine, ReduceOp.MAX);
    }

    /**
     * Returns whether the devices of each machine's processes reduce together, so that inside a machine no array of a
     * GPU passes the host; the same in all processes.
     */
    public boolean joinsDevices() {
        return joined != null;
    }

    /** Returns the number of devices of all processes. */
    int devices() {
        return devices;
    }

    /**
     * Reduces the buffers of all devices of all processes; every buffer receives the result.
     *
     * @param buffers one for each device of this process
     */
    public void allReduce(List<MemorySegment> buffers, long count, DataType type, ReduceOp op) {
        CollectiveCall call = CollectiveCall.of(Collective.ALL_REDUCE, -1, count, type, op, buffers);
        local.check(call);
        queue.run(() -> carryOut(call));
    }

    /**
     * Puts allreduces into streams of the caller. They begin when the work that is in the streams has ended, and work
     * that is put into them after this method has returned waits for their end. The method waits for no device if all
     * devices are of one machine and {@linkplain #joinsDevices joined}; otherwise it returns when the allreduces have
     * ended.
     *
     * @param calls allreduces in place, in the order in which they run, with a buffer for each device of this process;
     *     other calls may use the buffers when the future has completed
     * @param streams one for each device of this process, {@code CudaStreams} on GPUs
     * @return completes when all have ended; with an IllegalArgumentException if the backend has no streams, or these
     *     are of another kind or number
     * @throws IllegalArgumentException if a call is no allreduce in place, or a buffer does not fit
     */
    public CompletableFuture<Void> enqueueAll(List<CollectiveCall> calls, CallerStreams streams) {
        for (CollectiveCall call : calls) {
            if (call.collective() != Collective.ALL_REDUCE || !call.inPlace()) {
                throw new IllegalArgumentException(call.collective().label() + (call.inPlace() ? "" : " out of place")
                        + " can't be enqueued between processes; give allreduces in place");
            }
            local.check(call);
        }
        return queue.enqueue(new Enqueued(calls, streams));
    }

    private final class Enqueued implements CallQueue.Call {
        private final List<CollectiveCall> calls;
        private final CallerStreams streams;

        Enqueued(List<CollectiveCall> calls, CallerStreams streams) {
            this.calls = List.copyOf(calls);
            this.streams = streams;
        }

        @Override
        public int runCount() {
            return Math.max(1, calls.size());
        }

        @Override
        public void start(Completion completion) {
            MachineDevices together = joined;
            if (together != null
                    && together.isAlone()
                    && calls.stream().noneMatch(HierarchicalCommunicator::isIntegerMean)) {
                calls.forEach(HierarchicalCommunicator.this::agree);
                var _ = together.enqueueAll(calls, streams)
                        .whenComplete(
                                (_, failure) -> completion.ended(failure == null ? null : Completions.cause(failure)));
                return;
            }
            if (!calls.isEmpty()) {
                awaitStreams(calls.getFirst().outputs());
            }
            calls.forEach(HierarchicalCommunicator.this::carryOut);
            completion.ended(null);
        }

        /** Waits for what is in the streams: a call that moves nothing ends after it. */
        private void awaitStreams(List<MemorySegment> buffers) {
            Completions.join(local.enqueue(CollectiveCall.broadcast(buffers, 0, DataType.U8), streams));
        }
    }

    /** Returns whether a call is a mean whose sum may not fit the type, which is why the host divides. */
    private static boolean isIntegerMean(CollectiveCall call) {
        return call.op() == ReduceOp.AVG && !call.type().isFloating();
    }

    private void agree(CollectiveCall call) {
        groups.getFirst()
                .agree("reduces an array of " + call.count() + " " + call.type() + " by "
                        + call.op().name().toLowerCase(Locale.ROOT));
    }

    private void carryOut(CollectiveCall call) {
        // The host divides sums to get means.
        Between between = takesDeviceMemory && call.op() != ReduceOp.AVG ? direct : staged;
        if (reproducible && ReproducibleSum.covers(call.type(), call.op())) {
            onHost(
                    call,
                    arrays -> groups.getFirst()
                            .sumAsync(
                                    "an array",
                                    arrays,
                                    call.count(),
                                    new ReproducibleSum(call.type(), devices, call.op() == ReduceOp.AVG)));
        } else if (isIntegerMean(call)) {
            onHost(call, arrays -> groups.getFirst().meanAsync("an array", arrays, call.count(), call.type(), devices));
        } else if (joined != null) {
            agree(call);
            joined.run(call);
        } else if (alike && local.size() == 1 && between.limit() == Long.MAX_VALUE) {
            Completions.join(between.start(0, 0, call.outputs().getFirst(), call.count(), call.type(), call.op()));
        } else {
            long sliced = leaders.sliced(call, local);
            Phases each = new Phases.SeveralLeaders(local, between);
            new Pipeline(call, each, Math.min(PIECE_BYTES, between.limit()) * local.size()).run(0, sliced);
            Phases one = new Phases.OneLeader(local, between);
            new Pipeline(call, one, Math.min(PIECE_BYTES, between.limit())).run(sliced, call.count());
        }
    }

    /** Runs a reduction that needs the arrays of all devices in host memory. */
    private void onHost(CollectiveCall call, Function<List<MemorySegment>, CompletableFuture<Void>> reduction) {
        List<MemorySegment> arrays = call.outputs();
        if (local.inHostMemory()) {
            Completions.join(reduction.apply(arrays));
            return;
        }
        // A call that timed out may still access the copies, so the garbage collector frees them.
        Arena copied = Arena.ofAuto();
        long bytes = call.count() * call.type().bytes();
        List<MemorySegment> host = arrays.stream()
                .map(array -> {
                    MemorySegment copy = copied.allocate(bytes, Long.BYTES);
                    local.copyToHost(array, copy);
                    return copy;
                })
                .toList();
        Completions.join(reduction.apply(host));
        for (int device = 0; device < arrays.size(); device++) {
            local.copyToDevice(arrays.get(device).asSlice(0, bytes), host.get(device));
        }
    }

    /**
     * Waits for the submitted calls and frees the resources. All processes call it. It closes every part even if one
     * fails, and keeps memory that a call may still use. A second call does nothing.
     */
    @Override
    public void close() {
        if (!closed.compareAndSet(false, true)) {
            return;
        }
        CloseAll all = new CloseAll();
        all.close(queue::close);
        if (joined != null) {
            all.close(joined::close);
        }
        groups.forEach(group -> all.close(group::close));
        if (all.close(copies::close)) {
            all.close(arena::close);
        }
        all.throwFailure();
    }
}

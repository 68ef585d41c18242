package dev.banyan.mpi;

import static java.lang.foreign.ValueLayout.ADDRESS;

import dev.banyan.reduce.Communicator;
import dev.banyan.reduce.host.Combiner;
import dev.banyan.reduce.internal.CallQueue;
import dev.banyan.reduce.internal.CloseAll;
import dev.banyan.reduce.internal.Completions;
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
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Some of the processes of a {@link World}, this one among them, and collectives between them. Each process gives one
 * buffer.
 *
 * <p><b>Order.</b> All processes of a group call the same collectives in the same order, with the same arguments but
 * for the buffers. They run one at a time, in the order of the calls, on a thread of the group; groups are independent
 * of each other. With BANYAN_CHECK_ORDER=1 the processes compare what they are about to do before each, and where that
 * differs the call fails on all of them with an {@link OrderException}; without, such a call hangs until its deadline
 * or makes garbage.
 *
 * <p><b>Buffers</b> are native memory of the host, of any alignment and arena; where {@link World#isCudaAware} they may
 * be memory of a CUDA device, except for AVG. They must not be touched, nor their arenas closed, until the call has
 * ended; after a timeout MPI may still write there. Wrong ones are refused by an IllegalArgumentException.
 *
 * <p><b>Results</b> are the same bits on all processes, and from run to run of the same world.
 *
 * <p><b>Failures.</b> A call that does not end within BANYAN_TIMEOUT_MS fails with a
 * {@link dev.banyan.reduce.backend.CollectiveTimeoutException}, one that MPI refuses with an {@link MpiException}; then
 * the world is broken.
 *
 * <p>Safe for use from any thread.
 */
public final class ProcessGroup implements AutoCloseable {
    /** Longest part of an array in one call of MPI, which counts elements in 32 bits; some that carries it, bytes. */
    private static final long PIECE_BYTES = 1 << 30;

    private static final AtomicInteger COUNT = new AtomicInteger();

    private final World world;
    private final MpiLibrary mpi;
    private final MemorySegment communicator;
    private final int rank;
    private final int size;
    private final CallQueue queue;
    private final @Nullable OrderCheck order;
    private final AtomicBoolean closed = new AtomicBoolean();

    private ProcessGroup(World world, MemorySegment communicator) {
        this.world = world;
        this.communicator = communicator;
        mpi = world.mpi();
        mpi.call(MpiCall.SET_ERRHANDLER, communicator, mpi.handle("ompi_mpi_errors_return"));
        rank = mpi.number(MpiCall.RANK, communicator);
        size = mpi.number(MpiCall.SIZE, communicator);
        queue = new CallQueue(
                "banyan-mpi-group-" + COUNT.incrementAndGet(), world.config().get(Communicator.TIMEOUT), Duration.ZERO);
        order = world.config().get(World.CHECK_ORDER) ? new OrderCheck(mpi, communicator, size) : null;
    }

    /** The group of a communicator of MPI. */
    static ProcessGroup of(World world, MemorySegment communicator) {
        ProcessGroup group = new ProcessGroup(world, communicator);
        world.joined(group);
        return group;
    }

    /** Rank of this process in the group, 0..size-1. */
    public int rank() {
        return rank;
    }

    /** Number of processes. */
    public int size() {
        return size;
    }

    /** The world that it is part of. */
    public World world() {
        return world;
    }

    /** A group of the same processes, whose collectives are independent of this one's. All processes call it. */
    public ProcessGroup duplicate() {
        return make("duplicates the group", () -> mpi.made(MpiCall.DUP, communicator));
    }

    /**
     * Groups of those that give the same colour. All processes call it.
     *
     * @param colour at least 0
     * @param position ranks are in its order, those of equals in that of this group
     */
    public ProcessGroup split(int colour, int position) {
        if (colour < 0) {
            throw new IllegalArgumentException("colour " + colour + "; colours are 0 or more");
        }
        return make("splits the group", () -> mpi.made(MpiCall.SPLIT, communicator, colour, position));
    }

    /** Those that share this one's memory, which is its machine. All processes call it. */
    ProcessGroup onSameMachine() {
        return make(
                "splits the group by machine",
                () -> mpi.made(
                        MpiCall.SPLIT_TYPE,
                        communicator,
                        MpiLibrary.SHARED_MEMORY,
                        rank,
                        mpi.handle("ompi_mpi_info_null")));
    }

    private ProcessGroup make(String what, Supplier<MemorySegment> call) {
        AtomicReference<@Nullable ProcessGroup> made = new AtomicReference<>();
        Completions.join(submit(what, () -> made.set(of(world, call.get()))));
        return Objects.requireNonNull(made.get());
    }

    /** Returns when all processes have called it. */
    public void barrier() {
        Completions.join(barrierAsync());
    }

    /** As {@link #barrier}; the future completes when all processes have called it. */
    public CompletableFuture<Void> barrierAsync() {
        return submit("waits at a barrier", () -> mpi.call(MpiCall.BARRIER, communicator));
    }

    /**
     * Compares what the processes are about to do, if BANYAN_CHECK_ORDER is on, and does nothing else.
     *
     * @param what what this process does, in words that follow its name, such as {@code pushes key 7}
     * @throws OrderException on all processes if one of them does something else
     */
    public void agree(String what) {
        Completions.join(agreeAsync(what));
    }

    /** As {@link #agree}; the future completes when it has ended. */
    public CompletableFuture<Void> agreeAsync(String what) {
        return order == null ? CompletableFuture.completedFuture(null) : submit(what, () -> {});
    }

    /** Copies the root's buffer to those of all others. */
    public void broadcast(MemorySegment buffer, long count, DataType type, int root) {
        Completions.join(broadcastAsync("an array", buffer, count, type, root));
    }

    /**
     * As {@link #broadcast}; the future completes when it has ended.
     *
     * @param name what is sent, for messages, such as {@code key 7}
     */
    public CompletableFuture<Void> broadcastAsync(
            String name, MemorySegment buffer, long count, DataType type, int root) {
        if (root < 0 || root >= size) {
            throw new IllegalArgumentException(
                    "root " + root + " for a broadcast between " + size + " processes; roots are 0.." + (size - 1));
        }
        check("broadcast", buffer, count, type);
        MemorySegment memory = address(buffer);
        return submit(
                words("broadcasts", name, count, type) + " from rank " + root,
                () -> pieces(
                        count,
                        type,
                        (at, elements) ->
                                mpi.call(MpiCall.BROADCAST, at(memory, at), elements, type(type), root, communicator)),
                buffer);
    }

    /** Gives every process the reduction of all buffers, in place. */
    public void allReduce(MemorySegment buffer, long count, DataType type, ReduceOp op) {
        Completions.join(allReduceAsync("an array", buffer, count, type, op));
    }

    /** The reduction of one number of each process, and the same in all. */
    public long combine(long number, ReduceOp op) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment buffer = arena.allocateFrom(ValueLayout.JAVA_LONG, number);
            allReduce(buffer, 1, DataType.I64, op);
            return buffer.get(ValueLayout.JAVA_LONG, 0);
        }
    }

    /**
     * As {@link #allReduce(MemorySegment, long, DataType, ReduceOp)}; the future completes when it has ended.
     *
     * @param name what is reduced, for messages, such as {@code key 7}
     */
    public CompletableFuture<Void> allReduceAsync(
            String name, MemorySegment buffer, long count, DataType type, ReduceOp op) {
        return allReduceAsync(name, buffer, count, type, op, size);
    }

    /**
     * Starts an allreduce in place that nobody waits for on a thread.
     *
     * @param count less than 2^31
     * @param op not AVG
     */
    public StartedReduction startAllReduce(MemorySegment buffer, long count, DataType type, ReduceOp op) {
        if (op == ReduceOp.AVG || count > Integer.MAX_VALUE) {
            throw new IllegalArgumentException("a started all_reduce of " + count + " elements by " + op
                    + "; it takes less than 2^31 elements, and no average");
        }
        check("all_reduce", buffer, count, type);
        MemorySegment memory = address(buffer);
        String what = words("starts to reduce", "an array", count, type) + " by "
                + op.name().toLowerCase(Locale.ROOT);
        StartedReduction started = new StartedReduction(world, "what " + what, buffer);
        Completions.join(submit(what, () -> {
            world.underWay().add(started);
            mpi.call(
                    MpiCall.START_ALL_REDUCE,
                    MpiLibrary.IN_PLACE,
                    memory,
                    (int) count,
                    type(type),
                    world.reductions().operation(type, op),
                    communicator,
                    started.request());
        }));
        return started;
    }

    /** @param contributions how many numbers each element is made of in the end: what AVG divides by */
    CompletableFuture<Void> allReduceAsync(
            String name, MemorySegment buffer, long count, DataType type, ReduceOp op, int contributions) {
        check("all_reduce", buffer, count, type);
        MemorySegment memory = address(buffer);
        boolean mean = op == ReduceOp.AVG;
        if (mean && !type.isFloating()) {
            return meanAsync(name, List.of(buffer), count, type, contributions);
        }
        return submit(
                words("reduces", name, count, type) + " by " + op.name().toLowerCase(Locale.ROOT),
                () -> {
                    sum(memory, count, type, op);
                    if (mean) {
                        new Combiner(type, ReduceOp.SUM).divide(host(memory, count, type), count, contributions);
                    }
                },
                buffer);
    }

    /**
     * Makes several arrays of each process the mean of all of them, of integers.
     *
     * @param contributions number of arrays of all processes
     */
    CompletableFuture<Void> meanAsync(
            String name, List<MemorySegment> arrays, long count, DataType type, int contributions) {
        List<MemorySegment> memory =
                arrays.stream().map(array -> host(address(array), count, type)).toList();
        return submit(
                words("reduces", name, count, type) + " by avg",
                () -> new IntegerMean(type, contributions)
                        .reduce(
                                memory,
                                count,
                                wide -> sum(address(wide), wide.byteSize() / Long.BYTES, DataType.I64, ReduceOp.SUM)),
                arrays.toArray(MemorySegment[]::new));
    }

    /** The same memory for the group's thread, whoever owns its arena. */
    @SuppressWarnings("restricted")
    private static MemorySegment host(MemorySegment memory, long count, DataType type) {
        return memory.reinterpret(count * type.bytes());
    }

    private void sum(MemorySegment memory, long count, DataType type, ReduceOp op) {
        MemorySegment operation = world.reductions().operation(type, op);
        pieces(
                count,
                type,
                (at, elements) -> mpi.call(
                        MpiCall.ALL_REDUCE,
                        MpiLibrary.IN_PLACE,
                        at(memory, at),
                        elements,
                        type(type),
                        operation,
                        communicator));
    }

    /**
     * Makes the output of rank r the reduction of block r of all inputs.
     *
     * @param input as many blocks as there are processes
     * @param output one block, apart from the input
     * @param count elements of a block; all blocks together have less than 2^31
     * @param op not AVG
     */
    public void reduceScatter(MemorySegment input, MemorySegment output, long count, DataType type, ReduceOp op) {
        if (op == ReduceOp.AVG) {
            throw new IllegalArgumentException(
                    "reduce_scatter by AVG between processes; sum up, and divide the result");
        }
        int elements = checkBlocks("reduce_scatter", input, output, count, type);
        MemorySegment source = address(input);
        MemorySegment target = address(output);
        Completions.join(submit(
                words("reduces and scatters", "an array", count, type) + " by "
                        + op.name().toLowerCase(Locale.ROOT),
                () -> mpi.call(
                        MpiCall.REDUCE_SCATTER,
                        source,
                        target,
                        elements,
                        type(type),
                        world.reductions().operation(type, op),
                        communicator),
                input,
                output));
    }

    /**
     * Copies the input of rank r to block r of all outputs.
     *
     * @param input one block, apart from the output
     * @param output as many blocks as there are processes
     * @param count elements of a block; all blocks together have less than 2^31
     */
    public void allGather(MemorySegment input, MemorySegment output, long count, DataType type) {
        int elements = checkBlocks("all_gather", output, input, count, type);
        MemorySegment source = address(input);
        MemorySegment target = address(output);
        Completions.join(submit(
                words("gathers", "an array", count, type),
                () -> mpi.call(
                        MpiCall.ALL_GATHER, source, elements, type(type), target, elements, type(type), communicator),
                input,
                output));
    }

    /**
     * Waits for the calls that were submitted, and frees the group together with the other processes. It ends the
     * group's thread even if MPI fails. Closing twice is no error.
     */
    @Override
    public void close() {
        if (!closed.compareAndSet(false, true)) {
            return;
        }
        CloseAll all = new CloseAll();
        all.close(() -> Completions.join(submit("closes the group", () -> {
            try (Arena arena = Arena.ofConfined()) {
                MemorySegment handle = arena.allocate(ADDRESS);
                handle.set(ADDRESS, 0, communicator);
                mpi.call(MpiCall.FREE, handle);
            }
        })));
        all.close(this::drain);
        world.left(this);
        all.throwFailure();
    }

    /** Waits for the calls that were submitted, and takes no more. */
    void drain() {
        try {
            queue.close();
        } catch (RuntimeException e) {
            throw world.failure("work in flight", e);
        }
    }

    private interface Piece {
        void run(long firstByte, int elements);
    }

    private static void pieces(long count, DataType type, Piece piece) {
        long most = PIECE_BYTES / type.bytes();
        for (long at = 0; at < count; at += most) {
            piece.run(at * type.bytes(), (int) Math.min(most, count - at));
        }
    }

    private MemorySegment type(DataType type) {
        return world.reductions().type(type);
    }

    /** What any thread may pass on. */
    private static MemorySegment address(MemorySegment buffer) {
        return MemorySegment.ofAddress(buffer.address());
    }

    private static MemorySegment at(MemorySegment memory, long offset) {
        return MemorySegment.ofAddress(memory.address() + offset);
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

    private int checkBlocks(String what, MemorySegment whole, MemorySegment block, long count, DataType type) {
        if (count > Integer.MAX_VALUE / size) {
            throw new IllegalArgumentException(what + " of " + size + " blocks of " + count
                    + " elements, together more than MPI counts; take several calls");
        }
        check(what, block, count, type);
        check(what, whole, count * size, type);
        return (int) count;
    }

    /**
     * @param what what is done, in words that follow the process's name
     * @param used what MPI knows by its address alone, and so must be kept until the call has ended
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
                    throw world.failure("what " + what, failure);
                });
    }
}

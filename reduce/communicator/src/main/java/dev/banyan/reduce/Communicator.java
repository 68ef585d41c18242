package dev.banyan.reduce;

import dev.banyan.config.Config;
import dev.banyan.config.Setting;
import dev.banyan.reduce.backend.Backend;
import dev.banyan.reduce.backend.CallerStreams;
import dev.banyan.reduce.backend.Executable;
import dev.banyan.reduce.host.HostBackend;
import dev.banyan.schedule.algorithm.CollectiveRequest;
import dev.banyan.schedule.plan.AlgorithmConfig;
import dev.banyan.schedule.plan.AlgorithmHint;
import dev.banyan.schedule.plan.PlannedSchedule;
import dev.banyan.schedule.plan.Planner;
import dev.banyan.schedule.type.Collective;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import dev.banyan.topology.Machine;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.ServiceLoader;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Collectives over the devices of one machine: rank r is device r of the machine. One process holds all
 * ranks, so a call takes the buffers of all of them, in the order of ranks. {@link Collective} says how
 * many elements each buffer holds.
 *
 * <p><b>Buffers</b> are memory of {@link #allocate}, or, on the host backend, any native memory that all
 * threads may access. They must not be touched, nor their arenas closed, until the call has ended. Out of
 * place, inputs stay as they were and no output may overlap another buffer. In place, what is no result
 * stays as it was (of reduce: the buffers of all but the root; of reduce_scatter: other ranks' blocks).
 * Wrong buffers are refused by an IllegalArgumentException before anything is written.
 *
 * <p><b>Order.</b> Calls run one at a time, in the order of submission, like those on one CUDA stream; the
 * blocking methods wait for what was submitted before. A blocking call that finds nothing before it runs
 * on the calling thread. What depends on a future runs on the communicator's thread, one after another: keep
 * it short; it may submit calls, blocking ones too, but must not wait for other futures, which complete only
 * when it has ended. Communicators are independent of each other.
 *
 * <p><b>Failures.</b> A call that is not done within the configured timeout fails with a {@link
 * dev.banyan.reduce.backend.CollectiveTimeoutException}. Blocking methods throw, futures complete
 * exceptionally with the same exception. After {@link #close} every method throws an
 * IllegalStateException.
 *
 * <p><b>Cost.</b> The first call of a kind (collective, count, type, operation, in or out of place, root)
 * makes a plan; further calls reuse it and build no tree and allocate no device memory. The plans used
 * last are kept. Trees are made with the first plan that may need them: milliseconds for a machine of 8
 * devices, seconds for one of more than 64 where the packed trees are asked for or compared.
 *
 * <p><b>Flight recordings.</b> Every call is an event {@code dev.banyan.Collective} of JDK Flight Recorder, with what
 * was asked for, how it was carried out, bytes, ranks and duration.
 *
 * <p>Safe for use from any thread.
 */
public final class Communicator implements AutoCloseable {
    /** The timeout of every call. */
    public static final Setting<Duration> TIMEOUT = Setting.milliseconds(
            "BANYAN_TIMEOUT_MS",
            Duration.ofMinutes(10),
            "Limits how long a collective may take before it fails on every rank.");

    private static final Logger LOG = LoggerFactory.getLogger(Communicator.class);
    private static final int KEPT_PLANS = 512;
    /** What the backend gets beyond the timeout, to report it itself. */
    private static final Duration GRACE = Duration.ofSeconds(1);

    private static final AtomicInteger COUNT = new AtomicInteger();

    private final Machine machine;
    private final Config config;
    private final Backend backend;
    private final boolean ownsBackend;
    private final Planner planner;
    private final CallQueue queue;
    private final AtomicBoolean freed = new AtomicBoolean();
    private final PlanCache plans = new PlanCache(KEPT_PLANS);

    private Communicator(Machine machine, Config config, Backend backend, boolean ownsBackend) {
        this.machine = machine;
        this.config = config;
        this.backend = backend;
        this.ownsBackend = ownsBackend;
        planner = Planner.of(machine, config);
        queue = new CallQueue("banyan-communicator-" + COUNT.incrementAndGet(), config.get(TIMEOUT), GRACE);
        config.warnings().forEach(LOG::warn);
    }

    /**
     * A communicator over all devices of a machine, on the host backend. For some devices, or in another
     * order, give {@link Machine#subset}.
     *
     * @throws IllegalArgumentException if the machine has no device
     */
    public static Communicator create(Machine machine, Config config) {
        checkDevices(machine);
        return new Communicator(
                machine,
                config,
                new HostBackend(machine.size(), config.get(HostBackend.THREADS), config.get(TIMEOUT)),
                true);
    }

    /**
     * A communicator on a given backend, which several may share and which {@link #close} leaves open.
     *
     * @throws IllegalArgumentException if the machine has no device
     */
    public static Communicator create(Machine machine, Config config, Backend backend) {
        checkDevices(machine);
        return new Communicator(machine, config, Objects.requireNonNull(backend, "backend"), false);
    }

    /**
     * A communicator on GPUs, which {@link #close} gives back.
     *
     * @param machine how the ranks' devices are linked
     * @param devices the GPU of each rank, as the driver counts them; one may have several ranks
     * @throws RuntimeException if there is no driver or a GPU cannot be used; the message says which and why
     * @throws IllegalArgumentException if there is not one device for each rank
     */
    public static Communicator onGpus(Machine machine, Config config, int... devices) {
        checkDevices(machine);
        if (devices.length != machine.size()) {
            throw new IllegalArgumentException(devices.length + " GPUs for the " + machine.size() + " ranks of "
                    + machine.name() + "; give one for each rank");
        }
        return new Communicator(machine, config, gpuBackend(machine, config, devices), true);
    }

    /**
     * Opens a backend on GPUs, which several communicators may share. Pairs that the machine says must not use peer
     * access ({@link dev.banyan.topology.NoPeerAccess}) go through the host; devices are known by their bus ids.
     *
     * @param machine the machine that the GPUs are in; it may have others too
     * @param devices the GPU of each rank, as the driver counts them; one may have several ranks
     * @throws IllegalStateException if no GPU backend is on the class path
     * @throws RuntimeException if there is no driver or a GPU cannot be used; the message says which and why
     */
    public static Backend gpuBackend(Machine machine, Config config, int... devices) {
        return ServiceLoader.load(Backend.Provider.class)
                .findFirst()
                .orElseThrow(() -> new IllegalStateException(
                        "no GPU backend is on the class path; add the dependency dev.banyan:banyan-cuda"))
                .open(machine, config, devices);
    }

    private static void checkDevices(Machine machine) {
        if (machine.size() == 0) {
            throw new IllegalArgumentException(
                    "machine " + machine.name() + " has no devices; a communicator needs at least one");
        }
    }

    /** Number of ranks n. */
    public int size() {
        return machine.size();
    }

    /** The machine. */
    public Machine machine() {
        return machine;
    }

    /**
     * Memory of a rank's device, aligned to 64 bytes and zeroed. It is freed with the backend: by {@link
     * #close}, unless the backend was given.
     *
     * @param rank 0..n-1
     * @param bytes size in bytes, at least 0
     */
    public MemorySegment allocate(int rank, long bytes) {
        return backend.allocate(rank, bytes);
    }

    /**
     * Memory of the host that is copied to and from devices as fast as can be: pinned, where devices have memory of
     * their own. It is aligned to 64 bytes; what it holds at first is not defined. Take it once, and use it again and
     * again.
     *
     * @param bytes size in bytes, at least 0
     * @param arena frees it; close it before the communicator and its backend, and not while something is copied
     */
    public MemorySegment allocateHost(long bytes, Arena arena) {
        return backend.allocateHost(bytes, arena);
    }

    /**
     * Copies from the host's memory to a buffer; returns when that is done. It does not wait for calls that were
     * submitted.
     *
     * @param target a buffer, at least as long as the source
     * @param source memory of the host
     */
    public void write(MemorySegment target, MemorySegment source) {
        backend.write(target, source);
    }

    /**
     * Copies from a buffer to the host's memory; returns when that is done. It does not wait for calls that were
     * submitted.
     *
     * @param source a buffer, at least as long as the target
     * @param target memory of the host
     */
    public void read(MemorySegment source, MemorySegment target) {
        backend.read(source, target);
    }

    /** Whether buffers are memory that the host's threads may read and write themselves, as of the host backend. */
    public boolean inHostMemory() {
        return backend.inHostMemory();
    }

    /** The settings. */
    public Config config() {
        return config;
    }

    /** Carries out a call and returns when it has ended. */
    public void run(CollectiveCall call) {
        run(call, AlgorithmHint.CONFIGURED);
    }

    /**
     * Carries out a call in a given way and returns when it has ended.
     *
     * @throws IllegalArgumentException if the way's centre is not one of the ranks, or as by {@link #check}
     */
    public void run(CollectiveCall call, AlgorithmHint way) {
        if (way.centre() >= size()) {
            throw new IllegalArgumentException(
                    "centre " + way.centre() + " for " + size() + " ranks; centres are 0.." + (size() - 1));
        }
        check(call);
        queue.run(() -> execute(call, way));
    }

    /**
     * Does nothing but refuse a call that {@link #run} would refuse.
     *
     * @throws IllegalArgumentException if the root or a buffer does not fit; the message says which and why
     */
    public void check(CollectiveCall call) {
        BufferCheck.check(call, size(), backend);
    }

    /** Submits a call. The future completes when it has ended. */
    public CompletableFuture<Void> runAsync(CollectiveCall call) {
        check(call);
        return queue.submit(() -> execute(call, AlgorithmHint.CONFIGURED));
    }

    /**
     * Puts a call into streams of the caller, and returns when it has its place in them, after the calls that were
     * submitted before have ended: it begins when the work that is in the streams has ended, and work that is put into
     * them from then on waits for its end. Its timeout counts from its place in the streams.
     *
     * @param streams one per rank, e.g. {@code CudaStreams}; backends without streams refuse
     * them
     * @return completed when the call has ended
     */
    public CompletableFuture<Void> enqueue(CollectiveCall call, CallerStreams streams) {
        check(call);
        CompletableFuture<Void> begun = new CompletableFuture<>();
        CompletableFuture<Void> ended = queue.submit(() -> {
            try {
                execute(
                        call,
                        AlgorithmHint.CONFIGURED,
                        (executable, inputs, outputs) ->
                                executable.run(inputs, outputs, streams, () -> begun.complete(null)));
            } finally {
                begun.complete(null);
            }
        });
        CompletableFuture.anyOf(begun, ended).exceptionally(failure -> null).join();
        return ended;
    }

    /** Gives every rank the reduction of all buffers, in place. */
    public void allReduce(List<MemorySegment> buffers, long count, DataType type, ReduceOp op) {
        run(CollectiveCall.inPlace(Collective.ALL_REDUCE, -1, count, type, op, buffers));
    }

    /** As the blocking method of that name; the future completes when the call has ended. */
    public CompletableFuture<Void> allReduceAsync(List<MemorySegment> buffers, long count, DataType type, ReduceOp op) {
        return runAsync(CollectiveCall.inPlace(Collective.ALL_REDUCE, -1, count, type, op, buffers));
    }

    /** Gives every rank's output the reduction of all inputs. */
    public void allReduce(
            List<MemorySegment> inputs, List<MemorySegment> outputs, long count, DataType type, ReduceOp op) {
        run(CollectiveCall.outOfPlace(Collective.ALL_REDUCE, -1, count, type, op, inputs, outputs));
    }

    /** As the blocking method of that name; the future completes when the call has ended. */
    public CompletableFuture<Void> allReduceAsync(
            List<MemorySegment> inputs, List<MemorySegment> outputs, long count, DataType type, ReduceOp op) {
        return runAsync(CollectiveCall.outOfPlace(Collective.ALL_REDUCE, -1, count, type, op, inputs, outputs));
    }

    /** Makes the root's buffer the reduction of all buffers; the others stay as they were. */
    public void reduce(List<MemorySegment> buffers, long count, DataType type, ReduceOp op, int root) {
        run(CollectiveCall.inPlace(Collective.REDUCE, root, count, type, op, buffers));
    }

    /** As the blocking method of that name; the future completes when the call has ended. */
    public CompletableFuture<Void> reduceAsync(
            List<MemorySegment> buffers, long count, DataType type, ReduceOp op, int root) {
        return runAsync(CollectiveCall.inPlace(Collective.REDUCE, root, count, type, op, buffers));
    }

    /** Makes the root's output the reduction of all inputs. */
    public void reduce(
            List<MemorySegment> inputs, MemorySegment output, long count, DataType type, ReduceOp op, int root) {
        run(CollectiveCall.outOfPlace(Collective.REDUCE, root, count, type, op, inputs, List.of(output)));
    }

    /** As the blocking method of that name; the future completes when the call has ended. */
    public CompletableFuture<Void> reduceAsync(
            List<MemorySegment> inputs, MemorySegment output, long count, DataType type, ReduceOp op, int root) {
        return runAsync(CollectiveCall.outOfPlace(Collective.REDUCE, root, count, type, op, inputs, List.of(output)));
    }

    /** Copies the root's buffer to all others. */
    public void broadcast(List<MemorySegment> buffers, long count, DataType type, int root) {
        run(CollectiveCall.inPlace(Collective.BROADCAST, root, count, type, ReduceOp.SUM, buffers));
    }

    /** As the blocking method of that name; the future completes when the call has ended. */
    public CompletableFuture<Void> broadcastAsync(List<MemorySegment> buffers, long count, DataType type, int root) {
        return runAsync(CollectiveCall.inPlace(Collective.BROADCAST, root, count, type, ReduceOp.SUM, buffers));
    }

    /** Copies the root's input to the outputs of all ranks. */
    public void broadcast(MemorySegment input, List<MemorySegment> outputs, long count, DataType type, int root) {
        run(CollectiveCall.outOfPlace(Collective.BROADCAST, root, count, type, ReduceOp.SUM, List.of(input), outputs));
    }

    /** As the blocking method of that name; the future completes when the call has ended. */
    public CompletableFuture<Void> broadcastAsync(
            MemorySegment input, List<MemorySegment> outputs, long count, DataType type, int root) {
        return runAsync(CollectiveCall.outOfPlace(
                Collective.BROADCAST, root, count, type, ReduceOp.SUM, List.of(input), outputs));
    }

    /**
     * Makes block r, of count elements, of rank r's buffer the reduction of block r of all buffers; the
     * other blocks stay as they were.
     */
    public void reduceScatter(List<MemorySegment> buffers, long count, DataType type, ReduceOp op) {
        run(CollectiveCall.inPlace(Collective.REDUCE_SCATTER, -1, count, type, op, buffers));
    }

    /** As the blocking method of that name; the future completes when the call has ended. */
    public CompletableFuture<Void> reduceScatterAsync(
            List<MemorySegment> buffers, long count, DataType type, ReduceOp op) {
        return runAsync(CollectiveCall.inPlace(Collective.REDUCE_SCATTER, -1, count, type, op, buffers));
    }

    /** Makes the output of rank r the reduction of block r, of count elements, of all inputs. */
    public void reduceScatter(
            List<MemorySegment> inputs, List<MemorySegment> outputs, long count, DataType type, ReduceOp op) {
        run(CollectiveCall.outOfPlace(Collective.REDUCE_SCATTER, -1, count, type, op, inputs, outputs));
    }

    /** As the blocking method of that name; the future completes when the call has ended. */
    public CompletableFuture<Void> reduceScatterAsync(
            List<MemorySegment> inputs, List<MemorySegment> outputs, long count, DataType type, ReduceOp op) {
        return runAsync(CollectiveCall.outOfPlace(Collective.REDUCE_SCATTER, -1, count, type, op, inputs, outputs));
    }

    /** Copies block r, of count elements, of rank r's buffer to block r of all buffers. */
    public void allGather(List<MemorySegment> buffers, long count, DataType type) {
        run(CollectiveCall.inPlace(Collective.ALL_GATHER, -1, count, type, ReduceOp.SUM, buffers));
    }

    /** As the blocking method of that name; the future completes when the call has ended. */
    public CompletableFuture<Void> allGatherAsync(List<MemorySegment> buffers, long count, DataType type) {
        return runAsync(CollectiveCall.inPlace(Collective.ALL_GATHER, -1, count, type, ReduceOp.SUM, buffers));
    }

    /** Copies the input of rank r to block r, of count elements, of all outputs. */
    public void allGather(List<MemorySegment> inputs, List<MemorySegment> outputs, long count, DataType type) {
        run(CollectiveCall.outOfPlace(Collective.ALL_GATHER, -1, count, type, ReduceOp.SUM, inputs, outputs));
    }

    /** As the blocking method of that name; the future completes when the call has ended. */
    public CompletableFuture<Void> allGatherAsync(
            List<MemorySegment> inputs, List<MemorySegment> outputs, long count, DataType type) {
        return runAsync(
                CollectiveCall.outOfPlace(Collective.ALL_GATHER, -1, count, type, ReduceOp.SUM, inputs, outputs));
    }

    /**
     * Waits for the calls that were submitted, frees the plans and, unless it was given, the backend and its
     * memory. Closing twice is no error.
     *
     * @throws dev.banyan.reduce.backend.CollectiveTimeoutException if a call is stuck; nothing is freed then
     */
    @Override
    public void close() {
        queue.close();
        if (freed.compareAndSet(false, true)) {
            plans.close();
            if (ownsBackend) {
                backend.close();
            }
        }
    }

    /** How a plan is run on buffers of all ranks. */
    private interface Run {
        void of(Executable executable, MemorySegment[] inputs, MemorySegment[] outputs);
    }

    private void execute(CollectiveCall call, AlgorithmHint way) {
        execute(call, way, Executable::run);
    }

    private void execute(CollectiveCall call, AlgorithmHint way, Run run) {
        PlanKey key = PlanKey.of(call, way);
        CollectiveEvent event = new CollectiveEvent();
        event.begin();
        Plan plan = plans.get(key, this::prepare);
        try {
            run.of(plan.executable(), perRank(call.inputs(), call.root()), perRank(call.outputs(), call.root()));
            event.succeeded = true;
        } finally {
            event.end();
            if (event.shouldCommit()) {
                commit(event, call, plan.choice());
            }
        }
    }

    private void commit(CollectiveEvent event, CollectiveCall call, AlgorithmConfig choice) {
        event.collective = call.collective().label();
        event.algorithm = choice.toString();
        event.bytes = call.count() * call.type().bytes();
        event.ranks = size();
        event.type = call.type().name();
        event.operation = call.op().name();
        event.inPlace = call.inPlace();
        event.commit();
    }

    private Plan prepare(PlanKey key) {
        CollectiveRequest request = new CollectiveRequest(
                key.collective(),
                key.root(),
                key.count(),
                key.type().bytes(),
                key.inPlace(),
                config.get(Planner.CHUNK_BYTES));
        PlannedSchedule planned = planner.plan(request, key.way());
        return new Plan(planned.choice(), backend.prepare(planned.schedule(), key.type(), key.op()));
    }

    /** One segment per rank; a lone one is the root's. */
    private MemorySegment[] perRank(List<MemorySegment> buffers, int root) {
        MemorySegment[] segments = new MemorySegment[size()];
        for (int r = 0; r < segments.length; r++) {
            segments[r] = buffers.size() == segments.length ? buffers.get(r) : MemorySegment.NULL;
        }
        if (buffers.size() < segments.length) {
            segments[root] = buffers.getFirst();
        }
        return segments;
    }
}

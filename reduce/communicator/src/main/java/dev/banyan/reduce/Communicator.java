package dev.banyan.reduce;

import dev.banyan.config.Config;
import dev.banyan.config.Setting;
import dev.banyan.reduce.backend.Backend;
import dev.banyan.reduce.backend.CallerStreams;
import dev.banyan.reduce.backend.CollectiveAbortedException;
import dev.banyan.reduce.backend.RankRange;
import dev.banyan.reduce.internal.CallQueue;
import dev.banyan.reduce.internal.CloseAll;
import dev.banyan.reduce.internal.host.HostBackend;
import dev.banyan.reduce.internal.host.ProcessBackend;
import dev.banyan.reduce.internal.joining.Joined;
import dev.banyan.reduce.internal.joining.JoiningProvider;
import dev.banyan.reduce.internal.processes.Agreement;
import dev.banyan.reduce.internal.processes.Job;
import dev.banyan.reduce.internal.processes.JobPlace;
import dev.banyan.reduce.internal.sum.ReproducibleSum;
import dev.banyan.reduce.optimizer.ParameterUpdate;
import dev.banyan.schedule.plan.Algorithms;
import dev.banyan.schedule.plan.Planner;
import dev.banyan.schedule.plan.Platform;
import dev.banyan.schedule.type.Collective;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import dev.banyan.topology.Machine;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.ServiceLoader;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Collectives over the devices of one machine: rank r is device r of the machine. A call takes the buffers of the ranks
 * that this process holds, in their order: of all ranks, unless {@link #join} or {@link #joinOnGpus} made the
 * communicator. {@link CollectiveCall} makes calls; {@link Collective}
 * says how many elements each buffer holds.
 *
 * <p><b>Buffers</b> are memory of {@link #allocateAll} or {@link #allocate(int, long) allocate}, or, on the host
 * backend, any native memory that all threads may access. They must not be touched until the call has ended. Out of
 * place, inputs stay as they were and no output may overlap another buffer. In place, what is no result stays as it was
 * (of reduce: the buffers of all but the root; of reduce-scatter: other ranks' blocks). Wrong buffers are rejected with
 * an IllegalArgumentException before anything is written.
 *
 * <p>The arena of a buffer must stay open until the call has ended, which is when its future completes; after a timeout
 * or {@link #abort}, until {@link #close} has returned. A call checks that once, when it is submitted. It then works on
 * addresses, so that closing an arena too early makes it access freed memory. A call keeps buffers of an automatic
 * arena reachable.
 *
 * <p>The program may read and write buffers of the host backend like any segment. Buffers of GPUs are reached through
 * {@link #copyToDevice} and {@link #copyToHost} alone: methods of such a segment, {@code get} and {@code fill} among
 * them, throw a WrongThreadException. {@link #inHostMemory} returns which of the two holds.
 *
 * <p><b>Order.</b> Calls take effect in the order of submission, like those on one CUDA stream. {@link
 * #run} returns when the call has ended, {@link #runAsync} at once, and {@link #enqueue} when the
 * call has its place in the caller's streams. A blocking call that finds nothing before it runs on the calling thread.
 * Returned futures are copies: cancelling or completing one does not touch the call. Dependents of a future run on
 * threads that run nothing else; they may call the communicator and may block. Communicators are independent of each
 * other.
 *
 * <p><b>Sums</b> of floats depend on the order that the algorithm gives them. With BANYAN_REPRODUCIBLE=1 they depend
 * on the numbers alone, as {@link ReproducibleSum} defines them; products of floats are rejected then.
 *
 * <p><b>Failures.</b> A call that has not ended within the configured timeout fails with a {@link
 * dev.banyan.reduce.backend.CollectiveTimeoutException}; the communicator is broken then: all calls that have not ended
 * fail, and {@link #failure} says why. Planning does not count towards the timeout. Blocking methods throw, futures
 * complete exceptionally with the same exception. After {@link #close} methods that run, check, allocate or copy throw
 * an IllegalStateException.
 *
 * <p><b>Cost.</b> The first call of a kind (collective, count, type, operation, in or out of place, root) makes a plan;
 * later calls reuse it, build no tree and allocate no device memory. The plans used last are kept. The first plan
 * builds the trees: milliseconds for a machine of 8 devices, seconds for one of more than 64 where packed trees are
 * asked for or compared.
 *
 * <p><b>Flight recordings.</b> Every call is an event {@code dev.banyan.Collective} of JDK Flight Recorder, with the
 * request, the algorithm, bytes, ranks and duration.
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
    /** The time that the backend gets beyond the timeout, to report the timeout itself. */
    private static final Duration GRACE = Duration.ofSeconds(1);

    private static final AtomicInteger COUNT = new AtomicInteger();

    private final Machine machine;
    private final Config config;
    private final Backend backend;
    private final boolean ownsBackend;
    /** The ranks of this process. */
    private final RankRange held;

    private final boolean reproducible;

    private final CallQueue queue;
    private final AtomicBoolean freed = new AtomicBoolean();
    private final PlannedCalls planned;

    private Communicator(Planner planner, Machine machine, Config config, Backend backend, boolean ownsBackend) {
        held = backend.held(machine.size());
        this.machine = machine;
        this.config = config;
        this.backend = backend;
        this.ownsBackend = ownsBackend;
        reproducible = config.get(Algorithms.REPRODUCIBLE);
        planned = new PlannedCalls(planner, config, backend, machine.size(), held);
        queue = new CallQueue("banyan-communicator-" + COUNT.incrementAndGet(), config.get(TIMEOUT), GRACE);
        config.warnings().forEach(LOG::warn);
    }

    /** Does the same as {@link #onHost(Machine, Config)} with the settings of {@link Config#load()}. */
    public static Communicator onHost(Machine machine) {
        return onHost(machine, Config.load());
    }

    /**
     * Creates a communicator in host memory: threads of this process play the devices of a machine. For some devices,
     * or in another order, give {@link Machine#subset}.
     *
     * @param machine how the ranks' devices are linked, e.g. {@link Machine#preset} or from a {@link
     *     dev.banyan.topology.format.MachineReader}; at least one device
     * @param config the settings; its warnings are logged
     * @throws IllegalArgumentException if the machine has no device
     */
    public static Communicator onHost(Machine machine, Config config) {
        checkDevices(machine);
        return new Communicator(
                Planner.of(machine, config, Platform.ofThisHost()),
                machine,
                config,
                new HostBackend(machine.size(), config.get(HostBackend.THREADS), config.get(TIMEOUT)),
                true);
    }

    /**
     * Joins the other processes of a job on this machine, on the host backend: each process holds some ranks, and
     * calls take the buffers of these alone. All processes make the same calls in the same order. Memory of {@link
     * #allocate(int, long) allocate} is shared, so that calls copy nothing; other buffers are copied to shared memory
     * and back. BANYAN_RANK, BANYAN_WORLD_SIZE and BANYAN_RENDEZVOUS, or the names that mpirun, srun and torchrun set,
     * say which process this is and where the processes meet. Works on Linux only.
     *
     * <p>A process that ends, closes its communicator, fails in a call or is late breaks the communicators of all,
     * whose calls fail with its ranks and its number.
     *
     * @param machine how the devices of all ranks are linked, the same in all processes; it has a device for each rank
     * @param config the settings; what calls depend on is the same in all processes
     * @param ranks how many ranks this process holds, at least 1; ranks are numbered by process
     * @throws IllegalArgumentException if the machine has another number of devices than the processes have ranks
     * @throws IllegalStateException if this process has no place in a job, or the processes do not agree
     * @throws dev.banyan.reduce.backend.CollectiveTimeoutException if a process does not join in time
     */
    public static Communicator join(Machine machine, Config config, int ranks) {
        checkDevices(machine);
        Duration timeout = config.get(TIMEOUT);
        long begin = System.nanoTime();
        Job job = job(machine, config, ranks);
        try {
            if (job.ranks() != machine.size()) {
                throw new IllegalArgumentException("the processes of this job hold " + job.ranks() + " ranks, but "
                        + machine.name() + " has " + machine.size() + " devices; give a machine of as many");
            }
            return new Communicator(
                    Planner.of(machine, config, Platform.ofThisHost()),
                    machine,
                    config,
                    ProcessBackend.join(job, timeout.minusNanos(System.nanoTime() - begin), timeout),
                    true);
        } catch (Throwable e) {
            job.abandon();
            throw e;
        }
    }

    /**
     * Joins the other processes of a job on this machine, as {@link #join} does, with ranks on GPUs. The processes map
     * each other's memory of the device programs and of {@link #allocateAll}; buffers stay where they are. A process
     * may see some GPUs alone (CUDA_VISIBLE_DEVICES): the ranks' GPUs are known by their bus ids.
     *
     * <p>GPUs of two processes must have peer access. What no device program can do, such as means of integers, is
     * refused.
     *
     * @param machine the machine that the GPUs are in, e.g. as probed; or one with a device for each rank of all
     *     processes, in their order
     * @param config the settings; what calls depend on is the same in all processes
     * @param devices the GPU of each rank of this process, as the driver counts them here; at least one
     * @throws IllegalArgumentException if the machine does not describe the GPUs of the ranks
     * @throws IllegalStateException if this process has no place in a job, or the processes do not agree, or no GPU
     *     backend is on the class path
     * @throws dev.banyan.reduce.backend.CollectiveTimeoutException if a process does not join in time
     * @throws RuntimeException if there is no driver or a GPU cannot be used; the message says which and why
     */
    public static Communicator joinOnGpus(Machine machine, Config config, int... devices) {
        checkDevices(machine);
        Backend.Provider provider = gpuProvider();
        if (!(provider instanceof JoiningProvider joining)) {
            throw new IllegalStateException("backends of " + provider.name() + " have all ranks in one process");
        }
        Job job = job(machine, config, devices.length);
        Joined joined;
        try {
            joined = joining.join(job, machine, config, devices);
        } catch (Throwable e) {
            job.abandon();
            throw e;
        }
        try {
            return new Communicator(
                    Planner.of(joined.machine(), config, joined.backend().platform()),
                    joined.machine(),
                    config,
                    joined.backend(),
                    true);
        } catch (Throwable e) {
            job.fail();
            joined.backend().close();
            throw e;
        }
    }

    private static Job job(Machine machine, Config config, int ranks) {
        return Job.join(
                JobPlace.find(config, System.getenv()),
                ranks,
                Agreement.on(machine, config),
                TimeUnit.NANOSECONDS.convert(config.get(TIMEOUT)));
    }

    /**
     * Creates a communicator on a given backend, which several may share and which {@link #close} leaves open.
     *
     * @param machine how the ranks' devices are linked; at least one device
     * @param config the settings; its warnings are logged
     * @param backend runs the calls; has a device for each of the machine's
     * @throws IllegalArgumentException if the machine has no device
     */
    public static Communicator create(Machine machine, Config config, Backend backend) {
        checkDevices(machine);
        Objects.requireNonNull(backend, "backend");
        return new Communicator(Planner.of(machine, config, backend.platform()), machine, config, backend, false);
    }

    /** Does the same as {@link #onGpus(int...)} with all GPUs that the driver shows to this process. */
    public static Communicator onGpus() {
        return onGpus(IntStream.range(0, gpuProvider().busIds().size()).toArray());
    }

    /** Does the same as {@link #onGpus(Config, int...)} with the settings of {@link Config#load()}. */
    public static Communicator onGpus(int... ordinals) {
        return onGpus(Config.load(), ordinals);
    }

    /**
     * Creates a communicator on GPUs of this machine, whose links are probed.
     *
     * @param config the settings; its warnings are logged
     * @param ordinals the GPU of each rank, 0..g-1 as the CUDA driver counts the g GPUs that this process sees; one may
     *     have several ranks
     * @throws IllegalArgumentException if the driver shows no such GPU
     * @throws IllegalStateException if no GPU backend is on the class path, or the machine cannot be probed
     * @throws RuntimeException if there is no driver or a GPU cannot be used; the message says which and why
     */
    public static Communicator onGpus(Config config, int... ordinals) {
        List<String> busIds = gpuProvider().busIds();
        Machine machine = Machine.probe();
        int[] places = Arrays.stream(ordinals)
                .map(ordinal -> place(machine, busIds, ordinal))
                .toArray();
        return onGpus(machine.subset(places), config, ordinals);
    }

    private static int place(Machine machine, List<String> busIds, int ordinal) {
        if (ordinal < 0 || ordinal >= busIds.size()) {
            throw new IllegalArgumentException(
                    "GPU " + ordinal + " is none of the " + busIds.size() + " that CUDA shows; count from 0");
        }
        return machine.deviceAt(busIds.get(ordinal))
                .orElseThrow(() -> new IllegalStateException("GPU " + ordinal + " at " + busIds.get(ordinal)
                        + " is not among those that the probe found usable; run banyan probe to see why"));
    }

    /**
     * Creates a communicator on GPUs, which {@link #close} releases.
     *
     * @param machine how the ranks' devices are linked; at least one device. For some GPUs of a machine give {@link
     *     Machine#subset}
     * @param config the settings; its warnings are logged
     * @param ordinals the GPU of each rank, 0..g-1 as the CUDA driver counts the g GPUs that this process sees; one may
     *     have several ranks
     * @throws IllegalArgumentException if the machine has no device, or there is not one GPU for each rank
     * @throws IllegalStateException if no GPU backend is on the class path
     * @throws RuntimeException if there is no driver or a GPU cannot be used; the message says which and why
     */
    public static Communicator onGpus(Machine machine, Config config, int... ordinals) {
        checkDevices(machine);
        if (ordinals.length != machine.size()) {
            throw new IllegalArgumentException(ordinals.length + " GPUs for the " + machine.size() + " ranks of "
                    + machine.name() + "; give one for each rank");
        }
        Backend backend = gpuBackend(machine, config, ordinals);
        try {
            return new Communicator(Planner.of(machine, config, backend.platform()), machine, config, backend, true);
        } catch (RuntimeException e) {
            backend.close();
            throw e;
        }
    }

    /**
     * Opens a backend on GPUs, which several communicators may share. Pairs that the machine says must not use peer
     * access ({@link dev.banyan.topology.NoPeerAccess}) go through the host; GPUs are known by their bus ids.
     *
     * @param machine the machine that the GPUs are in; it may have others too
     * @param config the settings
     * @param ordinals the GPU of each rank, 0..g-1 as the CUDA driver counts the g GPUs that this process sees; one may
     *     have several ranks
     * @throws IllegalStateException if no GPU backend is on the class path
     * @throws RuntimeException if there is no driver or a GPU cannot be used; the message says which and why
     */
    public static Backend gpuBackend(Machine machine, Config config, int... ordinals) {
        return gpuProvider().open(machine, config, ordinals);
    }

    private static Backend.Provider gpuProvider() {
        return ServiceLoader.load(Backend.Provider.class)
                .findFirst()
                .orElseThrow(() -> new IllegalStateException(
                        "no GPU backend is on the class path; add the dependency dev.banyan:banyan-cuda"));
    }

    private void checkOpen() {
        if (freed.get()) {
            throw new IllegalStateException("the communicator is closed; create a new one");
        }
    }

    private static void checkDevices(Machine machine) {
        if (machine.size() == 0) {
            throw new IllegalArgumentException(
                    "machine " + machine.name() + " has no devices; a communicator needs at least one");
        }
    }

    /** Returns the number of ranks n, at least 1. */
    public int size() {
        return machine.size();
    }

    /** Returns the first rank of this process, 0..n-1; 0 where one process holds all. */
    public int firstRank() {
        return held.first();
    }

    /** Returns the number of ranks of this process, 1..n; n where one process holds all. */
    public int ranksHeld() {
        return held.count();
    }

    /** Returns the backend, which other communicators may share until this one is closed. */
    public Backend backend() {
        return backend;
    }

    /** Returns the machine whose device r is rank r. */
    public Machine machine() {
        return machine;
    }

    /**
     * Allocates one buffer on the device of every rank of this process, each as {@link #allocate(int, long)} does.
     *
     * <p>After {@link #joinOnGpus} all processes call it in the same order and with as many bytes, as they make calls.
     * Where NVLink joins all GPUs, the GPUs of all processes may then touch the buffers, so that calls take less time
     * than on other buffers, which are copied.
     *
     * @param bytes size of each buffer in bytes, at least 0
     * @return the buffers in the order of ranks, as calls take them
     * @throws IllegalArgumentException if the size is negative
     */
    public List<MemorySegment> allocateAll(long bytes) {
        checkOpen();
        if (held.count() == size()) {
            return backend.allocateAll(size(), bytes);
        }
        List<MemorySegment> buffers = new ArrayList<>();
        // The order is that of calls, whose plans wait for the other processes, too.
        queue.run(() -> buffers.addAll(backend.allocateAll(size(), bytes)));
        return List.copyOf(buffers);
    }

    /**
     * Allocates memory of a rank's device, aligned to 64 bytes and zeroed. It is freed with the backend: by {@link
     * #close}, unless the backend was given.
     *
     * @param rank 0..n-1
     * @param bytes size in bytes, at least 0
     * @throws IllegalArgumentException if the rank or the size is out of range
     */
    public MemorySegment allocate(int rank, long bytes) {
        checkOpen();
        return backend.allocate(rank, bytes);
    }

    /**
     * Allocates memory of a rank's device, aligned to 64 bytes and zeroed, that an arena frees.
     *
     * @param rank 0..n-1
     * @param bytes size in bytes, at least 0
     * @param arena a shared, automatic or global arena; close it before the communicator and its backend, and not while
     *     a call uses the memory
     * @throws IllegalArgumentException if the arena belongs to one thread, or the rank or the size is out of range
     */
    public MemorySegment allocate(int rank, long bytes, Arena arena) {
        checkOpen();
        return backend.allocate(rank, bytes, arena);
    }

    /**
     * Allocates host memory for fast copies to and from devices, aligned to 64 bytes; its first contents are undefined.
     * Where devices have memory of their own it is pinned, which takes long: allocate it once and reuse it.
     *
     * @param bytes size in bytes, at least 0
     * @param arena frees it; close it before the communicator and its backend, and not while something is copied
     */
    public MemorySegment allocateHost(long bytes, Arena arena) {
        checkOpen();
        return backend.allocateHost(bytes, arena);
    }

    /**
     * Copies from host memory to a buffer and returns when the device has all bytes. It does not wait for calls that
     * were submitted.
     *
     * @param target a buffer, at least as long as the source
     * @param source host memory that the calling thread may read, e.g. {@code MemorySegment.ofArray(floats)}; fastest
     *     from {@link #allocateHost}
     * @throws IllegalArgumentException if the target is too short, or the source is memory of a GPU
     */
    public void copyToDevice(MemorySegment target, MemorySegment source) {
        checkCopy("copyToDevice", "source", source, "target", target);
        backend.copyToDevice(target, source);
    }

    /**
     * Copies from a buffer to host memory and returns when the host has all bytes. It does not wait for calls that were
     * submitted.
     *
     * @param source a buffer, at least as long as the target
     * @param target host memory that the calling thread may write, e.g. {@code MemorySegment.ofArray(floats)}; fastest
     *     into {@link #allocateHost}
     * @throws IllegalArgumentException if the source is too short, or the target is memory of a GPU
     */
    public void copyToHost(MemorySegment source, MemorySegment target) {
        checkCopy("copyToHost", "target", target, "source", source);
        backend.copyToHost(source, target);
    }

    private void checkCopy(
            String method, String hostName, MemorySegment host, String bufferName, MemorySegment buffer) {
        checkOpen();
        if (!host.isAccessibleBy(Thread.currentThread())) {
            throw new IllegalArgumentException(method + ": the " + hostName
                    + " is not memory that this thread may access; give host memory of this thread or of all, and the"
                    + " device's buffer as " + bufferName);
        }
        if (buffer.byteSize() < host.byteSize()) {
            throw new IllegalArgumentException(method + ": the " + bufferName + " has " + buffer.byteSize()
                    + " bytes, but the " + hostName + " has " + host.byteSize() + "; give a slice of the " + hostName);
        }
    }

    /** Returns whether buffers are memory that host threads may read and write, as those of the host backend are. */
    public boolean inHostMemory() {
        return backend.inHostMemory();
    }

    /** Returns the settings that the communicator was created with. */
    public Config config() {
        return config;
    }

    /**
     * Runs a call and returns when it has ended.
     *
     * @param call what to run
     * @throws IllegalArgumentException as by {@link #check}
     */
    public void run(CollectiveCall call) {
        queue.run(checked(call, null));
    }

    private CallQueue.Call checked(CollectiveCall call, @Nullable CallerStreams streams) {
        check(call);
        return planned.call(call, streams);
    }

    /**
     * Runs several calls, as ncclGroupStart and ncclGroupEnd do, and returns when all have ended. They take effect in
     * the order of the list. If one fails, the outputs of all are undefined.
     *
     * @param calls what to run, in this order
     * @throws IllegalArgumentException if one is wrong; none has begun then
     */
    public void runAll(List<CollectiveCall> calls) {
        queue.run(batch(calls, null));
    }

    /**
     * Runs calls, then updates, then calls, and returns when all have ended. They take effect in this order; where
     * devices have memory of their own, the host waits for nothing in between. If one fails, the outputs and values of
     * all are undefined.
     *
     * @param sums what runs first, e.g. reductions of gradients
     * @param updates the updates, in any order, of values that do not overlap
     * @param results what runs last, e.g. broadcasts of values
     * @throws IllegalArgumentException if one is wrong; none has begun then, unless an update's memory is not that of
     *     its rank's device
     * @throws UnsupportedOperationException if there are updates and the backend cannot run optimizers
     */
    public void runAll(List<CollectiveCall> sums, List<ParameterUpdate> updates, List<CollectiveCall> results) {
        List<CallQueue.Call> parts = new ArrayList<>();
        parts.add(batch(sums, null));
        if (!updates.isEmpty()) {
            updates.forEach(update -> BufferCheck.check(update, size(), backend));
            parts.add(PlannedCalls.update(backend, updates));
        }
        parts.add(batch(results, null));
        queue.run(PlannedCalls.sequence(parts));
    }

    /**
     * Prepares a call and runs nothing: plans it, and returns when a run of it takes no longer than later ones will.
     * The first runs of a call that was not prepared may take many times as long, while loops for its type and
     * operation are being compiled. Takes up to some seconds.
     *
     * @param call a call like those to come; of its buffers only the number and the lengths matter
     * @throws IllegalArgumentException if the root or a buffer does not fit; the message says which and why
     */
    public void prepare(CollectiveCall call) {
        check(call);
        queue.run(planned.preparation(call));
    }

    /**
     * Checks a call as {@link #run} does and does nothing else.
     *
     * @param call what to check
     * @throws IllegalArgumentException if the root or a buffer does not fit; the message says which and why
     */
    public void check(CollectiveCall call) {
        checkOpen();
        if (call.hint().hub() >= size()) {
            throw new IllegalArgumentException(
                    "hub " + call.hint().hub() + " for " + size() + " ranks; hubs are 0.." + (size() - 1));
        }
        if (reproducible && call.collective().reduces()) {
            ReproducibleSum.check(call.type(), call.op());
        }
        BufferCheck.check(call, size(), held, backend);
    }

    /**
     * Submits a call and returns at once.
     *
     * @param call what to run; the arenas of its buffers stay open until the future completes
     * @return completes when the call has ended
     * @throws IllegalArgumentException as by {@link #check}
     */
    public CompletableFuture<Void> runAsync(CollectiveCall call) {
        return queue.launch(checked(call, null));
    }

    /**
     * Submits several calls, as {@link #runAll} runs them, and returns at once.
     *
     * @param calls what to run, in this order; the arenas of their buffers stay open until the future completes
     * @return completes when all have ended
     * @throws IllegalArgumentException if one is wrong; none is submitted then
     */
    public CompletableFuture<Void> runAllAsync(List<CollectiveCall> calls) {
        return queue.launch(batch(calls, null));
    }

    /**
     * Puts a call into streams of the caller and returns when it has its place in them; calls that were submitted
     * before need not have ended. The call begins when the work that is in the streams has ended, and work that is put
     * into them from then on waits for its end. Its timeout counts from its place in
     * the streams, or from the end of the call before it if that is later.
     *
     * @param call what to run; the arenas of its buffers stay open until the future completes
     * @param streams one per rank, {@code CudaStreams} on GPUs
     * @return completes when the call has ended; with an IllegalArgumentException if the backend has no streams, or
     *     these are of another kind or number
     * @throws IllegalArgumentException as by {@link #check}
     */
    public CompletableFuture<Void> enqueue(CollectiveCall call, CallerStreams streams) {
        return queue.enqueue(checked(call, given(streams)));
    }

    /**
     * Puts several calls into streams of the caller, as {@link #enqueue} does with one. Work that is put into the
     * streams from then on waits for the end of the last call. The calls between the first and the last touch no
     * stream, so that each costs little more than its launch.
     *
     * @param calls what to run, in this order; the arenas of their buffers stay open until the future completes
     * @param streams one per rank, {@code CudaStreams} on GPUs
     * @return completes when all have ended; with an IllegalArgumentException if the backend has no streams, or these
     *     are of another kind or number
     * @throws IllegalArgumentException if one call is wrong; none is submitted then
     */
    public CompletableFuture<Void> enqueueAll(List<CollectiveCall> calls, CallerStreams streams) {
        return queue.enqueue(batch(calls, given(streams)));
    }

    private static CallerStreams given(@Nullable CallerStreams streams) {
        if (streams == null) {
            throw new IllegalArgumentException("the streams are null; give one for each rank, or call runAsync");
        }
        return streams;
    }

    private CallQueue.Call batch(List<CollectiveCall> calls, @Nullable CallerStreams streams) {
        calls.forEach(this::check);
        int last = calls.size() - 1;
        return planned.batch(IntStream.rangeClosed(0, last)
                .mapToObj(i -> planned.call(calls.get(i), i == 0 || i == last ? streams : null))
                .toList());
    }

    /**
     * Makes every buffer the reduction of all buffers, and returns when it is complete.
     *
     * @param buffers one per rank, each of at least {@code count} elements
     * @param count elements to reduce, at least 0
     * @param type their type
     * @param op the operation
     * @throws IllegalArgumentException as by {@link #check}
     */
    public void allReduce(List<MemorySegment> buffers, long count, DataType type, ReduceOp op) {
        run(CollectiveCall.allReduce(buffers, count, type, op));
    }

    /**
     * Ends all calls that have not ended, as ncclCommAbort does: their futures fail, blocking methods throw, and the
     * communicator takes no more calls. What a call's buffers hold is undefined then. A run that cannot be ended early
     * goes on in them until it ends by itself; {@link #close} waits a second for it, and reports it. Without effect
     * after a failure or {@link #close}.
     */
    public void abort() {
        queue.fail(new CollectiveAbortedException("Communicator.abort was called"));
        planned.abort();
    }

    /**
     * Returns what broke the communicator, as ncclCommGetAsyncError does: a timeout, a device's failure or {@link
     * #abort}. Empty while it takes calls, and after a {@link #close}.
     */
    public Optional<Throwable> failure() {
        Throwable stopped = queue.failure();
        return Optional.ofNullable(stopped == null && !freed.get() ? backend.failure() : stopped);
    }

    /**
     * Waits for the calls that were submitted, frees the plans and, unless the backend was given, the backend and its
     * memory. Closing twice is no error.
     *
     * @throws dev.banyan.reduce.backend.CollectiveTimeoutException if the communicator is broken and a call has not
     *     ended a second after this call; nothing is freed then, and close may be called again
     */
    @Override
    public void close() {
        queue.close();
        if (freed.compareAndSet(false, true)) {
            CloseAll all = new CloseAll();
            all.close(planned::close);
            if (ownsBackend) {
                all.close(backend::close);
            }
            all.throwFailure();
        }
    }
}

package dev.banyan.cuda;

import dev.banyan.reduce.backend.Backend;
import dev.banyan.reduce.backend.CallerStreams;
import dev.banyan.reduce.backend.CollectiveTimeoutException;
import dev.banyan.reduce.backend.Executable;
import dev.banyan.reduce.internal.BackendArguments;
import dev.banyan.reduce.internal.Completions;
import dev.banyan.reduce.optimizer.ParameterUpdate;
import dev.banyan.schedule.Schedule;
import dev.banyan.schedule.plan.Execution;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;
import jcuda.driver.CUresult;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * GPUs, through NVIDIA's driver. Rank r is on the r-th of the given devices; a device may be given several times
 * and then has several ranks.
 *
 * <p><b>Buffers</b> are device memory of any owner, aligned to the element: of {@link #allocate(int, long) allocate},
 * or any address by {@link #memory}. Their segments are handles: the host must not read or write them. Segments of this
 * class refuse that, except those of an arena, whose owner is the arena. {@link #copyToDevice} and {@link #copyToHost}
 * copy to and from the host, in streams of their own, so that they wait for no collective. Memory of pools
 * (cuMemAllocAsync) is opened to the devices of its peers for reading and writing. Mapped memory (cuMemMap) is taken if
 * cuMemSetAccess has opened all of a buffer to them, and is else refused.
 *
 * <p>Whose memory a buffer is gets asked once, when the graph of its address is made. An address that is freed and then
 * belongs to memory of another kind, of another device or with less access must not be used with the same communicator.
 *
 * <p><b>Runs.</b> Where all devices of a schedule reach each other's memory, one kernel on each device runs it as a
 * {@linkplain dev.banyan.schedule.program.DeviceProgram device program}: a run is one launch on each device, whatever
 * the buffers are. Else, and if that is chosen, the first run of an executable with given buffers makes a CUDA graph
 * of all its copies and kernels, which is kept; a further run with the same buffers is one launch. Both give the same
 * bits. Runs of one backend follow each other on the devices. A start does not wait for the runs before it.
 *
 * <p><b>Failures.</b> A CUDA error, a lost device or a timeout ends the run with an exception that names the device,
 * the step and the error; all other runs that have not ended fail with it, and the backend then refuses everything but
 * {@link #close}. A copy that does not end in time has the same effect. Memory in which copies still run after a
 * timeout is freed once they have ended, when the next backend is made or closed.
 *
 * <p>After an error of a device the driver refuses all work there until the process ends, and may never end what other
 * devices do behind it. From then on nothing is freed, as that could wait for ever, and no further backend can be made
 * in the process. Backends of other devices go on.
 *
 * <p>Safe for use from any thread, whose current context stays what it is.
 */
public final class CudaBackend implements Backend {
    private static final Logger LOG = LoggerFactory.getLogger(CudaBackend.class);

    /** Backends whose memory is not freed. */
    private static final Set<CudaBackend> LIVING = new LinkedHashSet<>();

    /** Guards what launches use. No thread waits for a device while it holds it. */
    private final ReentrantLock lock = new ReentrantLock();

    private final long timeoutNanos;
    private final List<CudaDevice> ranks;
    private final Map<CudaDevice, CopyLane> lanes = new LinkedHashMap<>();
    private final DeviceMemory memory;
    private final PeerTrials trials;
    private final PlanMaker plans;
    private final GraphCache graphs;
    private final GraphLauncher graphLauncher;
    private final ExecutorChoice executor;
    private final ProgramMemory programMemory;
    private final ProgramPlanner programs;
    private final ProgramLauncher programLauncher;
    private final UpdateLauncher updateLauncher;
    private final BufferAccess access;
    private final Runs runs;
    private final StreamJoin join;
    private final Set<Executable> executables = new LinkedHashSet<>();
    /** Closed executables that have runs in flight. */
    private final Set<Executable> released = new LinkedHashSet<>();
    /** The last one that was launched; what another executor launches waits for it. */
    private @Nullable Run last;
    /** Gather what threads start. */
    private final Map<Thread, CudaGroup> groups = new HashMap<>();

    private volatile boolean closed;

    /**
     * @param devices the device of each rank, as the driver counts them; at least one
     * @param timeout how long a run may take, from the end of the run before it, and each copy
     * @param peerAccess which devices may touch each other's memory, if that works when it is first tried; the others'
     *     data goes through the host
     * @param bufferLimit greatest number of bytes of receive buffers on each device
     * @throws CudaException if there is no driver or a device can't be used
     * @throws IllegalArgumentException if an argument is out of its range
     */
    public CudaBackend(int[] devices, Duration timeout, PeerRule peerAccess, long bufferLimit) {
        this(devices, timeout, peerAccess, bufferLimit, Tuning.DEFAULT);
    }

    CudaBackend(int[] ordinals, Duration timeout, PeerRule peerAccess, long bufferLimit, Tuning tuning) {
        if (ordinals.length == 0 || !timeout.isPositive() || bufferLimit < 1) {
            throw new IllegalArgumentException("a CUDA backend of " + ordinals.length + " ranks, timeout " + timeout
                    + " and " + bufferLimit + " bytes of receive buffers; all must be positive");
        }
        ProcessFault.check();
        CudaLibrary.load();
        freeClosed();
        int count = CudaDevices.count();
        timeoutNanos = TimeUnit.NANOSECONDS.convert(timeout);
        Map<Integer, CudaDevice> opened = new LinkedHashMap<>();
        try {
            for (int ordinal : ordinals) {
                if (ordinal < 0 || ordinal >= count) {
                    throw new IllegalArgumentException(
                            "device " + ordinal + "; this machine has " + count + ", 0.." + (count - 1));
                }
                opened.computeIfAbsent(ordinal, CudaDevice::new);
            }
            ranks = Arrays.stream(ordinals)
                    .mapToObj(ordinal -> Objects.requireNonNull(opened.get(ordinal)))
                    .toList();
            try (CallerContext _ = CallerContext.keep(ranks.getFirst())) {
                for (CudaDevice device : opened.values()) {
                    CopyLane lane = new CopyLane(device, timeoutNanos);
                    lanes.put(device, lane);
                    device.makeOne(lane);
                }
                graphLauncher = new GraphLauncher(ranks.getFirst());
                programMemory = new ProgramMemory(ranks, lanes, bufferLimit);
                programLauncher = new ProgramLauncher(
                        List.copyOf(lanes.keySet()),
                        programMemory,
                        timeoutNanos,
                        tuning.firstFlag(),
                        tuning.launchThreads() == Tuning.FITTING
                                ? LaunchThreads.fitting(lanes.size())
                                : tuning.launchThreads());
                updateLauncher = new UpdateLauncher(ranks, List.copyOf(lanes.keySet()), programLauncher);
            }
        } catch (Throwable e) {
            abandon(List.copyOf(opened.values()));
            throw e;
        }
        runs = new Runs(ranks.getFirst(), lanes.keySet(), timeoutNanos, tuning.clock(), this::hasLaunchesInStreams);
        memory = new DeviceMemory(ranks, lanes, this::wouldWait);
        trials = new PeerTrials(timeoutNanos, tuning.triesPeers());
        PeerAccess peers = new PeerAccess(ranks, peerAccess, trials);
        access = new BufferAccess(memory);
        executor = tuning.executor();
        plans = new PlanMaker(ranks, peers, tuning.moves(), bufferLimit);
        programs = new ProgramPlanner(ranks, lanes, peers, tuning.sizes(), programMemory);
        graphs = new GraphCache(
                tuning.graphNodes(),
                graph -> runs.isInFlight(run ->
                        run instanceof GraphRun ofGraph && ofGraph.graph().equals(graph)));
        join = new StreamJoin(ranks);
        synchronized (LIVING) {
            LIVING.add(this);
        }
    }

    /** Frees what a backend has that could not be made; nothing where a device has a fault. */
    private void abandon(List<CudaDevice> opened) {
        if (opened.isEmpty()) {
            return;
        }
        try (CallerContext _ = CallerContext.tryKeep(opened.getFirst())) {
            if (opened.stream().allMatch(device -> device.fault() == CUresult.CUDA_SUCCESS)) {
                lanes.values().forEach(CopyLane::free);
                opened.forEach(CudaDevice::close);
            }
        }
    }

    /**
     * Returns device memory of any owner, as a buffer. The owner must keep it until the collective has ended.
     *
     * @param address where it begins, as devices know it
     * @param bytes its length
     */
    public static MemorySegment memory(long address, long bytes) {
        return DeviceSpace.segment(address, bytes);
    }

    @Override
    public boolean inHostMemory() {
        return false;
    }

    @Override
    public Execution execution() {
        return executor.execution();
    }

    @Override
    public @Nullable Throwable failure() {
        return runs.failure();
    }

    @Override
    public String name() {
        return "cuda";
    }

    @Override
    public MemorySegment allocate(int rank, long bytes) {
        return copied(() -> memory.allocate(rank, bytes));
    }

    /**
     * {@inheritDoc} Memory that the arena frees while something runs is kept until nothing does. {@link #close} frees
     * what the arena has not freed.
     */
    @Override
    public MemorySegment allocate(int rank, long bytes, Arena arena) {
        return copied(() -> memory.allocate(rank, bytes, arena));
    }

    @Override
    public MemorySegment allocateHost(long bytes, Arena arena) {
        if (bytes <= 0) {
            return arena.allocate(bytes, 64);
        }
        checkUsable();
        try (CallerContext _ = CallerContext.keep(ranks.getFirst())) {
            HostBlock block = new HostBlock(bytes);
            return block.segment(arena, () -> free(block));
        }
    }

    private void free(HostBlock block) {
        if (closed) {
            throw new IllegalStateException(
                    "memory of the host is freed after its backend, and went with it; close its arena first");
        }
        memory.free(block::free);
    }

    @Override
    public void copyToDevice(MemorySegment target, MemorySegment source) {
        var _ = copied(() -> {
            memory.write(target, source);
            return MemorySegment.NULL;
        });
    }

    @Override
    public void copyToHost(MemorySegment source, MemorySegment target) {
        var _ = copied(() -> {
            memory.read(source, target);
            return MemorySegment.NULL;
        });
    }

    /** Runs what copies or clears; a copy that does not end in time breaks the backend. */
    private MemorySegment copied(Supplier<MemorySegment> work) {
        checkUsable();
        try (CallerContext _ = CallerContext.keep(ranks.getFirst())) {
            return work(work);
        }
    }

    private MemorySegment work(Supplier<MemorySegment> work) {
        try {
            return work.get();
        } catch (CollectiveTimeoutException e) {
            throw breaking(e);
        } catch (CudaException e) {
            throw brokenBy(e);
        }
    }

    /** Returns an error of the driver, which breaks the backend where a device has a fault. */
    private CudaException brokenBy(CudaException error) {
        CudaException explained = runs.explain(error);
        return explained.equals(error) ? error : breaking(explained);
    }

    private <E extends RuntimeException> E breaking(E reason) {
        runs.breakWith(reason);
        return reason;
    }

    @Override
    public @Nullable String refusal(MemorySegment buffer, DataType type) {
        return buffer.address() % type.bytes() == 0
                ? null
                : "begins at address 0x" + Long.toHexString(buffer.address()) + ", which is no multiple of the "
                        + type.bytes() + " bytes of " + type + "; align it to its elements";
    }

    @Override
    public Executable prepare(Schedule schedule, DataType type, ReduceOp op) {
        BackendArguments.checkSchedule(schedule, type, ranks.size());
        checkUsable();
        try (CallerContext _ = CallerContext.keep(ranks.getFirst())) {
            return prepareInTurn(schedule, type, op);
        }
    }

    private Executable prepareInTurn(Schedule schedule, DataType type, ReduceOp op) {
        try {
            ProgramPlan program = program(schedule, type, op);
            if (program == null) {
                plans.askPeers(schedule, type, op);
            }
            return executable(schedule, type, op, program);
        } catch (CudaException e) {
            throw brokenBy(e);
        }
    }

    /** Returns the schedule as a device program, or null if a graph is to run it. */
    private @Nullable ProgramPlan program(Schedule schedule, DataType type, ReduceOp op) {
        if (executor == ExecutorChoice.GRAPH) {
            return null;
        }
        try {
            return programs.plan(schedule, type, op);
        } catch (NoProgramException e) {
            if (executor == ExecutorChoice.KERNEL) {
                throw new CudaException(
                        schedule.collective().label() + " by " + schedule.algorithm()
                                + " can't run as one kernel on each GPU: " + e.getMessage()
                                + "; take BANYAN_CUDA_EXECUTOR=auto",
                        e);
            }
            LOG.debug(
                    "{} by {} runs as a graph: {}",
                    schedule.collective().label(),
                    schedule.algorithm(),
                    e.getMessage());
            return null;
        }
    }

    private Executable executable(Schedule schedule, DataType type, ReduceOp op, @Nullable ProgramPlan program) {
        lock.lock();
        try {
            checkUsable();
            freeReleased();
            Executable executable = program == null
                    ? new CudaExecutable(this, plans.plan(schedule, type, op))
                    : new ProgramExecutable(this, program, ranks.size(), Math.ceilDiv(timeoutNanos, 1_000_000));
            executables.add(executable);
            return executable;
        } finally {
            lock.unlock();
        }
    }

    /**
     * {@inheritDoc} Calls that run as kernels, with one type and operation, and that touch no buffer together, are one
     * launch on each device.
     */
    @Override
    public Group group() {
        lock.lock();
        try {
            CudaGroup opened = new CudaGroup(this);
            if (groups.putIfAbsent(Thread.currentThread(), opened) != null) {
                throw new IllegalStateException("this thread has opened a group; close it first");
            }
            return opened;
        } finally {
            lock.unlock();
        }
    }

    /** Launches what a group has gathered, and ends it. */
    void end(CudaGroup ended) {
        lock.lock();
        try (CallerContext _ = CallerContext.keep(ranks.getFirst())) {
            groups.remove(Thread.currentThread(), ended);
            flush(ended);
        } finally {
            lock.unlock();
        }
    }

    /** Puts a run behind those before, and into the caller's streams if there are any. */
    CompletableFuture<Void> start(
            Executable executable, MemorySegment[] inputs, MemorySegment[] outputs, @Nullable CallerStreams streams) {
        CudaStreams callers = streams == null ? null : join.check(streams);
        lock.lock();
        try (CallerContext _ = CallerContext.keep(ranks.getFirst())) {
            checkUsable();
            return started(executable, inputs, outputs, callers);
        } finally {
            lock.unlock();
        }
    }

    private CudaException failed(CudaException e) {
        return runs.failure() == null ? breaking(runs.explain(e)) : e;
    }

    private CompletableFuture<Void> started(
            Executable executable, MemorySegment[] inputs, MemorySegment[] outputs, @Nullable CudaStreams callers) {
        CudaGroup open = groups.get(Thread.currentThread());
        return switch (executable) {
            case ProgramExecutable program -> {
                ProgramBatch.Member call = program.call(access, inputs, outputs);
                if (open == null) {
                    try {
                        yield launched(call.alone(), callers).future();
                    } catch (CudaException e) {
                        throw failed(e);
                    }
                }
                if (!open.add(call, callers)) {
                    flush(open);
                    open.add(call, callers);
                }
                yield open.future();
            }
            case CudaExecutable graph -> {
                if (open != null) {
                    flush(open);
                }
                try {
                    yield launched(graph, inputs, outputs, callers).future();
                } catch (CudaException e) {
                    throw runs.failure() == null ? breaking(runs.explain(graph, e)) : e;
                }
            }
            default -> throw new IllegalArgumentException("an executable of another backend");
        };
    }

    /** Launches what a group has gathered up to now; its future says how that ends. */
    private void flush(CudaGroup gathered) {
        if (gathered.isEmpty()) {
            return;
        }
        CompletableFuture<Void> future = gathered.future();
        CudaStreams callers = gathered.streams();
        try {
            checkUsable();
            var _ = launched(gathered.take(), callers).future().whenComplete((_, failure) -> {
                if (failure == null) {
                    future.complete(null);
                } else {
                    future.completeExceptionally(failure);
                }
            });
        } catch (CudaException e) {
            future.completeExceptionally(failed(e));
        } catch (RuntimeException e) {
            future.completeExceptionally(e);
        }
    }

    private Run launched(
            CudaExecutable executable, MemorySegment[] inputs, MemorySegment[] outputs, @Nullable CudaStreams callers) {
        GraphCache.Key key = executable.key(inputs, outputs);
        Graph graph = graphs.get(key, () -> executable.build(key, access));
        if (last != null && !(last instanceof GraphRun)) {
            graphLauncher.waitFor(last.ended());
        }
        if (callers != null) {
            join.after(callers, _ -> graphLauncher.stream());
        }
        GraphRun run = graphLauncher.launch(executable, graph, runs.takeMarks(executable));
        runs.add(run);
        if (callers != null) {
            join.before(callers, _ -> run.ended().getFirst());
        }
        last = run;
        return run;
    }

    private Run launched(List<ProgramBatch.Member> members, @Nullable CudaStreams callers) {
        if (last instanceof GraphRun) {
            programLauncher.waitFor(last.ended());
        }
        if (callers != null) {
            join.after(callers, rank -> programLauncher.stream(ranks.get(rank)));
        }
        ProgramRun run = programLauncher.launch(members);
        runs.add(run);
        if (callers != null) {
            join.before(callers, rank -> run.ended(ranks.get(rank)));
        }
        last = run;
        return run;
    }

    @Override
    public CompletableFuture<Void> update(List<ParameterUpdate> updates) {
        lock.lock();
        try (CallerContext _ = CallerContext.keep(ranks.getFirst())) {
            checkUsable();
            updates.forEach(update -> access.check(update, ranks.get(update.rank())));
            if (last instanceof GraphRun) {
                programLauncher.waitFor(last.ended());
            }
            try {
                UpdateRun run = updateLauncher.launch(updates);
                runs.add(run);
                last = run;
                return run.future();
            } catch (CudaException e) {
                throw failed(e);
            }
        } finally {
            lock.unlock();
        }
    }

    /** Asks the runs of an executable that are in flight to end early. */
    void stop(ProgramExecutable executable) {
        runs.stop(executable);
    }

    private boolean hasLaunchesInStreams() {
        return graphLauncher.isBusy() || programLauncher.isBusy();
    }

    /** Looks for ends of runs on the calling thread for a short while, until a future is done. */
    void poll(Future<?> ended) {
        if (ended.isDone()) {
            return;
        }
        try (CallerContext kept = CallerContext.tryKeep(ranks.getFirst())) {
            if (kept != null) {
                runs.poll(ended);
            }
        }
    }

    private void checkUsable() {
        runs.checkUnbroken();
        if (closed) {
            throw new IllegalStateException("the backend is closed; make a new one");
        }
    }

    /** Frees what an executable has, or keeps it until its runs have ended. */
    void release(Executable executable) {
        lock.lock();
        try (CallerContext _ = CallerContext.tryKeep(ranks.getFirst())) {
            if (executables.remove(executable)) {
                released.add(executable);
                freeReleased();
            }
        } finally {
            lock.unlock();
        }
    }

    private void freeReleased() {
        if (ProcessFault.isThere()) {
            return;
        }
        released.removeIf(executable -> {
            if (runs.isInFlight(run -> run.isOf(executable))
                    || groups.values().stream().anyMatch(group -> group.holds(executable))) {
                return false;
            }
            giveBack(executable);
            return true;
        });
    }

    /** Takes back what an executable has alone; nothing of it runs. */
    private void giveBack(Executable executable) {
        switch (executable) {
            case ProgramExecutable program -> programs.close(program.plan());
            case CudaExecutable graph -> {
                graphs.remove(graph);
                plans.close(graph.plan());
            }
            default -> throw new IllegalArgumentException("an executable of another backend");
        }
    }

    /** Whether the backend is not known to have nothing to do on its devices. */
    private boolean isBusy() {
        try (CallerContext kept = CallerContext.tryKeep(ranks.getFirst())) {
            return kept == null
                    || hasLaunchesInStreams()
                    || trials.isBusy()
                    || lanes.values().stream().anyMatch(CopyLane::isBusy);
        }
    }

    private boolean sharesDeviceWith(CudaBackend other) {
        return lanes.keySet().stream()
                .anyMatch(device -> other.lanes.keySet().stream().anyMatch(one -> one.ordinal() == device.ordinal()));
    }

    /** Whether a call that frees memory on the backend's devices would wait for work of this backend or of another. */
    private boolean wouldWait() {
        synchronized (LIVING) {
            return LIVING.stream().anyMatch(other -> sharesDeviceWith(other) && other.isBusy());
        }
    }

    /** Whether that is to change soon, as the work of other backends ends or times out. */
    private boolean wouldWaitForSoundBackends() {
        synchronized (LIVING) {
            return LIVING.stream()
                    .anyMatch(other -> !other.equals(this)
                            && other.failure() == null
                            && sharesDeviceWith(other)
                            && other.isBusy());
        }
    }

    /**
     * Waits for the runs that were started, each of which ends or times out, and frees all memory of the backend. What
     * is busy, of this backend or of others on its devices, would make the driver wait: where that lasts longer than
     * the timeout, memory is freed later, when the next backend is made or closed. Closing twice is no error.
     */
    @Override
    public void close() {
        lock.lock();
        try {
            if (closed) {
                return;
            }
            closed = true;
        } finally {
            lock.unlock();
        }
        try (CallerContext _ = CallerContext.tryKeep(ranks.getFirst())) {
            runs.close();
        }
        Waiting.whileBusy(this::wouldWaitForSoundBackends, System.nanoTime() + timeoutNanos);
        freeClosed();
        synchronized (LIVING) {
            if (ProcessFault.isThere()) {
                LIVING.remove(this);
                LOG.warn("memory of a backend is left to the end of the process, since a device has failed");
            }
            if (LIVING.contains(this)) {
                LOG.warn("memory of a backend is kept until work that did not end in time has ended");
            }
        }
    }

    /**
     * Frees the closed backends on whose devices nothing is busy. A thread of its own does it: the driver also waits
     * for work of others in this process, of which nobody knows whether it ends.
     */
    private static void freeClosed() {
        List<CudaBackend> idle;
        synchronized (LIVING) {
            if (ProcessFault.isThere()) {
                return;
            }
            idle = LIVING.stream()
                    .filter(backend -> backend.closed && !backend.wouldWait())
                    .toList();
            idle.forEach(LIVING::remove);
        }
        for (CudaBackend backend : idle) {
            CompletableFuture<Void> freed = CompletableFuture.runAsync(backend::free, DriverThreads.NEW);
            try {
                Completions.join(freed.copy().orTimeout(backend.timeoutNanos, TimeUnit.NANOSECONDS));
            } catch (CompletionException e) {
                LOG.warn("the driver has not freed the memory of a backend yet; it waits for other work of this"
                        + " process");
            }
        }
    }

    /** Plays a process in which no backend was made yet. */
    static void forgetAll() {
        synchronized (LIVING) {
            LIVING.clear();
        }
    }

    private void free() {
        boolean sound = lanes.keySet().stream().allMatch(device -> device.fault() == CUresult.CUDA_SUCCESS);
        ranks.getFirst().tryEnter();
        executables.forEach(this::giveBack);
        released.forEach(this::giveBack);
        List<Integer> results = new ArrayList<>();
        results.addAll(graphs.free());
        results.addAll(memory.free());
        results.addAll(plans.free(sound));
        results.addAll(programs.free(sound));
        results.addAll(programMemory.free());
        results.addAll(join.free());
        results.addAll(trials.free());
        lanes.values().forEach(lane -> results.addAll(lane.free()));
        results.addAll(graphLauncher.free());
        results.addAll(programLauncher.free());
        lanes.keySet().forEach(CudaDevice::close);
        if (sound) {
            results.forEach(result -> Cuda.check(result, "freeing the memory of a CUDA backend"));
        }
    }
}

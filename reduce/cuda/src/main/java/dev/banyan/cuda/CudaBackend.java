package dev.banyan.cuda;

import dev.banyan.config.Config;
import dev.banyan.cuda.internal.driver.CallerContext;
import dev.banyan.cuda.internal.driver.Cuda;
import dev.banyan.cuda.internal.driver.CudaDevice;
import dev.banyan.cuda.internal.driver.CudaDevices;
import dev.banyan.cuda.internal.driver.CudaLibrary;
import dev.banyan.cuda.internal.driver.HostBlock;
import dev.banyan.cuda.internal.driver.ProcessFault;
import dev.banyan.cuda.internal.driver.Waiting;
import dev.banyan.cuda.internal.graph.CudaExecutable;
import dev.banyan.cuda.internal.graph.GraphLauncher;
import dev.banyan.cuda.internal.graph.PlanMaker;
import dev.banyan.cuda.internal.job.JobGpus;
import dev.banyan.cuda.internal.job.JobPeers;
import dev.banyan.cuda.internal.launch.LaunchQueue;
import dev.banyan.cuda.internal.launch.LaunchThreads;
import dev.banyan.cuda.internal.memory.BufferAccess;
import dev.banyan.cuda.internal.memory.CopyLane;
import dev.banyan.cuda.internal.memory.DeviceMemory;
import dev.banyan.cuda.internal.memory.DeviceSpace;
import dev.banyan.cuda.internal.memory.JointMemory;
import dev.banyan.cuda.internal.memory.ProgramPieces;
import dev.banyan.cuda.internal.memory.Ranks;
import dev.banyan.cuda.internal.nccl.NcclExecutable;
import dev.banyan.cuda.internal.nccl.NcclLauncher;
import dev.banyan.cuda.internal.peer.PeerAccess;
import dev.banyan.cuda.internal.peer.PeerTrials;
import dev.banyan.cuda.internal.peer.ProgramReach;
import dev.banyan.cuda.internal.peer.StoreTrials;
import dev.banyan.cuda.internal.program.BlockingLaunches;
import dev.banyan.cuda.internal.program.LaunchPlan;
import dev.banyan.cuda.internal.program.NoProgramException;
import dev.banyan.cuda.internal.program.ProgramExecutable;
import dev.banyan.cuda.internal.program.ProgramGroup;
import dev.banyan.cuda.internal.program.ProgramLauncher;
import dev.banyan.cuda.internal.program.ProgramMemory;
import dev.banyan.cuda.internal.program.ProgramPlan;
import dev.banyan.cuda.internal.program.ProgramPlanner;
import dev.banyan.cuda.internal.program.SumLauncher;
import dev.banyan.cuda.internal.program.UpdateLauncher;
import dev.banyan.cuda.internal.symmetric.ExchangePlanner;
import dev.banyan.cuda.type.CudaException;
import dev.banyan.cuda.type.PeerRule;
import dev.banyan.reduce.backend.Backend;
import dev.banyan.reduce.backend.CallerStreams;
import dev.banyan.reduce.backend.CollectiveTimeoutException;
import dev.banyan.reduce.backend.Completion;
import dev.banyan.reduce.backend.Executable;
import dev.banyan.reduce.backend.NcclRequest;
import dev.banyan.reduce.backend.RankRange;
import dev.banyan.reduce.internal.BackendArguments;
import dev.banyan.reduce.internal.joining.JoinableBackend;
import dev.banyan.reduce.internal.joining.Joined;
import dev.banyan.reduce.internal.processes.Job;
import dev.banyan.reduce.internal.sum.OpenSum;
import dev.banyan.reduce.internal.sum.ReproducibleSum;
import dev.banyan.reduce.internal.sum.SumPass;
import dev.banyan.reduce.internal.sum.SumPasses;
import dev.banyan.reduce.optimizer.ParameterUpdate;
import dev.banyan.schedule.Schedule;
import dev.banyan.schedule.plan.Platform;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import dev.banyan.topology.Machine;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.LongSupplier;
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
 * <p><b>Runs.</b> Where kernels may store to all peers ({@link PeerRule#allowsStores}), one on each device runs it as a
 * {@linkplain dev.banyan.schedule.internal.program.DeviceProgram device program}: one launch on each device, whatever
 * the buffers are. Else, and if that is chosen, the first run of an executable with given buffers makes a CUDA graph
 * of all its copies and kernels, which is kept; a further run with the same buffers is one launch. Both give the same
 * bits. A run of NCCL, in place of a schedule, is what NCCL launches. Runs of one backend follow each other on the
 * devices. A start does not wait for the runs before it.
 *
 * <p><b>Failures.</b> A CUDA error, a lost device or a timeout ends the run with an exception that names the device,
 * the step and the error; all other runs that have not ended fail with it, and the backend then refuses everything but
 * {@link #close}. A copy that does not end in time has the same effect. Memory in which copies still run after a
 * timeout is freed once they have ended, when the next backend is made or closed; so is what a constructor leaves that
 * failed.
 *
 * <p>After an error of a device the driver refuses all work there until the process ends, and may never end what other
 * devices do behind it. From then on nothing is freed, as that could wait for ever, and no further backend can be made
 * in the process. Backends of other devices go on.
 *
 * <p>Safe for use from any thread, whose current context stays what it is. Calls of a virtual thread run on a platform
 * thread, for which it waits.
 */
public final class CudaBackend implements Backend, JoinableBackend, SumPasses {
    private static final Logger LOG = LoggerFactory.getLogger(CudaBackend.class);

    private final long timeoutNanos;
    private final LongSupplier clock;
    private final Ranks ranks;
    private final JobPeers jobPeers;
    private final Map<CudaDevice, CopyLane> lanes = new LinkedHashMap<>();
    private final DeviceMemory memory;
    private final PeerTrials trials;
    private final StoreTrials stores;
    private final PlanMaker plans;
    private final ExecutorChoice executor;
    private final Platform platform;
    private final ProgramPieces pieces;
    /** Memory that other processes may touch, too. */
    private final @Nullable JointMemory joint;

    private final ProgramMemory programMemory;
    private final ProgramPlanner programs;
    private final ExchangePlanner exchanges;
    private final LaunchQueue queue;
    private final GraphLauncher graphLauncher;
    private final ProgramLauncher programLauncher;
    private final NcclLauncher nccl;
    private final UpdateLauncher updates;
    private final SumLauncher sums;

    /**
     * @param devices the device of each rank, as the driver counts them; at least one
     * @param timeout how long a run may take, from the end of the run before it, and each copy
     * @param peerAccess which devices may touch each other's memory, if that works when it is first tried; the others'
     *     data goes through the host
     * @param bufferLimit greatest number of bytes of receive buffers of each rank
     * @throws CudaException if there is no driver or a device can't be used
     * @throws IllegalArgumentException if an argument is out of its range
     */
    public CudaBackend(int[] devices, Duration timeout, PeerRule peerAccess, long bufferLimit) {
        this(devices, timeout, peerAccess, bufferLimit, Tuning.DEFAULT);
    }

    CudaBackend(int[] ordinals, Duration timeout, PeerRule peerAccess, long bufferLimit, Tuning tuning) {
        this(ordinals, timeout, peerAccess, bufferLimit, tuning, JobPeers.ALONE);
    }

    /** @param jobPeers the processes that hold the ranks; {@link #close} leaves them */
    CudaBackend(
            int[] ordinals, Duration timeout, PeerRule peerAccess, long bufferLimit, Tuning tuning, JobPeers jobPeers) {
        this.jobPeers = jobPeers;
        if (ordinals.length == 0 || !timeout.isPositive() || bufferLimit < 1) {
            throw new IllegalArgumentException("a CUDA backend of " + ordinals.length + " ranks, timeout " + timeout
                    + " and " + bufferLimit + " bytes of receive buffers; all must be positive");
        }
        ProcessFault.check();
        CudaLibrary.load();
        LivingBackends.freeClosed();
        int count = CudaDevices.count();
        timeoutNanos = TimeUnit.NANOSECONDS.convert(timeout);
        clock = tuning.clock();
        executor = tuning.executor();
        if (executor != ExecutorChoice.GRAPH) {
            BlockingLaunches.refuse(System.getenv("CUDA_LAUNCH_BLOCKING"), (int)
                    Arrays.stream(ordinals).distinct().count());
        }
        Map<Integer, CudaDevice> opened = new LinkedHashMap<>();
        ProgramPieces made = null;
        try {
            for (int ordinal : ordinals) {
                if (ordinal < 0 || ordinal >= count) {
                    throw new IllegalArgumentException(
                            "device " + ordinal + "; this machine has " + count + ", 0.." + (count - 1));
                }
                opened.computeIfAbsent(ordinal, CudaDevice::new);
            }
            ranks = jobPeers.ranks(Arrays.stream(ordinals)
                    .mapToObj(ordinal -> Objects.requireNonNull(opened.get(ordinal)))
                    .toList());
            platform =
                    new Platform("cuda", executor.execution(), jobPeers.models(opened.keySet()), CudaDevices.driver());
            memory = new DeviceMemory(
                    ranks,
                    lanes,
                    () -> LivingBackends.keepBusy(this),
                    executor != ExecutorChoice.GRAPH
                            && jobPeers.isAlone()
                            && StoreTrials.allView(ranks.held(), peerAccess));
            pieces = CallerContext.keep(ranks.leader(), () -> {
                for (CudaDevice device : opened.values()) {
                    CopyLane lane = new CopyLane(device, timeoutNanos, clock);
                    lanes.put(device, lane);
                    device.makeOne(word -> lane.fill(word, 1, 1));
                }
                return jobPeers.pieces(
                        ranks, lanes, device -> StoreTrials.viewers(device, List.copyOf(lanes.keySet()), peerAccess));
            });
            made = pieces;
            CallerContext.keep(ranks.leader(), () -> jobPeers.tryMemory(ranks, pieces));
            joint = jobPeers.opensBuffers()
                    ? CallerContext.keep(ranks.leader(), () -> new JointMemory(ranks, lanes, pieces))
                    : null;
            programMemory = CallerContext.keep(ranks.leader(), () -> new ProgramMemory(ranks, pieces, bufferLimit));
            BufferAccess access = new BufferAccess(memory);
            List<CudaDevice> devices = List.copyOf(lanes.keySet());
            queue = new LaunchQueue(ranks, lanes.keySet(), timeoutNanos, clock, jobPeers, tuning.watcher());
            graphLauncher = queue.attach(CallerContext.keep(
                    ranks.leader(), () -> new GraphLauncher(ranks.leader(), queue, access, tuning.graphNodes())));
            programLauncher = queue.attach(CallerContext.keep(
                    ranks.leader(),
                    () -> new ProgramLauncher(
                            devices,
                            queue,
                            access,
                            programMemory,
                            timeoutNanos,
                            clock,
                            tuning.firstFlag(),
                            tuning.launchThreads() == Tuning.FITTING
                                    ? LaunchThreads.fitting(devices.size())
                                    : tuning.launchThreads())));
            nccl = new NcclLauncher(ranks.held(), devices, queue, programLauncher, tuning.ncclLibrary(), timeoutNanos);
            updates = new UpdateLauncher(ranks, devices, queue, programLauncher);
            sums = new SumLauncher(ranks, devices, queue, programLauncher);
        } catch (Throwable e) {
            UnmadeBackend.abandon(List.copyOf(opened.values()), List.copyOf(lanes.values()), made, clock, timeoutNanos);
            throw e;
        }
        trials = new PeerTrials(timeoutNanos, tuning.triesPeers(), clock);
        PeerAccess peers = new PeerAccess(ranks, peerAccess, trials);
        plans = new PlanMaker(ranks.held(), peers, tuning.moves(), bufferLimit);
        stores = new StoreTrials(ranks, peerAccess, pieces, timeoutNanos, tuning.triesPeers(), clock);
        ProgramReach reach = jobPeers.isAlone() ? stores : peers::reaches;
        programs = new ProgramPlanner(ranks, lanes, reach, tuning.sizes(), programMemory);
        ProgramReach open = jobPeers.isAlone() || joint != null ? reach : (_, _) -> false;
        exchanges = new ExchangePlanner(ranks, lanes, open, pieces, tuning.sizes(), memory, joint);
        LivingBackends.add(this);
        if (jobPeers.isAlone() && executor != ExecutorChoice.GRAPH) {
            tryPeers();
        }
    }

    private void tryPeers() {
        try {
            CallerContext.keep(ranks.leader(), stores::tryAll);
        } catch (Throwable e) {
            close();
            throw e;
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
    public Platform platform() {
        return platform;
    }

    @Override
    public @Nullable Throwable failure() {
        RuntimeException failure = queue.failure();
        return failure == null && !queue.isClosed() ? queue.lost() : failure;
    }

    @Override
    public String name() {
        return "cuda";
    }

    @Override
    public RankRange held(int count) {
        return new RankRange(ranks.first(), ranks.held().size());
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
    public List<MemorySegment> allocateAll(int count, long bytes) {
        JointMemory memoryOfAll = joint;
        if (memoryOfAll == null) {
            return Backend.super.allocateAll(count, bytes);
        }
        queue.checkUsable();
        return meeting(() -> memoryOfAll.allocate(bytes));
    }

    @Override
    public MemorySegment allocateHost(long bytes, Arena arena) {
        if (bytes <= 0) {
            return arena.allocate(bytes, 64);
        }
        queue.checkUsable();
        HostBlock block = CallerContext.keep(ranks.leader(), () -> new HostBlock(bytes));
        try {
            return block.segment(arena, () -> free(block));
        } catch (RuntimeException e) {
            memory.free(block::free);
            throw e;
        }
    }

    private void free(HostBlock block) {
        if (queue.isClosed()) {
            throw new IllegalStateException(
                    "memory of the host is freed after its backend, and went with it; close its arena first");
        }
        memory.free(block::free);
    }

    @Override
    public void copyToDevice(MemorySegment target, MemorySegment source) {
        MemorySegment host = DeviceMemory.forDriver(source);
        var _ = copied(() -> {
            memory.write(target, host);
            return MemorySegment.NULL;
        });
    }

    @Override
    public void copyToHost(MemorySegment source, MemorySegment target) {
        MemorySegment host = DeviceMemory.forDriver(target);
        var _ = copied(() -> {
            memory.read(source, host);
            return MemorySegment.NULL;
        });
    }

    /** Runs what copies or clears; a copy that does not end in time breaks the backend. */
    private MemorySegment copied(Supplier<MemorySegment> work) {
        queue.checkUsable();
        return CallerContext.keep(ranks.leader(), () -> work(work));
    }

    private MemorySegment work(Supplier<MemorySegment> work) {
        try {
            return work.get();
        } catch (CollectiveTimeoutException e) {
            throw queue.breaking(e);
        } catch (CudaException e) {
            throw queue.brokenBy(e);
        }
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
        queue.checkStartable();
        return meeting(() -> prepareInTurn(schedule, type, op));
    }

    private Executable prepareInTurn(Schedule schedule, DataType type, ReduceOp op) {
        ProgramPlan program = program(schedule, type, op);
        if (program == null) {
            plans.askPeers(schedule, type, op);
            return queue.add(() -> new CudaExecutable(queue, graphLauncher, plans, plans.plan(schedule, type, op)));
        }
        List<LaunchPlan> launches = new ArrayList<>(exchanges.plans(schedule, type, op));
        launches.add(program);
        return executable(launches);
    }

    /** Runs what may wait for other processes. One that ended, is late or does something else breaks the backend. */
    private <T> T meeting(Supplier<T> work) {
        return CallerContext.keep(ranks.leader(), () -> {
            try {
                return work.get();
            } catch (CudaException e) {
                throw queue.brokenBy(e);
            } catch (IllegalStateException | CollectiveTimeoutException e) {
                throw jobPeers.isAlone() ? e : queue.breaking(e);
            }
        });
    }

    private ProgramExecutable executable(List<LaunchPlan> launches) {
        return queue.add(() -> new ProgramExecutable(
                queue, programLauncher, launches, this::close, ranks.size(), Math.ceilDiv(timeoutNanos, 1_000_000)));
    }

    private void close(LaunchPlan plan) {
        if (plan instanceof ProgramPlan program) {
            programs.close(program);
        } else {
            exchanges.close(plan);
        }
    }

    @Override
    public Optional<OpenSum> prepare(Schedule schedule, ReproducibleSum sum) {
        BackendArguments.checkSchedule(schedule, sum.type(), ranks.size());
        if (sum.contributions() != ranks.size()) {
            throw new IllegalArgumentException(
                    "a sum of " + sum.contributions() + " numbers over " + ranks.size() + " ranks");
        }
        queue.checkStartable();
        return executor == ExecutorChoice.GRAPH
                ? Optional.empty()
                : meeting(() -> exchanges.plan(schedule, sum).map(plan -> executable(List.of(plan))));
    }

    @Override
    public Joined join(Job job, Machine machine, Config config) {
        int[] ordinals = ranks.held().stream().mapToInt(CudaDevice::ordinal).toArray();
        return CudaBackendProvider.join(job, machine, config, JobGpus::refuseSharing, ordinals);
    }

    @Override
    public @Nullable String refusal(NcclRequest request) {
        queue.checkUsable();
        if (!jobPeers.isAlone()) {
            return "NCCL's communicators are of one process here, and other processes hold some of the ranks";
        }
        try {
            return CallerContext.keep(
                    ranks.leader(),
                    () -> nccl.open()
                            .refusal(request.collective(), request.type(), request.op())
                            .orElse(null));
        } catch (CudaException e) {
            return e.getMessage();
        }
    }

    @Override
    public Executable prepare(NcclRequest request) {
        String refusal = refusal(request);
        if (refusal != null) {
            throw new UnsupportedOperationException(refusal);
        }
        return queue.add(() -> new NcclExecutable(queue, nccl, ranks.held(), request));
    }

    /** Returns the schedule as a device program, or null if a graph is to run it. */
    private @Nullable ProgramPlan program(Schedule schedule, DataType type, ReduceOp op) {
        if (executor == ExecutorChoice.GRAPH) {
            return null;
        }
        try {
            return programs.plan(schedule, type, op);
        } catch (NoProgramException e) {
            if (!jobPeers.isAlone()) {
                throw new CudaException(
                        schedule.collective().label() + " by " + schedule.algorithm()
                                + " can't run as one kernel on each GPU: " + e.getMessage()
                                + "; hold all ranks in one process",
                        e);
            }
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

    /**
     * {@inheritDoc} Calls that run as kernels, with one type and operation, and that touch no buffer together, are one
     * launch on each device. Where several processes hold the ranks, each call is a launch.
     */
    @Override
    public Group group() {
        return jobPeers.isAlone() ? queue.open(new ProgramGroup(queue, programLauncher)) : Backend.super.group();
    }

    @Override
    public void update(List<ParameterUpdate> all, Completion completion) {
        updates.start(all, completion);
    }

    @Override
    public void start(List<SumPass> passes, @Nullable CallerStreams streams, Completion completion) {
        sums.start(passes, streams, completion);
    }

    /** Returns whether the backend is not known to have nothing to do on its devices. */
    boolean isBusy() {
        return CallerContext.tryKeep(
                ranks.leader(),
                kept -> !kept
                        || queue.isBusy()
                        || trials.isBusy()
                        || stores.isBusy()
                        || lanes.values().stream().anyMatch(CopyLane::isBusy));
    }

    /** Returns whether a device has ranks of both backends. */
    boolean sharesDeviceWith(CudaBackend other) {
        return lanes.keySet().stream()
                .anyMatch(device -> other.lanes.keySet().stream().anyMatch(one -> one.ordinal() == device.ordinal()));
    }

    /**
     * Waits for the runs that were started, each of which ends or times out, and frees all memory of the backend. What
     * is busy, of this backend or of others on its devices, would make the driver wait: where that lasts longer than
     * the timeout, memory is freed later, when the next backend is made or closed. Closing twice is no error.
     */
    @Override
    public void close() {
        if (!queue.close()) {
            return;
        }
        if (!CallerContext.tryKeep(ranks.leader(), _ -> jobPeers.leave(pieces))) {
            LivingBackends.forget(this);
            LOG.warn("memory of a backend is left to the end of the process, since another process has failed or ended"
                    + " and kernels may still write there");
            return;
        }
        LivingBackends.freeInTime(this);
    }

    boolean isClosed() {
        return queue.isClosed();
    }

    /** Waits until something is no longer busy, or the timeout has passed. */
    void waitWhile(BooleanSupplier busy) {
        Waiting.whileBusy(busy, clock, timeoutNanos);
    }

    /** Frees everything; nothing runs. */
    void free() {
        boolean sound = lanes.keySet().stream().allMatch(device -> device.fault() == CUresult.CUDA_SUCCESS);
        ranks.leader().tryEnter();
        nccl.free();
        List<Integer> results = new ArrayList<>(queue.free());
        results.addAll(memory.free());
        results.addAll(plans.free(sound));
        results.addAll(programs.free(sound));
        results.addAll(exchanges.free(sound));
        results.addAll(programMemory.free());
        results.addAll(trials.free());
        results.addAll(stores.free());
        lanes.values().forEach(lane -> results.addAll(lane.free()));
        lanes.keySet().forEach(CudaDevice::close);
        if (sound) {
            results.forEach(result -> Cuda.check(result, "freeing the memory of a CUDA backend"));
        }
    }
}

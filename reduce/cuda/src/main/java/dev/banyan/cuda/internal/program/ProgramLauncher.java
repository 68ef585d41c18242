package dev.banyan.cuda.internal.program;

import dev.banyan.cuda.internal.driver.Cuda;
import dev.banyan.cuda.internal.driver.CudaDevice;
import dev.banyan.cuda.internal.driver.DriverFunction;
import dev.banyan.cuda.internal.driver.DriverObjects;
import dev.banyan.cuda.internal.driver.DriverStream;
import dev.banyan.cuda.internal.driver.HostBlock;
import dev.banyan.cuda.internal.driver.LaunchOrder;
import dev.banyan.cuda.internal.driver.LaunchParameters;
import dev.banyan.cuda.internal.launch.LaunchQueue;
import dev.banyan.cuda.internal.launch.LaunchThreads;
import dev.banyan.cuda.internal.launch.Launcher;
import dev.banyan.cuda.internal.launch.Place;
import dev.banyan.cuda.internal.launch.Pool;
import dev.banyan.cuda.internal.memory.BufferAccess;
import dev.banyan.cuda.internal.ptx.Kernel;
import dev.banyan.cuda.internal.ptx.ProgramCall;
import dev.banyan.cuda.internal.ptx.ProgramStatus;
import dev.banyan.cuda.type.CudaException;
import dev.banyan.schedule.internal.program.DeviceProgram;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.function.LongSupplier;
import jcuda.driver.CUevent;
import jcuda.driver.CUresult;
import jcuda.driver.CUstream;
import jcuda.driver.JCudaDriver;
import org.jspecify.annotations.Nullable;

/**
 * Launches device programs: one kernel on each device, in a stream of the backend there, on several devices at once
 * where there are cores enough. Used by one thread at a time, but for {@link #stop} and what reads the control blocks,
 * which are safe for use from any thread.
 *
 * <p>Kernels of one program wait for each other. So that the kernels of two programs never hold each other up, those of
 * all backends of a process have {@linkplain LaunchOrder one order}.
 */
public final class ProgramLauncher implements Launcher {
    private static final int WORDS = 7 + Kernel.Program.BUFFERS;
    private static final int TABLE = 0;
    private static final int BASE = 1;
    private static final int CONTROL = 2;
    private static final int TIMEOUT = 3;
    private static final int CALLS = 4;
    private static final int COUNT = 5;
    private static final int SETS = 6;
    private static final int FIRST_BUFFER = 7;
    private static final VarHandle WORD = ValueLayout.JAVA_LONG.varHandle();
    /** As many blocks of a device as have room for what stopped them. */
    static final int MOST_BLOCKS = 1023;

    /** The arguments of a launch on one device. */
    private static final class Lane {
        private final CudaDevice device;
        private final DriverObjects objects;
        private final DriverStream stream;
        private final LaunchOrder.Turns turns;
        private final MemorySegment control;
        private final LaunchParameters parameters = new LaunchParameters(WORDS, Arena.ofAuto());
        /** The function of the launch that is being made; null if it has no kernel here. */
        private @Nullable DriverFunction function;

        private int blocks;
        private int threads;
        private String name = "";
        /** To be recorded behind the launch. */
        private @Nullable CUevent ended;

        Lane(CudaDevice device, long timeoutNanos) {
            this.device = device;
            objects = new DriverObjects(device);
            stream = objects.urgentStream();
            turns = new LaunchOrder.Turns(device, stream);
            HostBlock block = objects.pinned(ProgramStatus.controlBytes(MOST_BLOCKS));
            control = block.memory();
            control.fill((byte) 0);
            parameters.set(CONTROL, block.address());
            parameters.set(TIMEOUT, timeoutNanos);
        }
    }

    private final List<Lane> lanes;
    private final List<DriverStream> streams;
    private final LaunchQueue queue;
    private final BufferAccess access;
    private final ProgramMemory memory;
    private final LaunchThreads launching;
    private final Pool<ProgramRun> runs;
    /** Room for the calls of a launch on one device. */
    private final Pool<HostBlock> batches = new Pool<>(this::batchBlock);
    /** The set of slots that the next launch takes, 0 or 1. */
    private int set;
    /** True if what was launched last {@linkplain DeviceProgram#synchronizes synchronizes}, or nothing was. */
    private boolean isSynchronized = true;
    /** Greater than every flag that an earlier launch could have posted. */
    private long base;

    /**
     * @param devices all devices, in the order in which they first appear among the ranks
     * @param access checks and opens buffers
     * @param memory of the programs
     * @param timeoutNanos how long a block may wait
     * @param clock the time, as {@link System#nanoTime()}
     * @param base greater than 0; the first value of flags
     * @param threads how many launch at once, at least 1
     */
    public ProgramLauncher(
            List<CudaDevice> devices,
            LaunchQueue queue,
            BufferAccess access,
            ProgramMemory memory,
            long timeoutNanos,
            LongSupplier clock,
            long base,
            int threads) {
        this.queue = queue;
        this.access = access;
        this.memory = memory;
        runs = new Pool<>(() -> new ProgramRun(this, devices, events(), clock));
        this.base = base;
        lanes = devices.stream().map(device -> new Lane(device, timeoutNanos)).toList();
        streams = lanes.stream().map(lane -> lane.stream).toList();
        launching = new LaunchThreads(threads, lanes.size(), timeoutNanos, this::launch);
    }

    public BufferAccess access() {
        return access;
    }

    /**
     * Launches calls behind the runs before.
     *
     * @throws CudaException if the driver refuses that
     */
    void start(List<ProgramBatch.Member> members, Place place) {
        queue.launch(this, () -> launch(members), place);
    }

    @Override
    public DriverStream stream(CudaDevice device) {
        return lane(device).stream;
    }

    private Lane lane(CudaDevice device) {
        for (Lane lane : lanes) {
            if (lane.device.equals(device)) {
                return lane;
            }
        }
        throw new IllegalArgumentException("no programs on device " + device.ordinal());
    }

    @Override
    public void waitFor(List<CUevent> ended) {
        for (Lane lane : lanes) {
            lane.device.enter();
            for (CUevent event : ended) {
                Cuda.check(
                        JCudaDriver.cuStreamWaitEvent(lane.stream, event, 0),
                        "cuStreamWaitEvent",
                        " in the stream of programs",
                        lane.device);
            }
        }
    }

    /**
     * Launches one kernel on each device that carries out some calls, one after another.
     *
     * @param members calls with one kernel, that touch no buffer together
     * @throws CudaException if the driver refuses that; what was launched on other devices is asked to end
     */
    private ProgramRun launch(List<ProgramBatch.Member> members) {
        long values = 0;
        boolean synchronizes = false;
        for (int m = 0; m < members.size(); m++) {
            values += members.get(m).plan().values();
            synchronizes |= members.get(m).plan().synchronizes();
        }
        clearLinesIfFlagsRepeat(values);
        List<HostBlock> records = members.size() == 1 ? List.of() : records(members);
        ProgramRun run = runs.take();
        boolean areFree = isSynchronized
                && members.size() == 1
                && members.getFirst().plan().takesLinesOnce();
        for (int d = 0; d < lanes.size(); d++) {
            lanes.get(d).parameters.set(SETS, areFree ? set + Kernel.Program.FREE : set);
            prepare(lanes.get(d), members, base, d, records);
            lanes.get(d).ended = run.ended().get(d);
        }
        base += values;
        set = 1 - set;
        isSynchronized = synchronizes;
        try {
            LaunchOrder.inOneOrder(() -> {
                launching.launchAll();
                end();
            });
        } catch (RuntimeException | Error e) {
            stop();
            throw e;
        }
        run.begin(members, base - members.getLast().plan().values(), records);
        return run;
    }

    /**
     * Runs what launches other kernels in these streams that wait for each other, in one order with all programs of
     * this process.
     *
     * @param ended to be recorded behind them on each device
     * @param what for messages
     */
    public void inOneOrder(Runnable launch, List<CUevent> ended, String what) {
        LaunchOrder.inOneOrder(() -> {
            for (Lane lane : lanes) {
                lane.device.enter();
                lane.turns.begin();
            }
            launch.run();
            for (int d = 0; d < lanes.size(); d++) {
                lanes.get(d).device.enter();
                lanes.get(d).turns.end(ended.get(d), what);
            }
        });
    }

    /** Makes an event on each device. */
    public List<CUevent> events() {
        return lanes.stream().map(lane -> lane.objects.event()).toList();
    }

    /** Writes the records of the calls for each device. */
    private List<HostBlock> records(List<ProgramBatch.Member> members) {
        List<HostBlock> written = new ArrayList<>(lanes.size());
        for (int d = 0; d < lanes.size(); d++) {
            HostBlock block = batches.take();
            MemorySegment records = block.memory();
            long first = base;
            for (int m = 0; m < members.size(); m++) {
                ProgramBatch.Member member = members.get(m);
                long table = member.plan().parts().get(d).table().address().value();
                ProgramCall.write(
                        records,
                        m,
                        table,
                        first,
                        member.addresses().inputs(),
                        member.addresses().outputs());
                first += member.plan().values();
            }
            written.add(block);
        }
        return written;
    }

    private HostBlock batchBlock() {
        return lanes.getFirst().objects.pinned((long) ProgramCall.BYTES * ProgramBatch.MOST);
    }

    /** Notes what a launch does on a device. */
    private static void prepare(
            Lane lane, List<ProgramBatch.Member> members, long base, int d, List<HostBlock> records) {
        ProgramBatch.Member first = members.getFirst();
        int blocks = ProgramBatch.blocks(members, d);
        lane.name = first.plan().name();
        lane.blocks = blocks;
        lane.function = blocks == 0 ? null : first.plan().parts().get(d).function();
        if (blocks == 0) {
            return;
        }
        lane.threads = 0;
        for (int m = 0; m < members.size(); m++) {
            lane.threads = Math.max(lane.threads, members.get(m).plan().threads());
        }
        LaunchParameters words = lane.parameters;
        words.set(TABLE, first.plan().parts().get(d).table().address().value());
        words.set(BASE, base);
        words.set(CALLS, records.isEmpty() ? 0 : records.get(d).address());
        words.set(COUNT, members.size());
        LaunchPlan.Addresses addresses = first.addresses();
        for (int rank = 0; rank < addresses.inputs().length; rank++) {
            words.set(FIRST_BUFFER + rank, addresses.inputs()[rank]);
            words.set(FIRST_BUFFER + Kernel.Program.MOST_RANKS + rank, addresses.outputs()[rank]);
        }
    }

    private void launch(int d) {
        Lane lane = lanes.get(d);
        lane.device.enter();
        lane.turns.begin();
        if (lane.function != null) {
            Cuda.check(
                    lane.parameters.launch(lane.function, lane.blocks, lane.threads, lane.stream),
                    "cuLaunchKernel of ",
                    lane.name,
                    lane.device);
            checkReturned(d);
        }
    }

    /**
     * Records the events behind a launch once it has been made on all devices: as long as a kernel waits for one that
     * has not been launched, any call for its device could wait for it, if another thread allocates memory there.
     */
    private void end() {
        for (Lane lane : lanes) {
            lane.device.enter();
            lane.turns.end(Objects.requireNonNull(lane.ended), lane.name);
        }
    }

    /** Names a launch that returned when its kernel had waited in vain for those of later launches. */
    private void checkReturned(int d) {
        Lane lane = lanes.get(d);
        if (lane.control.get(ValueLayout.JAVA_INT, ProgramStatus.ABORT) == 0) {
            return;
        }
        for (int block = 0; block < lane.blocks; block++) {
            if (status(d, block).code() == ProgramStatus.Code.TIMEOUT) {
                stop();
                throw new CudaException("the launch of " + lane.name + " on device " + lane.device.ordinal()
                        + " did not return before its time was over, so that its kernel waited in vain for those of"
                        + " other devices; " + BlockingLaunches.REMEDY);
            }
        }
    }

    /**
     * Records events behind what was put into the streams.
     *
     * @param events one for each device
     * @param what for messages
     */
    public void record(List<CUevent> events, String what) {
        for (int d = 0; d < lanes.size(); d++) {
            Lane lane = lanes.get(d);
            lane.device.enter();
            Cuda.check(
                    JCudaDriver.cuEventRecord(events.get(d), lane.stream), "cuEventRecord behind ", what, lane.device);
        }
    }

    /** Flags in lines are the low half of what other flags are: when these begin anew, no old line may be there. */
    private void clearLinesIfFlagsRepeat(long values) {
        if (base >>> 32 != (base + values + 1) >>> 32) {
            memory.clearLines(this::stream);
            base = (((base >>> 32) + 1) << 32) + 1;
            isSynchronized = false;
        }
    }

    /**
     * Returns whether all blocks of a device have ended well that were launched with a last base. The last one has
     * released all that they did to the whole system before.
     */
    boolean isDone(int d, long lastBase) {
        return (long) WORD.getAcquire(lanes.get(d).control, (long) ProgramStatus.DONE) >= lastBase;
    }

    /** Tells all kernels to end early that wait for something, now or later. */
    void stop() {
        for (Lane lane : lanes) {
            lane.control.set(ValueLayout.JAVA_INT, ProgramStatus.ABORT, 1);
        }
    }

    /** Returns whether a kernel has ended early, or was asked to. */
    boolean isStopping() {
        for (Lane lane : lanes) {
            if (lane.control.get(ValueLayout.JAVA_INT, ProgramStatus.ABORT) != 0) {
                return true;
            }
        }
        return false;
    }

    /** Returns why a block of a device has ended early. */
    ProgramStatus status(int d, int block) {
        return ProgramStatus.of(lanes.get(d).control, block);
    }

    /** Keeps the room for the calls of a run for a later one. */
    void recycle(HostBlock batch) {
        batches.give(batch);
    }

    /** Keeps a run for a later launch. */
    void recycle(ProgramRun run) {
        runs.give(run);
    }

    /** {@inheritDoc} A launch that was given up and has not returned is busy, too. */
    @Override
    public boolean isBusy() {
        if (launching.isWorking()) {
            return true;
        }
        for (CUstream stream : streams) {
            if (JCudaDriver.cuStreamQuery(stream) != CUresult.CUDA_SUCCESS) {
                return true;
            }
        }
        return false;
    }

    @Override
    public List<Integer> free() {
        launching.close();
        lanes.forEach(lane -> lane.turns.close());
        return lanes.stream().flatMap(lane -> lane.objects.free().stream()).toList();
    }
}

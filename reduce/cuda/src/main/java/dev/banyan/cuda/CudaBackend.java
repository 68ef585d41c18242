package dev.banyan.cuda;

import dev.banyan.reduce.backend.Backend;
import dev.banyan.reduce.backend.CallerStreams;
import dev.banyan.reduce.backend.CollectiveTimeoutException;
import dev.banyan.reduce.backend.Executable;
import dev.banyan.schedule.Schedule;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import jcuda.driver.CUevent;
import jcuda.driver.CUevent_flags;
import jcuda.driver.CUgraphExec;
import jcuda.driver.CUresult;
import jcuda.driver.CUstream;
import jcuda.driver.CUstream_flags;
import jcuda.driver.JCudaDriver;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * GPUs, through NVIDIA's driver. Rank r is on the r-th of the given devices; a device may be given several times
 * and then has several ranks.
 *
 * <p><b>Buffers</b> are device memory of any owner, aligned to the element: of {@link #allocate}, or any address
 * by {@link #memory}. Their segments are handles: the host must not read or write them, and segments of this
 * class refuse that. {@link #copyToDevice} and {@link #copyToHost} copy to and from the host.
 *
 * <p>The first run of an executable with given buffers makes a CUDA graph of all its copies and kernels, which
 * is kept; a further run with the same buffers is one launch, and allocates nothing on a device. Runs of one
 * backend follow each other.
 *
 * <p><b>Failures.</b> A CUDA error, a lost device or a timeout ends the run with an exception that names the device,
 * the step and the error; the backend then refuses everything but {@link #close}. Other backends are not
 * touched, unless the driver gives up the device for the whole process. Memory in which copies still run after
 * a timeout is freed once they have ended, when the next backend is made or closed.
 *
 * <p>Safe for use from any thread.
 */
public final class CudaBackend implements Backend {
    private static final Logger LOG = LoggerFactory.getLogger(CudaBackend.class);

    /** Closed while something ran in their memory. */
    private static final ArrayDeque<CudaBackend> ABANDONED = new ArrayDeque<>();

    private final ReentrantLock lock = new ReentrantLock();
    private final List<CudaDevice> ranks;
    private final Set<CudaDevice> devices = new LinkedHashSet<>();
    private final DeviceBuffers buffers;
    private final PlanMaker plans;
    private final long timeoutNanos;
    private final List<CudaExecutable> executables = new ArrayList<>();
    private final List<CudaExecutable> released = new ArrayList<>();
    private final CUstream stream = new CUstream();
    private final CUevent done = new CUevent();
    private final StreamJoin join;
    private @Nullable String broken;
    private boolean stuck;
    private boolean closed;

    /**
     * @param devices the device of each rank, as the driver counts them; at least one
     * @param timeout how long a run may take
     * @param peerAccess which devices may touch each other's memory; the others' data goes through the host
     * @param bufferLimit greatest number of bytes of receive buffers on each device
     * @throws CudaException if there is no driver or a device can't be used
     * @throws IllegalArgumentException if an argument is out of its range
     */
    public CudaBackend(int[] devices, Duration timeout, PeerRule peerAccess, long bufferLimit) {
        this(devices, timeout, peerAccess, bufferLimit, Moves.DEFAULT);
    }

    CudaBackend(int[] ordinals, Duration timeout, PeerRule peerAccess, long bufferLimit, Moves moves) {
        if (ordinals.length == 0 || !timeout.isPositive() || bufferLimit < 1) {
            throw new IllegalArgumentException("a CUDA backend of " + ordinals.length + " ranks, timeout " + timeout
                    + " and " + bufferLimit + " bytes of receive buffers; all must be positive");
        }
        CudaLibrary.load();
        freeAbandoned();
        int count = CudaDevices.count();
        Map<Integer, CudaDevice> byOrdinal = new LinkedHashMap<>();
        try {
            for (int ordinal : ordinals) {
                if (ordinal < 0 || ordinal >= count) {
                    throw new IllegalArgumentException(
                            "device " + ordinal + "; this machine has " + count + ", 0.." + (count - 1));
                }
                if (!byOrdinal.containsKey(ordinal)) {
                    byOrdinal.put(ordinal, new CudaDevice(ordinal));
                }
            }
            ranks = Arrays.stream(ordinals)
                    .mapToObj(ordinal -> device(byOrdinal, ordinal))
                    .toList();
            ranks.getFirst().enter();
            Cuda.check(
                    JCudaDriver.cuStreamCreate(stream, CUstream_flags.CU_STREAM_NON_BLOCKING),
                    "cuStreamCreate on device " + ordinals[0]);
            int result = JCudaDriver.cuEventCreate(done, CUevent_flags.CU_EVENT_DISABLE_TIMING);
            if (result != CUresult.CUDA_SUCCESS) {
                JCudaDriver.cuStreamDestroy(stream);
            }
            Cuda.check(result, "cuEventCreate on device " + ordinals[0]);
        } catch (Throwable e) {
            byOrdinal.values().forEach(CudaDevice::close);
            throw e;
        }
        this.devices.addAll(byOrdinal.values());
        buffers = new DeviceBuffers(ranks);
        plans = new PlanMaker(ranks, new PeerAccess(ranks, peerAccess), moves, bufferLimit);
        join = new StreamJoin(ranks, stream);
        timeoutNanos = TimeUnit.NANOSECONDS.convert(timeout);
    }

    private static CudaDevice device(Map<Integer, CudaDevice> byOrdinal, int ordinal) {
        CudaDevice device = byOrdinal.get(ordinal);
        if (device == null) {
            throw new IllegalStateException("device " + ordinal + " was not opened");
        }
        return device;
    }

    /**
     * Device memory of any owner, as a buffer. The owner must keep it until the collective has ended.
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
    public String name() {
        return "cuda";
    }

    @Override
    public MemorySegment allocate(int rank, long bytes) {
        lock.lock();
        try {
            checkUsable();
            return buffers.allocate(rank, bytes);
        } finally {
            lock.unlock();
        }
    }

    @Override
    public MemorySegment allocate(int rank, long bytes, Arena arena) {
        throw new UnsupportedOperationException("not yet");
    }

    @Override
    public MemorySegment allocateHost(long bytes, Arena arena) {
        if (bytes <= 0) {
            return arena.allocate(bytes, 64);
        }
        lock.lock();
        try {
            checkUsable();
            ranks.getFirst().enter();
            HostBlock block = new HostBlock(bytes);
            return block.segment(arena, () -> free(block));
        } finally {
            lock.unlock();
        }
    }

    private void free(HostBlock block) {
        lock.lock();
        try {
            if (closed) {
                throw new IllegalStateException(
                        "memory of the host is freed after its backend, and went with it; close its" + " arena first");
            }
            if (isRunning()) {
                // Freeing would wait for what does not end; the driver frees it with the process.
                return;
            }
            boolean sound = ranks.getFirst().fault() == CUresult.CUDA_SUCCESS;
            int result = block.free();
            if (sound) {
                Cuda.check(result, "cuMemFreeHost of " + block.bytes() + " bytes");
            }
        } finally {
            lock.unlock();
        }
    }

    @Override
    public void copyToDevice(MemorySegment target, MemorySegment source) {
        lock.lock();
        try {
            checkUsable();
            buffers.write(target, source);
        } finally {
            lock.unlock();
        }
    }

    @Override
    public void copyToHost(MemorySegment source, MemorySegment target) {
        lock.lock();
        try {
            checkUsable();
            buffers.read(source, target);
        } finally {
            lock.unlock();
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
        if (schedule.elementBytes() != type.bytes()) {
            throw new IllegalArgumentException("a schedule of elements of " + schedule.elementBytes() + " bytes for "
                    + type + ", which has " + type.bytes());
        }
        if (schedule.ranks() != ranks.size()) {
            throw new IllegalArgumentException(
                    "a schedule of " + schedule.ranks() + " ranks on a backend of " + ranks.size());
        }
        lock.lock();
        try {
            checkUsable();
            CudaExecutable executable = new CudaExecutable(this, plans.plan(schedule, type, op));
            executables.add(executable);
            return executable;
        } finally {
            lock.unlock();
        }
    }

    /** @throws IllegalArgumentException if an address is no memory of the rank's device */
    void checkOwner(int rank, long address) {
        buffers.checkOwner(rank, address);
    }

    void run(CudaExecutable executable, MemorySegment[] inputs, MemorySegment[] outputs) {
        lock.lock();
        try {
            checkUsable();
            finish(executable, launch(executable, inputs, outputs));
        } catch (CudaException e) {
            throw breaking(e);
        } finally {
            lock.unlock();
        }
    }

    /** The same in the caller's streams. */
    void run(
            CudaExecutable executable,
            MemorySegment[] inputs,
            MemorySegment[] outputs,
            CallerStreams streams,
            Runnable begun) {
        lock.lock();
        try {
            checkUsable();
            CudaStreams callers = join.check(streams);
            join.after(callers);
            int result = launch(executable, inputs, outputs);
            if (result == CUresult.CUDA_SUCCESS) {
                join.before(callers, done);
                begun.run();
            }
            finish(executable, result);
        } catch (CudaException e) {
            throw breaking(e);
        } finally {
            lock.unlock();
        }
    }

    private CudaException breaking(CudaException e) {
        if (broken == null) {
            broken = String.valueOf(e.getMessage());
        }
        return e;
    }

    private int launch(CudaExecutable executable, MemorySegment[] inputs, MemorySegment[] outputs) {
        CUgraphExec graph = executable.graph(inputs, outputs);
        executable.clearMarks();
        ranks.getFirst().enter();
        int result = JCudaDriver.cuGraphLaunch(graph, stream);
        return result == CUresult.CUDA_SUCCESS ? JCudaDriver.cuEventRecord(done, stream) : result;
    }

    /** Waits for a launch that gave a result. */
    private void finish(CudaExecutable executable, int launched) {
        int result = launched;
        if (result == CUresult.CUDA_SUCCESS) {
            result = Waiting.until(() -> JCudaDriver.cuEventQuery(done), System.nanoTime() + timeoutNanos);
        }
        if (result == CUresult.CUDA_ERROR_NOT_READY) {
            throw late(executable);
        }
        if (result != CUresult.CUDA_SUCCESS) {
            throw failed(executable, result);
        }
    }

    private CollectiveTimeoutException late(CudaExecutable executable) {
        stuck = true;
        CudaExecutable.Unfinished step = executable.firstUnfinished(null);
        String message = executable.name() + " did not end within " + Math.ceilDiv(timeoutNanos, 1_000_000)
                + " ms: device " + step.device().ordinal() + " has not done " + step.step()
                + "; create a new communicator, or allow more time by BANYAN_TIMEOUT_MS";
        broken = message;
        return new CollectiveTimeoutException(message);
    }

    private CudaException failed(CudaExecutable executable, int result) {
        CudaDevice faulty = null;
        int error = result;
        for (CudaDevice device : devices) {
            int fault = device.fault();
            if (fault != CUresult.CUDA_SUCCESS) {
                faulty = device;
                error = fault;
                break;
            }
        }
        CudaExecutable.Unfinished step = executable.firstUnfinished(faulty);
        CudaDevice named = faulty == null ? step.device() : faulty;
        return new CudaException(executable.name() + " failed on device " + named.ordinal() + " in " + step.step()
                + ": " + Cuda.name(error) + "; create a new communicator, without that device if it is lost");
    }

    private void checkUsable() {
        if (broken != null) {
            throw new CudaException("the communicator is broken since an earlier failure: " + broken);
        }
        if (closed) {
            throw new IllegalStateException("the backend is closed; make a new one");
        }
    }

    void release(CudaExecutable executable) {
        lock.lock();
        try {
            executables.remove(executable);
            if (isRunning()) {
                released.add(executable);
            } else {
                executable.free(broken == null);
            }
        } finally {
            lock.unlock();
        }
    }

    /** Whether something of a run that timed out may still touch memory. */
    private boolean isRunning() {
        if (stuck) {
            ranks.getFirst().enter();
            stuck = JCudaDriver.cuEventQuery(done) == CUresult.CUDA_ERROR_NOT_READY;
        }
        return stuck;
    }

    /** Frees all memory of the backend, once nothing runs in it any more. Closing twice is no error. */
    @Override
    public void close() {
        lock.lock();
        try {
            if (closed) {
                return;
            }
            closed = true;
            if (isRunning()) {
                LOG.warn("memory of a collective that timed out is kept until its copies have ended");
                synchronized (ABANDONED) {
                    ABANDONED.add(this);
                }
            } else {
                free();
            }
        } finally {
            lock.unlock();
        }
        freeAbandoned();
    }

    private static void freeAbandoned() {
        synchronized (ABANDONED) {
            ABANDONED.removeIf(backend -> {
                backend.lock.lock();
                try {
                    if (backend.isRunning()) {
                        return false;
                    }
                    backend.free();
                    return true;
                } finally {
                    backend.lock.unlock();
                }
            });
        }
    }

    private void free() {
        boolean sound = devices.stream().allMatch(device -> device.fault() == CUresult.CUDA_SUCCESS);
        ranks.getFirst().fault();
        executables.forEach(executable -> executable.free(sound));
        executables.clear();
        released.forEach(executable -> executable.free(sound));
        released.clear();
        List<Integer> results = new ArrayList<>();
        results.addAll(buffers.free());
        results.addAll(plans.free(sound));
        results.addAll(join.free());
        results.add(JCudaDriver.cuEventDestroy(done));
        results.add(JCudaDriver.cuStreamDestroy(stream));
        devices.forEach(CudaDevice::close);
        if (sound) {
            results.forEach(result -> Cuda.check(result, "freeing the memory of a CUDA backend"));
        }
    }
}

package dev.banyan.cuda.internal.nccl;

import dev.banyan.cuda.internal.driver.CudaDevice;
import dev.banyan.cuda.internal.driver.DriverThreads;
import dev.banyan.cuda.internal.launch.LaunchQueue;
import dev.banyan.cuda.internal.launch.Place;
import dev.banyan.cuda.internal.launch.Pool;
import dev.banyan.cuda.internal.program.ProgramLauncher;
import dev.banyan.cuda.type.CudaException;
import dev.banyan.nccl.internal.NcclCommunicators;
import dev.banyan.nccl.internal.NcclException;
import dev.banyan.nccl.internal.NcclLibrary;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Launches collectives of NCCL in the streams of device programs. The library is loaded and its communicators are made
 * when NCCL is first asked for. Launches are made by one thread at a time; the rest is safe for use from any thread.
 *
 * <p>A collective needs no order between devices: its kernels wait for each other before they touch a peer's memory.
 */
public final class NcclLauncher {
    /** NCCL has no limit for making communicators, which takes some seconds on eight devices. */
    private static final long LEAST_TIME_TO_OPEN_NANOS = TimeUnit.MINUTES.toNanos(2);

    private final List<CudaDevice> ranks;
    private final List<CudaDevice> devices;
    private final LaunchQueue queue;
    private final ProgramLauncher programs;
    private final @Nullable String file;
    private final long timeToOpenNanos;
    private final Pool<NcclRun> runs;
    /** The stream of each rank. */
    private final long[] streams;

    private @Nullable NcclLibrary library;
    private @Nullable NcclCommunicators communicators;
    private @Nullable CudaException refusal;
    private volatile boolean isAborting;

    /**
     * @param ranks the device of each rank
     * @param devices all devices, as the programs have them
     * @param programs owns the streams
     * @param file of NCCL's library; null for the one that the loader finds
     * @param timeoutNanos how long a run may take
     */
    public NcclLauncher(
            List<CudaDevice> ranks,
            List<CudaDevice> devices,
            LaunchQueue queue,
            ProgramLauncher programs,
            @Nullable String file,
            long timeoutNanos) {
        this.ranks = ranks;
        this.devices = devices;
        this.queue = queue;
        this.programs = programs;
        this.file = file;
        timeToOpenNanos = Math.max(timeoutNanos, LEAST_TIME_TO_OPEN_NANOS);
        runs = new Pool<>(() -> new NcclRun(this, devices, programs.events(), timeoutNanos));
        streams = ranks.stream()
                .mapToLong(device -> programs.stream(device).handle())
                .toArray();
    }

    /**
     * Returns the library, whose communicators are made.
     *
     * @throws CudaException if NCCL cannot be used; the same each time
     */
    public synchronized NcclLibrary open() {
        if (refusal != null) {
            throw refusal;
        }
        NcclLibrary loaded = library;
        if (loaded == null) {
            try {
                loaded = load();
            } catch (NcclException e) {
                refusal = new CudaException(String.valueOf(e.getMessage()), e);
                throw refusal;
            } catch (CudaException e) {
                refusal = e;
                throw e;
            }
            library = loaded;
        }
        return loaded;
    }

    private NcclLibrary load() {
        if (devices.size() < ranks.size()) {
            throw new CudaException(
                    "several ranks share a device, and NCCL takes each device once; give each rank a device of"
                            + " its own, or name another algorithm than nccl");
        }
        NcclLibrary loaded = NcclLibrary.load(file);
        int[] ordinals = ranks.stream().mapToInt(CudaDevice::ordinal).toArray();
        CompletableFuture<NcclCommunicators> made =
                CompletableFuture.supplyAsync(() -> NcclCommunicators.of(loaded, ordinals), DriverThreads.NEW);
        try {
            communicators =
                    made.copy().orTimeout(timeToOpenNanos, TimeUnit.NANOSECONDS).join();
        } catch (CompletionException e) {
            if (e.getCause() instanceof NcclException refused) {
                throw refused;
            }
            throw new CudaException(
                    "NCCL has made no communicators within " + TimeUnit.NANOSECONDS.toSeconds(timeToOpenNanos)
                            + " s; see what it waits for by NCCL_DEBUG=INFO, or name another algorithm than nccl",
                    e);
        }
        return loaded;
    }

    /**
     * Launches a collective behind the runs before.
     *
     * @param inputs address of each rank's input
     * @param outputs address of each rank's output; in place, of its only buffer
     * @throws CudaException if NCCL refuses that; what it has launched is asked to end
     */
    void start(NcclExecutable executable, long[] inputs, long[] outputs, Place place) {
        executable.check(programs.access(), inputs, outputs);
        queue.launch(programs, () -> launch(executable, inputs, outputs), place);
    }

    private NcclRun launch(NcclExecutable executable, long[] inputs, long[] outputs) {
        NcclCommunicators opened = opened();
        NcclRun run = runs.take();
        try {
            programs.inOneOrder(
                    () -> opened.start(executable.operation(), inputs, outputs, streams),
                    run.ended(),
                    executable.name());
        } catch (NcclException e) {
            abort();
            throw new CudaException(executable.name() + " cannot be launched: " + e.getMessage(), e);
        }
        run.begin(executable);
        return run;
    }

    private synchronized NcclCommunicators opened() {
        return Objects.requireNonNull(communicators, "communicators are made before calls are prepared");
    }

    /** Returns what NCCL reports of the collectives that were launched, or null if it reports no error. */
    @Nullable
    String asyncError() {
        return opened().asyncError();
    }

    /** Tells the kernels of all collectives to end. NCCL may wait for them, so that a thread of its own does it. */
    void abort() {
        if (!isAborting) {
            isAborting = true;
            NcclCommunicators ending = opened();
            DriverThreads.NEW.execute(ending::abort);
        }
    }

    /** Keeps a run for a later launch. */
    void recycle(NcclRun run) {
        runs.give(run);
    }

    /** Frees the communicators; nothing runs. */
    public synchronized void free() {
        if (communicators != null && !isAborting) {
            communicators.close();
        }
    }
}

package dev.banyan.cuda.internal.peer;

import dev.banyan.cuda.internal.driver.CallerContext;
import dev.banyan.cuda.internal.driver.Cuda;
import dev.banyan.cuda.internal.driver.CudaDevice;
import dev.banyan.cuda.internal.driver.CudaDevices;
import dev.banyan.cuda.internal.driver.CudaLibrary;
import dev.banyan.cuda.internal.driver.DeviceAddress;
import dev.banyan.cuda.internal.driver.DriverObjects;
import dev.banyan.cuda.internal.driver.HostBlock;
import dev.banyan.cuda.internal.driver.Waiting;
import dev.banyan.cuda.internal.memory.Ranks;
import dev.banyan.cuda.type.CudaException;
import dev.banyan.cuda.type.PeerRule;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.function.LongSupplier;
import jcuda.driver.CUevent;
import jcuda.driver.CUresult;
import jcuda.driver.CUstream;
import jcuda.driver.JCudaDriver;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Times copies between GPUs: with peer access and through the host, one way, both ways at once, and small ones. Every
 * pair's bytes are checked once on each way, and no wait is longer than the deadline: peer-to-peer copies corrupt data
 * or hang where the IOMMU or PCIe access control redirects them.
 *
 * <p>After a stuck copy, figures that can't be had any more are 0, peer copies of its two GPUs are tried no more, and
 * their memory is left to the end of the process.
 *
 * <p>Cost: O(n^2) copies for n GPUs. Used by one thread.
 */
public final class PeerMeter implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(PeerMeter.class);
    /** Data goes through the host in pieces, so that its two copies overlap. */
    private static final long PIECE = 1 << 20;

    private static final int SMALL_BYTES = 16;
    private static final int SMALL_COPIES = 50;
    /** Time for which copies of one kind are repeated, and how often at most. */
    private static final long TIMED_NANOS = 5_000_000;

    private static final int MOST_COPIES = 20;

    private final List<Gpu> gpus = new ArrayList<>();
    private final PeerAccess peers;
    private final long bytes;
    private final long deadlineNanos;
    private final LongSupplier clock;
    private final Set<Gpu> stuck = new HashSet<>();

    /**
     * @param ordinals the GPUs, as the driver counts them, each once
     * @param bytes length of the copies whose bandwidth is measured, at least 16
     * @param deadline how long some copies may take
     * @throws CudaException if there is no driver or a GPU can't be used
     */
    public PeerMeter(List<Integer> ordinals, long bytes, Duration deadline) {
        this(ordinals, bytes, deadline, System::nanoTime);
    }

    /** @param clock the time by which copies are late, as {@link System#nanoTime()} */
    PeerMeter(List<Integer> ordinals, long bytes, Duration deadline, LongSupplier clock) {
        if (bytes < SMALL_BYTES || !deadline.isPositive()) {
            throw new IllegalArgumentException("copies of " + bytes + " bytes with a deadline of " + deadline
                    + "; give at least " + SMALL_BYTES + " bytes and a positive time");
        }
        CudaLibrary.load();
        this.bytes = bytes;
        deadlineNanos = deadline.toNanos();
        this.clock = clock;
        try {
            for (int ordinal : ordinals) {
                gpus.add(Gpu.open(ordinal, bytes));
            }
        } catch (Throwable e) {
            gpus.forEach(Gpu::close);
            throw e;
        }
        peers = new PeerAccess(
                Ranks.of(gpus.stream().map(gpu -> gpu.device).toList()),
                PeerRule.ALL,
                new PeerTrials(deadlineNanos, false, clock));
    }

    /** One GPU with what is sent, what arrives, and what is staged. */
    private static final class Gpu implements AutoCloseable {
        final CudaDevice device;
        final CUstream sender;
        /** Apart, so that a stuck peer copy holds back no other copy. */
        final CUstream peerSender;

        final CUstream receiver;
        final CUevent piece;
        final DeviceAddress source;
        final DeviceAddress target;
        /** The data that is sent; no two GPUs send the same. */
        final HostBlock pattern;

        final HostBlock staging;
        private final DriverObjects objects;

        private Gpu(CudaDevice device, DriverObjects objects, long bytes) {
            this.device = device;
            this.objects = objects;
            sender = objects.stream();
            peerSender = objects.stream();
            receiver = objects.stream();
            piece = objects.event();
            source = objects.memory(bytes);
            target = objects.memory(bytes);
            pattern = objects.pinned(bytes);
            staging = objects.pinned(bytes);
            SplittableRandom random = new SplittableRandom(device.ordinal());
            for (long at = 0; at + Long.BYTES <= bytes; at += Long.BYTES) {
                pattern.memory().set(ValueLayout.JAVA_LONG_UNALIGNED, at, random.nextLong());
            }
            check(JCudaDriver.cuMemcpyHtoD(source, pattern.pointer(), bytes), "cuMemcpyHtoD");
        }

        static Gpu open(int ordinal, long bytes) {
            CudaDevice device = new CudaDevice(ordinal);
            DriverObjects objects = new DriverObjects(device);
            try {
                return CallerContext.keep(device, () -> new Gpu(device, objects, bytes));
            } catch (Throwable e) {
                CallerContext.tryKeep(device, () -> {
                    objects.free();
                    device.close();
                });
                throw e;
            }
        }

        void check(int result, String what) {
            Cuda.check(result, what + " on device " + device.ordinal());
        }

        @Override
        public void close() {
            CallerContext.tryKeep(device, () -> {
                List<Integer> results = objects.free();
                device.close();
                results.forEach(result -> check(result, "freeing what copies were timed with"));
            });
        }
    }

    /** Queues a copy; it has ended when the given stream's work has. */
    private interface Way {
        CUstream copy(Gpu from, Gpu to, long length);
    }

    /** A copy did not end in time. */
    private static final class LateException extends RuntimeException {
        private static final long serialVersionUID = 1;
    }

    /**
     * Measures the way from one GPU to another; for one GPU, copies within its memory.
     *
     * @param from index in the list of GPUs
     * @param to index in the list of GPUs
     * @throws CudaException if the driver fails
     */
    public PairFigures measure(int from, int to) {
        return CallerContext.keep(gpus.get(from).device, () -> figures(from, to));
    }

    private PairFigures figures(int from, int to) {
        Gpu one = gpus.get(from);
        Gpu other = gpus.get(to);
        double[] host = hostFigures(one, other);
        PairFigures.Outcome outcome = outcome(from, to);
        double[] peer = host;
        if (outcome == PairFigures.Outcome.RIGHT || outcome == PairFigures.Outcome.WRONG_BYTES) {
            try {
                peer = time(this::directly, one, other);
            } catch (LateException e) {
                outcome = stuck(one, other);
            }
        }
        return new PairFigures(outcome, peer[0], peer[1], peer[2], host[0], host[1], host[2]);
    }

    private double[] hostFigures(Gpu one, Gpu other) {
        String pair = "copies from device " + one.device.ordinal() + " to " + other.device.ordinal()
                + " through pinned memory of the host ";
        try {
            if (!arrives(this::throughHost, one, other)) {
                throw new CudaException(pair + "arrive with wrong bytes; see dmesg, and test the machine's memory");
            }
            return time(this::throughHost, one, other);
        } catch (LateException e) {
            if (stuck.contains(one) || stuck.contains(other)) {
                // A stuck peer copy may hold back everything else.
                return new double[] {0, 0, 0};
            }
            throw new CudaException(pair + "do not end; see dmesg, and reset the GPUs by nvidia-smi --gpu-reset", e);
        }
    }

    private PairFigures.Outcome stuck(Gpu one, Gpu other) {
        stuck.add(one);
        stuck.add(other);
        return PairFigures.Outcome.STUCK;
    }

    private PairFigures.Outcome outcome(int from, int to) {
        Gpu one = gpus.get(from);
        Gpu other = gpus.get(to);
        if (from != to && !(isGranted(one, other) && isGranted(other, one))) {
            return PairFigures.Outcome.NOT_GRANTED;
        }
        if (!peers.reaches(from, to) || !peers.reaches(to, from)) {
            return PairFigures.Outcome.NOT_GRANTED;
        }
        if (stuck.contains(one) || stuck.contains(other)) {
            return PairFigures.Outcome.NOT_TRIED;
        }
        try {
            return arrives(this::directly, one, other) ? PairFigures.Outcome.RIGHT : PairFigures.Outcome.WRONG_BYTES;
        } catch (LateException e) {
            return stuck(one, other);
        }
    }

    /** Asked first, as a refusal is no news here. */
    private static boolean isGranted(Gpu from, Gpu to) {
        return CudaDevices.peer(from.device.ordinal(), to.device.ordinal()).access();
    }

    private boolean arrives(Way way, Gpu from, Gpu to) {
        to.device.enter();
        to.check(JCudaDriver.cuMemsetD8Async(to.target, (byte) 0, bytes, to.receiver), "cuMemsetD8Async");
        await(to.receiver, to);
        await(way.copy(from, to, bytes), from);
        to.device.enter();
        to.check(
                JCudaDriver.cuMemcpyDtoHAsync(to.staging.pointer(), to.target, bytes, to.receiver),
                "cuMemcpyDtoHAsync");
        await(to.receiver, to);
        return to.staging.memory().mismatch(from.pattern.memory()) < 0;
    }

    /** GB/s one way and both ways, and us of a small copy. */
    private double[] time(Way way, Gpu from, Gpu to) {
        double oneWay = nanosPerCopy(way, from, to, false);
        double bothWays = from.equals(to) ? oneWay : nanosPerCopy(way, from, to, true);
        long start = System.nanoTime();
        CUstream last = from.sender;
        for (int i = 0; i < SMALL_COPIES; i++) {
            last = way.copy(from, to, SMALL_BYTES);
        }
        await(last, from);
        double latencyUs = (System.nanoTime() - start) / 1e3 / SMALL_COPIES;
        return new double[] {bytes / oneWay, 2 * bytes / bothWays, latencyUs};
    }

    private double nanosPerCopy(Way way, Gpu from, Gpu to, boolean back) {
        long first = nanos(way, from, to, back, 1);
        int copies = Math.clamp(TIMED_NANOS / Math.max(1, first), 1, MOST_COPIES);
        return (double) nanos(way, from, to, back, copies) / copies;
    }

    private long nanos(Way way, Gpu from, Gpu to, boolean back, int copies) {
        CUstream there = from.sender;
        CUstream andBack = to.sender;
        long start = System.nanoTime();
        for (int i = 0; i < copies; i++) {
            there = way.copy(from, to, bytes);
            if (back) {
                andBack = way.copy(to, from, bytes);
            }
        }
        await(there, from);
        if (back) {
            await(andBack, to);
        }
        return Math.max(1, System.nanoTime() - start);
    }

    private CUstream directly(Gpu from, Gpu to, long length) {
        from.device.enter();
        from.check(
                JCudaDriver.cuMemcpyDtoDAsync(to.target, from.source, length, from.peerSender),
                "cuMemcpyDtoDAsync to device " + to.device.ordinal());
        return from.peerSender;
    }

    private CUstream throughHost(Gpu from, Gpu to, long length) {
        for (long at = 0; at < length; at += PIECE) {
            long part = Math.min(PIECE, length - at);
            from.device.enter();
            from.check(
                    JCudaDriver.cuMemcpyDtoHAsync(
                            from.staging.pointer().withByteOffset(at),
                            from.source.withByteOffset(at),
                            part,
                            from.sender),
                    "cuMemcpyDtoHAsync");
            from.check(JCudaDriver.cuEventRecord(from.piece, from.sender), "cuEventRecord");
            to.device.enter();
            to.check(JCudaDriver.cuStreamWaitEvent(to.receiver, from.piece, 0), "cuStreamWaitEvent");
            to.check(
                    JCudaDriver.cuMemcpyHtoDAsync(
                            to.target.withByteOffset(at), from.staging.pointer().withByteOffset(at), part, to.receiver),
                    "cuMemcpyHtoDAsync");
        }
        return to.receiver;
    }

    /** @throws LateException if the stream's work does not end before the deadline */
    private void await(CUstream stream, Gpu gpu) {
        int result = Waiting.until(() -> JCudaDriver.cuStreamQuery(stream), clock, deadlineNanos);
        if (result == CUresult.CUDA_ERROR_NOT_READY) {
            throw new LateException();
        }
        gpu.check(result, "a copy");
    }

    /** Frees all memory but that of GPUs whose copies are stuck. */
    @Override
    public void close() {
        for (Gpu gpu : gpus) {
            if (!stuck.contains(gpu)) {
                gpu.close();
            }
        }
        if (!stuck.isEmpty()) {
            LOG.warn(
                    "memory of {} GPUs is left to the end of the process, as copies between them are stuck",
                    stuck.size());
        }
        gpus.clear();
    }
}

package dev.banyan.cuda;

import dev.banyan.reduce.internal.processes.Exchange;
import dev.banyan.schedule.type.ReduceOp;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import jcuda.NativePointerObject;
import jcuda.Pointer;
import jcuda.driver.CUresult;
import jcuda.driver.CUstream;
import jcuda.driver.JCudaDriver;

/**
 * Tries once whether what kernels store to memory of other processes' devices arrives there, as device programs need
 * it: where the IOMMU or PCIe access control redirects peer-to-peer traffic, other bytes arrive, or none. Each device
 * stores 64 KiB to each device of other processes.
 */
final class IpcTrial {
    private static final int BYTES = 64 << 10;
    /** A trial that is late ends in an exception, so that a busy machine must not make it so. */
    private static final long MOST_NANOS = 30_000_000_000L;
    /** The greater one of two words, which are the same. */
    private static final Kernel.Reduce STORE = new Kernel.Reduce(ReduceOp.MAX, Element.I32, 2);

    private static final String REMEDY =
            "turn off PCIe access control (ACS) and the IOMMU, or hold their ranks in one process";

    private final Ranks ranks;
    private final IpcPieces pieces;
    private final Exchange exchange;
    private final long deadlineNanos;

    IpcTrial(Ranks ranks, IpcPieces pieces, Exchange exchange, long timeoutNanos) {
        this.ranks = ranks;
        this.pieces = pieces;
        this.exchange = exchange;
        deadlineNanos = Math.min(timeoutNanos, MOST_NANOS);
    }

    /** @throws CudaException if something else arrives, or nothing in time */
    void run() {
        List<Integer> received = new ArrayList<>();
        for (int place = 0; place < ranks.places(); place++) {
            received.add(pieces.add(place, (long) BYTES * ranks.places(), false));
        }
        pieces.share("joining");
        for (int place = 0; place < ranks.places(); place++) {
            if (ranks.holdsPlace(place)) {
                store(place, received);
            }
        }
        exchange.swap("a trial of peer access", new byte[0]);
        for (int place = 0; place < ranks.places(); place++) {
            if (ranks.holdsPlace(place)) {
                check(place, received.get(place));
            }
        }
    }

    private void store(int from, List<Integer> received) {
        CudaDevice device = ranks.at(from);
        DriverObjects objects = new DriverObjects(device);
        try {
            CUstream stream = objects.stream();
            DeviceAddress sent = objects.memory(BYTES);
            HostBlock host = objects.pinned(BYTES);
            fill(host.memory(), from);
            check(device, JCudaDriver.cuMemcpyHtoDAsync(sent, host.pointer(), BYTES, stream), "cuMemcpyHtoDAsync");
            for (int to = 0; to < ranks.places(); to++) {
                if (!ranks.holdsPlace(to)) {
                    DeviceAddress target =
                            new DeviceAddress(pieces.address(received.get(to), device) + (long) from * BYTES);
                    Pointer parameters = Pointer.to(
                            (NativePointerObject) Pointer.to(target),
                            Pointer.to(sent),
                            Pointer.to(sent),
                            Pointer.to(new long[] {BYTES / STORE.element().bytes()}),
                            Pointer.to(new int[] {1}));
                    int blocks = BYTES / (STORE.bytesPerThread() * Kernel.BLOCK);
                    check(
                            device,
                            JCudaDriver.cuLaunchKernel(
                                    device.function(STORE),
                                    blocks,
                                    1,
                                    1,
                                    Kernel.BLOCK,
                                    1,
                                    1,
                                    0,
                                    stream,
                                    parameters,
                                    null),
                            "cuLaunchKernel of " + STORE.name());
                    await(device, stream, "stores to the device of " + ranks.ranksOf(to));
                }
            }
        } finally {
            objects.free();
        }
    }

    private void check(int to, int piece) {
        CudaDevice device = ranks.at(to);
        DriverObjects objects = new DriverObjects(device);
        try {
            CUstream stream = objects.stream();
            HostBlock host = objects.pinned((long) BYTES * ranks.places());
            device.enter();
            check(
                    device,
                    JCudaDriver.cuMemcpyDtoHAsync(
                            host.pointer(),
                            new DeviceAddress(pieces.address(piece, device)),
                            (long) BYTES * ranks.places(),
                            stream),
                    "cuMemcpyDtoHAsync");
            await(device, stream, "a copy to the host");
            for (int from = 0; from < ranks.places(); from++) {
                MemorySegment expected = MemorySegment.ofArray(new byte[BYTES]);
                fill(expected, from);
                if (!ranks.holdsPlace(from)
                        && host.memory().asSlice((long) from * BYTES, BYTES).mismatch(expected) >= 0) {
                    throw new CudaException("peer access from " + ranks.ranksOf(from) + " to " + ranks.ranksOf(to)
                            + " does not work: other bytes arrive than were sent; " + REMEDY);
                }
            }
        } finally {
            objects.free();
        }
    }

    /** Writes bytes that no other place sends. */
    private static void fill(MemorySegment bytes, int place) {
        SplittableRandom random = new SplittableRandom(place);
        for (long at = 0; at < BYTES; at += Long.BYTES) {
            bytes.set(ValueLayout.JAVA_LONG_UNALIGNED, at, random.nextLong());
        }
    }

    private void await(CudaDevice device, CUstream stream, String what) {
        int result = Waiting.until(() -> JCudaDriver.cuStreamQuery(stream), System::nanoTime, deadlineNanos);
        if (result == CUresult.CUDA_ERROR_NOT_READY) {
            throw new CudaException(what + " did not end within " + deadlineNanos / 1_000_000 + " ms; " + REMEDY);
        }
        check(device, result, what);
    }

    private static void check(CudaDevice device, int result, String what) {
        Cuda.check(result, what + " on device " + device.ordinal());
    }
}

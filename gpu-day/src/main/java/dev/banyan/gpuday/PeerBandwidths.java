package dev.banyan.gpuday;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BiConsumer;
import jcuda.Pointer;
import jcuda.driver.CUstream;
import jcuda.driver.JCudaDriver;

/**
 * Moves bytes from each GPU to each other one: by the copy engines, by a kernel of the target that loads them, and by a
 * kernel of the source that stores them. Where there is no peer access the driver takes copies through the host.
 */
final class PeerBandwidths {
    private static final long MOST_BYTES = 2L << 26;
    private static final long MOST_BYTES_QUICK = 2 << 12;
    private static final int CALLS = 3;
    private static final int VECTOR_BYTES = 16;

    private final Recorder recorder;
    private final Effort effort;
    private final Map<Gpu, Side> sides = new HashMap<>();
    /** Ways on which bytes arrived wrong: a part that goes on measures the other ways too. */
    private final List<String> wrong = new ArrayList<>();

    private long bytes;
    /** The words that the host writes to the source, and reads back from the target. */
    private int[] onHost = {};

    PeerBandwidths(Recorder recorder, Effort effort) {
        this.recorder = recorder;
        this.effort = effort;
    }

    private record Side(Address source, Address target, CUstream stream) {}

    void run() {
        try (Gpus gpus = Gpus.open()) {
            if (gpus.list().size() < 2) {
                throw new SkippedException("there is one GPU, and so no pair");
            }
            bytes = effort.choose(MOST_BYTES, MOST_BYTES_QUICK) / 2;
            for (Gpu gpu : gpus.list()) {
                bytes = Math.min(bytes, gpu.bytesOfEach(2 * bytes, 2));
            }
            onHost = new int[Math.toIntExact(bytes / Integer.BYTES)];
            for (Gpu gpu : gpus.list()) {
                sides.put(gpu, new Side(gpu.memory(bytes), gpu.memory(bytes), gpu.stream()));
            }
            pairs(gpus.list());
        }
        if (!wrong.isEmpty()) {
            throw new MeasurementException("bytes arrive wrong from " + String.join("; ", wrong)
                    + "; see Pairs that should not use peer access in docs/gpu.md");
        }
    }

    private void pairs(List<Gpu> gpus) {
        for (Gpu from : gpus) {
            for (Gpu to : gpus) {
                if (from.ordinal() == to.ordinal()) {
                    continue;
                }
                if (effort.isOver()) {
                    recorder.note("time was over before " + from + " to " + to);
                    return;
                }
                pair(from, to);
            }
        }
    }

    private void pair(Gpu from, Gpu to) {
        if (!(from.reaches(to) && to.reaches(from))) {
            recorder.note("loads and stores from " + from + " to " + to
                    + " are left out, as they have no peer access; copies go through the host");
            try {
                measure("copy engines, through the host", from, from, to, (source, target) -> copy(from, to));
            } catch (MeasurementException e) {
                // It is no fault of the machine that a driver refuses such copies.
                recorder.note("copies from " + from + " to " + to + " are left out: " + e.getMessage());
            }
            return;
        }
        measure("copy engines", from, from, to, (source, target) -> copy(from, to));
        measure("loads of the target's kernel", to, from, to, (source, target) -> launch(to, source, target));
        measure("stores of the source's kernel", from, from, to, (source, target) -> launch(from, source, target));
    }

    private Side side(Gpu gpu) {
        Side side = sides.get(gpu);
        if (side == null) {
            throw new IllegalStateException(gpu + " has no buffers");
        }
        return side;
    }

    private void copy(Gpu from, Gpu to) {
        from.check(
                JCudaDriver.cuMemcpyPeerAsync(
                        side(to).target(),
                        to.context(),
                        side(from).source(),
                        from.context(),
                        bytes,
                        side(from).stream()),
                "cuMemcpyPeerAsync to " + to);
    }

    private void launch(Gpu runner, Address source, Address target) {
        long vectors = bytes / VECTOR_BYTES;
        runner.launch(
                runner.function(Kernel.COPY),
                runner.blocks(vectors),
                Gpu.BLOCK,
                side(runner).stream(),
                Pointer.to(target),
                Pointer.to(source),
                Pointer.to(new long[] {vectors}));
    }

    /** @param runner the GPU whose stream the work is queued in */
    private void measure(String by, Gpu runner, Gpu from, Gpu to, BiConsumer<Address, Address> move) {
        Address source = side(from).source();
        Address target = side(to).target();
        PairWords words = new PairWords(from.ordinal(), to.ordinal());
        words.write(onHost);
        fill(from, source);
        clear(to, target);
        double[] micros = Samples.onGpu(effort, runner, side(runner).stream(), () -> {
            for (int call = 0; call < CALLS; call++) {
                move.accept(source, target);
            }
        });
        to.enter();
        to.check(JCudaDriver.cuMemcpyDtoH(Pointer.to(onHost), target, bytes), "cuMemcpyDtoH");
        Map<String, String> of = new LinkedHashMap<>();
        of.put("from", from.number());
        of.put("to", to.number());
        of.put("by", by);
        if (!words.areIn(onHost)) {
            wrong.add(from + " to " + to + " by " + by);
            return;
        }
        recorder.figure(Figure.of("peer bandwidth", of, "GB/s", Samples.gbs(CALLS * bytes, micros)));
    }

    /** Writes the host's words to a GPU, and waits: such a copy may return before the GPU has all of them. */
    private void fill(Gpu gpu, Address at) {
        gpu.enter();
        gpu.check(JCudaDriver.cuMemcpyHtoD(at, Pointer.to(onHost), bytes), "cuMemcpyHtoD");
        gpu.check(JCudaDriver.cuCtxSynchronize(), "cuCtxSynchronize");
    }

    private void clear(Gpu gpu, Address at) {
        gpu.enter();
        CUstream stream = side(gpu).stream();
        gpu.check(JCudaDriver.cuMemsetD32Async(at, 0, bytes / Integer.BYTES, stream), "cuMemsetD32Async");
        gpu.await(stream);
    }
}

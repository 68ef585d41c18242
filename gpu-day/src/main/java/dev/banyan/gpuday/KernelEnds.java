package dev.banyan.gpuday;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import jcuda.Pointer;
import jcuda.driver.CUevent;
import jcuda.driver.CUfunction;
import jcuda.driver.CUresult;
import jcuda.driver.CUstream;
import jcuda.driver.JCudaDriver;

/**
 * Measures the time until the host sees that one short kernel on each of some GPUs has ended, from the return of the
 * last launch on: by words that the kernels set in its memory, and by asking the driver for an event behind each kernel
 * once the words are there.
 */
final class KernelEnds {
    private static final VarHandle WORD = ValueLayout.JAVA_INT.varHandle();

    /** Looks at words until the driver is asked for errors. */
    private static final int POLLS = 1 << 20;

    private final Recorder recorder;
    private final Effort effort;
    private int value;

    KernelEnds(Recorder recorder, Effort effort) {
        this.recorder = recorder;
        this.effort = effort;
    }

    /** A GPU with its kernel and the word that it sets. */
    private record Site(
            Gpu gpu, CUfunction function, CUstream stream, CUevent event, Pointer pointer, MemorySegment word) {
        static Site of(Gpu gpu) {
            Pointer pointer = gpu.pinned(Integer.BYTES);
            return new Site(
                    gpu,
                    gpu.function(Kernel.WORD),
                    gpu.stream(),
                    gpu.event(),
                    pointer,
                    MemorySegment.ofBuffer(pointer.getByteBuffer(0, Integer.BYTES)));
        }

        void launch(int value) {
            gpu.enter();
            gpu.launch(function, 1, 1, stream, Pointer.to(pointer), Pointer.to(new int[] {value}));
            gpu.record(event, stream);
        }

        boolean hasWord(int value) {
            return (int) WORD.getAcquire(word, 0L) == value;
        }

        boolean hasEvent() {
            int result = JCudaDriver.cuEventQuery(event);
            if (result == CUresult.CUDA_ERROR_NOT_READY) {
                return false;
            }
            gpu.check(result, "cuEventQuery");
            return true;
        }
    }

    void run() {
        try (Gpus gpus = Gpus.open()) {
            List<Site> sites = new ArrayList<>();
            gpus.list().forEach(gpu -> sites.add(Site.of(gpu)));
            for (int count = 1; ; count = Math.min(2 * count, sites.size())) {
                if (effort.isOver()) {
                    recorder.note("time was over before the ends of kernels on " + count + " GPUs");
                    return;
                }
                List<Site> some = sites.subList(0, count);
                double[][] micros = Samples.pairs(effort.launches(), () -> ends(some));
                Map<String, String> of = Map.of("GPUs", Integer.toString(count));
                recorder.figure(Figure.of("kernel end, by words", of, "us", micros[0]));
                recorder.figure(Figure.of("kernel end, by words and events", of, "us", micros[1]));
                if (count == sites.size()) {
                    return;
                }
            }
        }
    }

    private double[] ends(List<Site> sites) {
        int now = ++value;
        sites.forEach(site -> site.launch(now));
        long launched = System.nanoTime();
        for (int polls = 1; !sites.stream().allMatch(site -> site.hasWord(now)); polls++) {
            if (polls % POLLS == 0) {
                // A kernel that has failed sets no word.
                sites.forEach(Site::hasEvent);
            }
        }
        long words = System.nanoTime();
        while (!sites.stream().allMatch(Site::hasEvent)) {
            Thread.onSpinWait();
        }
        return new double[] {(words - launched) / 1e3, (System.nanoTime() - launched) / 1e3};
    }
}

package dev.banyan.gpuday;

import java.util.function.DoubleSupplier;
import java.util.function.Supplier;
import jcuda.driver.CUevent;
import jcuda.driver.CUstream;

/** Times work again and again. The first runs do not count: they compile, load and wake what comes later. */
final class Samples {
    private static final int WARM_UPS = 2;

    private Samples() {}

    /** Takes what each run returns. */
    static double[] of(Effort effort, DoubleSupplier run) {
        return pairs(effort.samples(), () -> new double[] {run.getAsDouble(), 0})[0];
    }

    /** Takes the two figures that each run returns: an array of the first ones, and one of the second ones. */
    static double[][] pairs(int count, Supplier<double[]> run) {
        double[][] samples = new double[2][count];
        for (int i = -WARM_UPS; i < count; i++) {
            double[] pair = run.get();
            if (i >= 0) {
                samples[0][i] = pair[0];
                samples[1][i] = pair[1];
            }
        }
        return samples;
    }

    /** Times on the GPU what a run queues in a stream, in us: by events before and behind it. */
    static double[] onGpu(Effort effort, Gpu gpu, CUstream stream, Runnable run) {
        CUevent before = gpu.event();
        CUevent behind = gpu.event();
        return of(effort, () -> {
            gpu.enter();
            gpu.record(before, stream);
            run.run();
            gpu.enter();
            gpu.record(behind, stream);
            gpu.await(stream);
            return gpu.micros(before, behind);
        });
    }

    /** Turns times in us into GB/s. */
    static double[] gbs(long bytes, double... micros) {
        double[] gbs = new double[micros.length];
        for (int i = 0; i < gbs.length; i++) {
            // The emulated driver's clock may not have gone on; a GPU's has.
            gbs[i] = bytes / 1e3 / Math.max(micros[i], 0.001);
        }
        return gbs;
    }
}

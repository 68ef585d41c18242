package dev.banyan.gpuday;

import java.util.LinkedHashMap;
import java.util.Map;
import jcuda.NativePointerObject;
import jcuda.Pointer;
import jcuda.driver.CUfunction;
import jcuda.driver.CUstream;
import jcuda.driver.JCudaDriver;

/**
 * Sums up 2 to 8 arrays of f32 on one GPU, and copies within its memory as many bytes as that reads and writes. Times
 * are of several calls in a row, so that launches do not count.
 */
final class Reductions {
    private static final int MOST_INPUTS = 8;
    private static final long MOST_BYTES = 2L << 30;
    private static final long MOST_BYTES_QUICK = 9 << 12;
    private static final int CALLS = 5;
    private static final int VECTOR_BYTES = 16;

    private final Recorder recorder;
    private final Effort effort;

    Reductions(Recorder recorder, Effort effort) {
        this.recorder = recorder;
        this.effort = effort;
    }

    void run() {
        try (Gpus gpus = Gpus.open()) {
            Gpu gpu = gpus.first();
            CUstream stream = gpu.stream();
            long bytes = gpu.bytesOfEach(effort.choose(MOST_BYTES, MOST_BYTES_QUICK), MOST_INPUTS + 1);
            Address all = gpu.memory(bytes * (MOST_INPUTS + 1));
            for (int input = 0; input < MOST_INPUTS; input++) {
                float value = input + 1;
                gpu.check(
                        JCudaDriver.cuMemsetD32Async(
                                all.plus(input * bytes), Float.floatToRawIntBits(value), bytes / Float.BYTES, stream),
                        "cuMemsetD32Async");
            }
            gpu.await(stream);
            for (int inputs = 2; inputs <= MOST_INPUTS; inputs++) {
                if (effort.isOver()) {
                    recorder.note("time was over before reductions of " + inputs + " arrays");
                    return;
                }
                measure(gpu, stream, all, bytes, inputs);
            }
            copies(gpu, stream, all, bytes);
        }
    }

    private void measure(Gpu gpu, CUstream stream, Address all, long bytes, int inputs) {
        CUfunction function = gpu.function(Kernel.sum(inputs));
        Address target = all.plus(MOST_INPUTS * bytes);
        NativePointerObject[] parameters = new NativePointerObject[inputs + 2];
        parameters[0] = Pointer.to(target);
        for (int input = 0; input < inputs; input++) {
            parameters[input + 1] = Pointer.to(all.plus(input * bytes));
        }
        long vectors = bytes / VECTOR_BYTES;
        parameters[inputs + 1] = Pointer.to(new long[] {vectors});
        int blocks = gpu.blocks(vectors);
        double[] micros = Samples.onGpu(effort, gpu, stream, () -> {
            for (int call = 0; call < CALLS; call++) {
                gpu.launch(function, blocks, Gpu.BLOCK, stream, parameters);
            }
        });
        float[] sums = new float[4];
        gpu.check(
                JCudaDriver.cuMemcpyDtoH(Pointer.to(sums), target.plus(bytes - VECTOR_BYTES), VECTOR_BYTES),
                "cuMemcpyDtoH");
        float sum = inputs * (inputs + 1) / 2f;
        for (float each : sums) {
            if (each != sum) {
                throw new MeasurementException(
                        "the last sums of " + inputs + " arrays on " + gpu + " are " + each + ", not " + sum);
            }
        }
        recorder.figure(Figure.of(
                "reduction, read and written",
                of(inputs, bytes),
                "GB/s",
                Samples.gbs(CALLS * bytes * (inputs + 1), micros)));
    }

    /** Last, as they overwrite the inputs. */
    private void copies(Gpu gpu, CUstream stream, Address all, long bytes) {
        for (int inputs = 2; inputs <= MOST_INPUTS; inputs++) {
            long length = bytes * (inputs + 1) / 2;
            Address target = all.plus(bytes * (MOST_INPUTS + 1) - length);
            double[] micros = Samples.onGpu(effort, gpu, stream, () -> {
                for (int call = 0; call < CALLS; call++) {
                    gpu.check(JCudaDriver.cuMemcpyDtoDAsync(target, all, length, stream), "cuMemcpyDtoDAsync");
                }
            });
            recorder.figure(Figure.of(
                    "copy of as many bytes, read and written",
                    of(inputs, bytes),
                    "GB/s",
                    Samples.gbs(CALLS * 2 * length, micros)));
        }
    }

    private static Map<String, String> of(int inputs, long bytes) {
        Map<String, String> of = new LinkedHashMap<>();
        of.put("inputs", Integer.toString(inputs));
        of.put("bytes of each", Long.toString(bytes));
        return of;
    }
}

package dev.banyan.gpuday;

import dev.banyan.cuda.internal.driver.CudaDevice;
import dev.banyan.cuda.internal.driver.MappedMemory;
import dev.banyan.cuda.internal.driver.MulticastMemory;
import dev.banyan.cuda.type.CudaException;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import jcuda.Pointer;
import jcuda.driver.CUstream;
import jcuda.driver.JCudaDriver;

/**
 * Runs the instructions that go by multicast addresses, on one GPU: the addresses stand for its memory alone, so that
 * each instruction loads or stores the bits that a plain one would.
 */
final class MulticastChecks {
    private static final int THREADS = 32;
    private static final int WORDS = 4 * THREADS;

    private static final String LOAD = "multimem.ld_reduce.weak.global.";
    private static final String STORE = "multimem.st.weak.global.";
    private static final List<Way> WAYS = List.of(
            new Way(LOAD + "add.v4.f32", "st.global.v4.u32", 16),
            new Way(LOAD + "add.acc::f32.v4.f16x2", "st.global.v4.u32", 16),
            new Way(LOAD + "add.acc::f32.v4.bf16x2", "st.global.v4.u32", 16),
            new Way(LOAD + "add.u32", "st.global.u32", 4),
            new Way(LOAD + "min.s32", "st.global.u32", 4),
            new Way(LOAD + "max.s32", "st.global.u32", 4),
            new Way(LOAD + "add.u64", "st.global.u64", 8),
            new Way(LOAD + "min.s64", "st.global.u64", 8),
            new Way(LOAD + "max.s64", "st.global.u64", 8),
            new Way("ld.global.v4.u32", STORE + "v4.f32", 16),
            new Way("ld.global.u64", STORE + "b64", 8));

    /** A copy of 16 bytes a thread, in parts of some bytes. */
    private record Way(String load, String store, int bytes) {
        /** Returns the instructions of a copy to an area behind the source. */
        String ptx(int area) {
            String registers = bytes == 16 ? "{%r0, %r1, %r2, %r3}" : bytes == 8 ? "%rd2" : "%r0";
            String load = this.load + " " + registers + ", [" + (loads() ? "%rd1+" : "%rd0+");
            String store = this.store + " [" + (loads() ? "%rd0+" : "%rd1+");
            return IntStream.range(0, 16 / bytes)
                    .map(part -> part * bytes)
                    .mapToObj(at -> load + at + "];\n" + store + (4 * WORDS * area + at) + "], " + registers + ";\n")
                    .collect(Collectors.joining());
        }

        /** Returns whether it is the load that goes by the multicast address; else the store does. */
        private boolean loads() {
            return load.startsWith(LOAD);
        }
    }

    private MulticastChecks() {}

    static void run(Recorder recorder) {
        try (Gpus gpus = Gpus.open();
                CudaDevice device = new CudaDevice(gpus.first().ordinal())) {
            MappedMemory memory = MappedMemory.of(device, 1, List.of(device));
            try {
                MulticastMemory multicast = MulticastMemory.joining(List.of(device), List.of(memory));
                try {
                    check(gpus.first(), memory, multicast.address(), recorder);
                } finally {
                    int _ = multicast.free();
                }
            } catch (CudaException e) {
                throw new SkippedException("the driver makes no multicast addresses of one GPU: " + e.getMessage());
            } finally {
                int _ = memory.free();
            }
        }
    }

    private static Kernel kernel() {
        return new Kernel(
                "banyan_day_multicast",
                """
                        .version 8.2
                        .target sm_90
                        .address_size 64
                        .visible .entry banyan_day_multicast(.param .u64 memory, .param .u64 multicast)
                        {
                        .reg .b32 %r<4>;
                        .reg .b64 %rd<3>;
                        ld.param.u64 %rd0, [memory];
                        ld.param.u64 %rd1, [multicast];
                        mov.u32 %r0, %tid.x;
                        mad.wide.u32 %rd0, %r0, 16, %rd0;
                        mad.wide.u32 %rd1, %r0, 16, %rd1;
                        fence.proxy.alias;
                        """
                        + IntStream.range(0, WAYS.size())
                                .mapToObj(way -> WAYS.get(way).ptx(way + 1))
                                .collect(Collectors.joining())
                        + "fence.proxy.alias;\nret;\n}\n");
    }

    private static void check(Gpu gpu, MappedMemory memory, long multicast, Recorder recorder) {
        // Numbers of 16 and of 32 bits of either sign, and no NaN.
        int[] all = IntStream.range(0, WORDS * (WAYS.size() + 1))
                .map(i -> i < WORDS ? 0x3c003c00 + 0x110007 * i + (i % 2 == 0 ? 0 : 0x80008000) : 0)
                .toArray();
        long bytes = (long) Integer.BYTES * all.length;
        CUstream stream = gpu.stream();
        gpu.check(JCudaDriver.cuMemcpyHtoD(memory.address(), Pointer.to(all), bytes), "cuMemcpyHtoD");
        Pointer plain = Pointer.to(new long[] {memory.address().value()});
        gpu.launch(gpu.function(kernel()), 1, THREADS, stream, plain, Pointer.to(new long[] {multicast}));
        gpu.await(stream);
        gpu.check(JCudaDriver.cuMemcpyDtoH(Pointer.to(all), memory.address(), bytes), "cuMemcpyDtoH");
        boolean areRight = true;
        for (int w = 0; w < WAYS.size(); w++) {
            Way way = WAYS.get(w);
            boolean isRight = Arrays.equals(all, WORDS * (w + 1), WORDS * (w + 2), all, 0, WORDS);
            recorder.fact(
                    "bits by a multicast address",
                    Map.of("instruction", way.loads() ? way.load() : way.store()),
                    isRight ? "right" : "wrong");
            areRight &= isRight;
        }
        if (!areRight) {
            throw new MeasurementException("instructions by multicast addresses give wrong bits on " + gpu);
        }
    }
}

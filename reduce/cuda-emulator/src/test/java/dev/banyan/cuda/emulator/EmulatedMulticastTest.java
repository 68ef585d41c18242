package dev.banyan.cuda.emulator;

import static dev.banyan.cuda.emulator.EmulatedGpus.GRANULE;
import static dev.banyan.cuda.emulator.EmulatedGpus.attribute;
import static dev.banyan.cuda.emulator.EmulatedGpus.enter;
import static dev.banyan.cuda.emulator.EmulatedGpus.function;
import static dev.banyan.cuda.emulator.EmulatedGpus.ints;
import static dev.banyan.cuda.emulator.EmulatedGpus.ok;
import static dev.banyan.cuda.emulator.EmulatedGpus.stream;
import static jcuda.driver.JCudaDriver.*;
import static org.assertj.core.api.Assertions.assertThat;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import java.util.List;
import jcuda.Pointer;
import jcuda.driver.CUcontext;
import jcuda.driver.CUdeviceptr;
import jcuda.driver.CUfunction;
import jcuda.driver.CUpointer_attribute;
import jcuda.driver.CUresult;
import jcuda.driver.CUstream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Multicast objects of the emulated driver, and instructions that go by their addresses. */
class EmulatedMulticastTest {
    private static final String HEAD = ".version 8.2\n.target sm_90\n.address_size 64\n";
    private static final int MULTICAST_SUPPORTED = 132;

    private final Arena arena = Arena.ofAuto();
    private CudaEmulator emulator;

    @BeforeEach
    void load() {
        emulator = EmulatedGpus.driver();
        emulator.tell("devices 3 switched", "capability all 9 0", "multicast on");
    }

    private int create(int devices, long bytes, MemorySegment handle) {
        MemorySegment properties = arena.allocate(ValueLayout.JAVA_LONG, 4);
        properties.set(ValueLayout.JAVA_INT, 0, devices);
        properties.setAtIndex(ValueLayout.JAVA_LONG, 1, bytes);
        return EmulatedGpus.call("cuMulticastCreate", handle, properties);
    }

    private long multicast(int devices) {
        MemorySegment handle = arena.allocate(ValueLayout.JAVA_LONG);
        ok(create(devices, GRANULE, handle));
        return handle.get(ValueLayout.JAVA_LONG, 0);
    }

    private static long address(CUdeviceptr pointer) {
        return attribute(CUpointer_attribute.CU_POINTER_ATTRIBUTE_DEVICE_POINTER, pointer);
    }

    private static CUdeviceptr open(int ordinal) {
        CUdeviceptr memory = EmulatedGpus.mapped(ordinal, 1);
        EmulatedGpus.open(memory, 1, 0);
        EmulatedGpus.open(memory, 1, 1);
        enter(ordinal);
        ok(cuMemsetD32(memory, Float.floatToIntBits(ordinal + 1), 64));
        ok(cuCtxSynchronize());
        return memory;
    }

    /** Addresses for the memory of two devices. */
    private record Joined(long handle, List<CUdeviceptr> parts, CUdeviceptr address) {}

    private Joined joined() {
        long handle = multicast(2);
        List<CUdeviceptr> parts = List.of(open(0), open(1));
        for (int ordinal = 0; ordinal < 2; ordinal++) {
            ok(EmulatedGpus.call("cuMulticastAddDevice", handle, ordinal));
        }
        for (CUdeviceptr part : parts) {
            ok(EmulatedGpus.call("cuMulticastBindAddr", handle, 0L, address(part), GRANULE, 0L));
        }
        // JCuda keeps the number of an address to itself.
        MemorySegment number = arena.allocate(ValueLayout.JAVA_LONG);
        ok(EmulatedGpus.call("cuMemAddressReserve", number, GRANULE, 0L, 0L, 0L));
        long mapped = number.get(ValueLayout.JAVA_LONG, 0);
        ok(EmulatedGpus.call("cuMemMap", mapped, GRANULE, 0L, handle, 0L));
        CUdeviceptr address = parts.getFirst().withByteOffset(mapped - address(parts.getFirst()));
        EmulatedGpus.open(address, 1, 0);
        EmulatedGpus.open(address, 1, 1);
        return new Joined(handle, parts, address);
    }

    private static String kernel(String body) {
        return HEAD
                + ".visible .entry k(.param .u64 a, .param .u64 b)\n{\n.reg .b64 %rd<2>;\n.reg .b32 %r<5>;\n"
                + "ld.param.u64 %rd0, [a];\nld.param.u64 %rd1, [b];\n" + body + "\nret;\n}\n";
    }

    /** Returns a kernel that orders its accesses by multicast addresses. */
    private static String fenced(String body) {
        return kernel("fence.proxy.alias;\n" + body + "\nfence.proxy.alias;");
    }

    private static int run(String body, CUdeviceptr a, CUdeviceptr b) {
        return runKernel(fenced(body), a, b);
    }

    private static int runKernel(String text, CUdeviceptr a, CUdeviceptr b) {
        CUfunction function = function(text, "k");
        Pointer parameters = Pointer.to(Pointer.to(a), Pointer.to(b));
        int launched = cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, null, parameters, null);
        return launched == CUresult.CUDA_SUCCESS ? cuCtxSynchronize() : launched;
    }

    @Test
    void theSwitchAddsUpAndCopies() {
        Joined joined = joined();
        enter(0);
        ok(run("""
            multimem.ld_reduce.weak.global.add.v4.f32 {%r0, %r1, %r2, %r3}, [%rd0];
            multimem.st.weak.global.v4.f32 [%rd0+16], {%r0, %r1, %r2, %r3};
            multimem.ld_reduce.weak.global.max.s32 %r4, [%rd0+64];
            multimem.st.weak.global.b32 [%rd0+32], %r4;\
            """, joined.address(), joined.address()));
        for (CUdeviceptr part : joined.parts()) {
            int[] values = ints(part, 12);
            assertThat(Arrays.copyOfRange(values, 4, 8)).containsOnly(Float.floatToIntBits(3));
            assertThat(values[8]).isEqualTo(Float.floatToIntBits(2));
        }
        assertThat(emulator.problems()).isEmpty();
    }

    /** 1 + 2^-11 + 2^-11 in halves of 11 bits: wide sums are rounded once. */
    @Test
    void sumsOfHalvesAreWide() {
        Joined joined = joined();
        int[] values = {0x3c003c00, 0x14001400};
        for (int d = 0; d < 2; d++) {
            enter(d);
            ok(cuMemsetD32(joined.parts().get(d), values[d], 4));
            ok(cuCtxSynchronize());
        }
        enter(1);
        ok(run("""
            multimem.ld_reduce.weak.global.add.acc::f32.v4.f16x2 {%r0, %r1, %r2, %r3}, [%rd0];
            st.global.v4.u32 [%rd1], {%r0, %r1, %r2, %r3};\
            """, joined.address(), joined.parts().get(1)));
        assertThat(ints(joined.parts().get(1), 4)).containsOnly(0x3c013c01);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "multimem.ld_reduce.weak.global.add.v4.f32 {%r0, %r1, %r2, %r3}, [%rd0+8]; | 716",
                "multimem.st.weak.global.b32 [%rd0+2], %r0; | 716",
                "multimem.st.weak.global.b32 [%rd1], %r0; | 700",
                "ld.global.u32 %r0, [%rd0]; | 700",
                "multimem.st.weak.global.b32 [%rd0+2097152], %r0; | 700"
            })
    void wrongAccessesFault(String access, int code) {
        Joined joined = joined();
        enter(0);
        assertThat(run(access, joined.address(), joined.parts().getFirst())).isEqualTo(code);
    }

    @ParameterizedTest
    @ValueSource(strings = {"before", "behind"})
    void accessesAreOrderedWithThoseByOtherAddresses(String missing) {
        Joined joined = joined();
        enter(0);
        String fence = "fence.proxy.alias;\n";
        String store = "mov.u32 %r0, 7;\nmultimem.st.weak.global.b32 [%rd0], %r0;\n";
        assertThat(runKernel(
                        kernel(missing.equals("before") ? store + fence : fence + store),
                        joined.address(),
                        joined.address()))
                .isEqualTo(CUresult.CUDA_ERROR_LAUNCH_FAILED);
        assertThat(emulator.problems()).singleElement().asString().endsWith("fence.proxy.alias " + missing + " it");
    }

    /** Device 1 reads its memory while device 0 stores there by the multicast address. */
    @Test
    void racesThroughMulticastAddressesAreFound() {
        Joined joined = joined();
        CUcontext first = enter(0);
        CUfunction store = function(fenced("mov.u32 %r0, 7;\nmultimem.st.weak.global.b32 [%rd0], %r0;"), "k");
        CUstream stores = stream();
        CUcontext second = enter(1);
        CUfunction load = function(kernel("ld.global.u32 %r0, [%rd1];\nst.global.u32 [%rd1+64], %r0;"), "k");
        CUstream loads = stream();
        Pointer parameters = Pointer.to(
                Pointer.to(joined.address()), Pointer.to(joined.parts().get(1)));
        emulator.tell("pause", "interleave 3");
        ok(cuLaunchKernel(load, 1, 1, 1, 1, 1, 1, 0, loads, parameters, null));
        ok(cuCtxSetCurrent(first));
        ok(cuLaunchKernel(store, 1, 1, 1, 1, 1, 1, 0, stores, parameters, null));
        emulator.tell("resume");
        ok(cuStreamSynchronize(stores));
        ok(cuCtxSetCurrent(second));
        ok(cuStreamSynchronize(loads));
        assertThat(emulator.count("races")).isPositive();
    }

    @Test
    void objectsHaveTheDriversRules() {
        MemorySegment handle = arena.allocate(ValueLayout.JAVA_LONG);
        int invalid = CUresult.CUDA_ERROR_INVALID_VALUE;
        assertThat(create(2, GRANULE / 2, handle)).isEqualTo(invalid);
        assertThat(create(4, GRANULE, handle)).isEqualTo(invalid);
        long multicast = multicast(2);
        CUdeviceptr memory = open(0);
        ok(EmulatedGpus.call("cuMulticastAddDevice", multicast, 0));
        assertThat(EmulatedGpus.call("cuMulticastAddDevice", multicast, 0)).isEqualTo(invalid);
        assertThat(EmulatedGpus.call("cuMulticastBindAddr", multicast, 0L, address(memory), GRANULE, 0L))
                .as("before all devices were added")
                .isEqualTo(invalid);
        ok(EmulatedGpus.call("cuMulticastAddDevice", multicast, 1));
        assertThat(EmulatedGpus.call("cuMulticastAddDevice", multicast, 2)).isEqualTo(invalid);
        assertThat(EmulatedGpus.call("cuMulticastBindAddr", multicast, GRANULE / 2, address(memory), GRANULE, 0L))
                .isEqualTo(invalid);
        ok(EmulatedGpus.call("cuMulticastBindAddr", multicast, 0L, address(memory), GRANULE, 0L));
        assertThat(EmulatedGpus.call("cuMulticastBindAddr", multicast, 0L, address(memory), GRANULE, 0L))
                .as("twice")
                .isEqualTo(invalid);
        assertThat(EmulatedGpus.call("cuMulticastUnbind", multicast, 1, 0L, GRANULE))
                .isEqualTo(invalid);
        assertThat(emulator.problems()).isEmpty();
        ok(cuMemUnmap(memory, GRANULE));
        assertThat(emulator.problems()).anyMatch(problem -> problem.contains("bound to a multicast object"));
        ok(EmulatedGpus.call("cuMulticastUnbind", multicast, 0, 0L, GRANULE));
        ok(EmulatedGpus.call("cuMemRelease", multicast));
    }

    @Test
    void aSwitchMayNotBeReady() {
        MemorySegment handle = arena.allocate(ValueLayout.JAVA_LONG);
        emulator.tell("multicast unready");
        assertThat(create(2, GRANULE, handle)).isEqualTo(CUresult.CUDA_ERROR_SYSTEM_NOT_READY);
        int[] supported = new int[1];
        ok(cuDeviceGetAttribute(supported, MULTICAST_SUPPORTED, EmulatedGpus.device(0)));
        assertThat(supported[0]).isEqualTo(1);
        emulator.tell("multicast none");
        assertThat(create(2, GRANULE, handle)).isEqualTo(CUresult.CUDA_ERROR_NOT_SUPPORTED);
        ok(cuDeviceGetAttribute(supported, MULTICAST_SUPPORTED, EmulatedGpus.device(0)));
        assertThat(supported[0]).isZero();
    }
}

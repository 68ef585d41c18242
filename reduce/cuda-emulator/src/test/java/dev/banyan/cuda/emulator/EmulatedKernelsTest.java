package dev.banyan.cuda.emulator;

import static dev.banyan.cuda.emulator.Addition.addition;
import static dev.banyan.cuda.emulator.Addition.launch;
import static dev.banyan.cuda.emulator.EmulatedGpus.allocate;
import static dev.banyan.cuda.emulator.EmulatedGpus.at;
import static dev.banyan.cuda.emulator.EmulatedGpus.enter;
import static dev.banyan.cuda.emulator.EmulatedGpus.fails;
import static dev.banyan.cuda.emulator.EmulatedGpus.function;
import static dev.banyan.cuda.emulator.EmulatedGpus.holding;
import static dev.banyan.cuda.emulator.EmulatedGpus.ints;
import static dev.banyan.cuda.emulator.EmulatedGpus.ok;
import static dev.banyan.cuda.emulator.EmulatedGpus.pinned;
import static dev.banyan.cuda.emulator.EmulatedGpus.reach;
import static dev.banyan.cuda.emulator.EmulatedGpus.stream;
import static jcuda.driver.JCudaDriver.*;
import static org.assertj.core.api.Assertions.assertThat;

import java.nio.ByteBuffer;
import jcuda.Pointer;
import jcuda.driver.CUcontext;
import jcuda.driver.CUdeviceptr;
import jcuda.driver.CUfunction;
import jcuda.driver.CUmodule;
import jcuda.driver.CUresult;
import jcuda.driver.CUstream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Modules of the emulated driver, and what its kernels may touch. */
class EmulatedKernelsTest {
    private static final String GOOD = """
        .version 7.0
        .target sm_70
        .address_size 64
        .visible .entry mean_4(.param .u64 target, .param .u64 source1)
        {
            .reg .b64 %rd<2>;
            .reg .f32 %f<4>;
            ld.param.u64 %rd0, [target];
            ld.param.u64 %rd1, [source1];
            bra $vector;
        $vector:
            ld.global.v4.f32 {%f0, %f1, %f2, %f3}, [%rd1];
            add.rn.f32 %f0, %f0, %f1;
            div.rn.f32 %f0, %f0, %f2;
            st.global.f32 [%rd0], %f0;
            ret;
        }
        """;

    private CudaEmulator emulator;

    @BeforeEach
    void load() {
        emulator = EmulatedGpus.driver();
    }

    private static int loads(String text) {
        return cuModuleLoadData(new CUmodule(), text);
    }

    @Test
    void modulesAreReadAsPtx() {
        enter(0);
        ok(loads("// with a comment .version 99.0\n" + GOOD));
        fails(loads("\u007fELF"), CUresult.CUDA_ERROR_INVALID_IMAGE);
        fails(loads(GOOD.replace(".target sm_70", "")), CUresult.CUDA_ERROR_INVALID_PTX);
        fails(loads(GOOD + "}"), CUresult.CUDA_ERROR_INVALID_PTX);
        fails(loads(GOOD.replace("sm_70", "sm_80")), CUresult.CUDA_ERROR_NO_BINARY_FOR_GPU);
        fails(loads(GOOD.replace(".version 7.0", ".version 8.6")), CUresult.CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
        assertThat(emulator.count("modules")).isEqualTo(1);
    }

    /** An instruction that the interpreter does not know is an error, never a guess. */
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "add.rn.f32 | add.rz.f32 | the instruction add.rz.f32 is not known",
                "add.rn.f32 | add.ftz.f32 | the instruction add.ftz.f32 is not known",
                "ld.global.v4.f32 | ld.const.v4.f32 | the instruction ld.const.v4.f32 is not known",
                "ld.global.v4.f32 | ld.relaxed.global.v4.f32 | the instruction ld.relaxed.global.v4.f32 is not known",
                "[source1] | [source2] | there is no parameter source2",
                "bra $vector | bra $element | there is no label $element",
                "div.rn.f32 %f | div.rn.f32 %rd | is no register of 4 bytes",
                ".reg .f32 %f< | .reg .f32 %q< | is no register of 4 bytes",
            })
    void whatIsNotKnownIsAnError(String from, String to, String why) {
        enter(0);
        assertThat(GOOD).contains(from);
        fails(loads(GOOD.replace(from, to)), CUresult.CUDA_ERROR_INVALID_PTX);
        assertThat(emulator.problems())
                .singleElement()
                .asString()
                .startsWith("PTX line ")
                .contains(why);
    }

    @Test
    void functionsAreFoundByName() {
        enter(0);
        CUmodule module = new CUmodule();
        CUfunction function = new CUfunction();
        ok(cuModuleLoadData(module, GOOD));
        ok(cuModuleGetFunction(function, module, "mean_4"));
        fails(cuModuleGetFunction(function, module, "mean_"), CUresult.CUDA_ERROR_NOT_FOUND);
        ok(cuModuleUnload(module));
        fails(cuModuleGetFunction(function, module, "mean_4"), CUresult.CUDA_ERROR_INVALID_HANDLE);
        assertThat(emulator.count("functions")).isZero();
    }

    @Test
    void kernelsReachPeersWithAccessAndPinnedMemory() {
        CUcontext second = enter(1);
        CUdeviceptr far = holding(40);
        enter(0);
        reach(second);
        Pointer host = new Pointer();
        ByteBuffer buffer = pinned(host, 4);
        buffer.putInt(0, 2);
        CUdeviceptr mapped = new CUdeviceptr();
        ok(cuMemHostGetDevicePointer(mapped, host, 0));
        CUdeviceptr sum = allocate(4);
        ok(launch(addition(), null, 1, sum, far, mapped));
        assertThat(ints(sum, 1)).containsExactly(42);
        assertThat(emulator.count("kernels")).isEqualTo(1);
    }

    private void faults(int expected, String why, long count, CUdeviceptr... addresses) {
        CUstream stream = stream();
        ok(launch(addition(), stream, count, addresses));
        fails(cuStreamSynchronize(stream), expected);
        fails(cuMemAlloc(new CUdeviceptr(), 4), expected);
        assertThat(emulator.problems()).singleElement().asString().contains(why);
    }

    @Test
    void kernelsDoNotReachPeersWithoutAccess() {
        enter(1);
        CUdeviceptr far = holding(1);
        enter(0);
        CUdeviceptr near = holding(1);
        faults(CUresult.CUDA_ERROR_ILLEGAL_ADDRESS, "peer access", 1, near, near, far);
        enter(1);
        assertThat(ints(far, 1)).as("other contexts live on").containsExactly(1);
    }

    @Test
    void kernelsDoNotLeaveAllocations() {
        enter(0);
        CUdeviceptr near = holding(1, 2);
        faults(CUresult.CUDA_ERROR_ILLEGAL_ADDRESS, "leaves its allocation", 2, near, near, at(near, 4));
    }

    @Test
    void kernelsDoNotTouchFreedMemory() {
        enter(0);
        CUdeviceptr near = holding(1, 2);
        CUdeviceptr gone = holding(1, 2);
        ok(cuMemFree(gone));
        faults(CUresult.CUDA_ERROR_ILLEGAL_ADDRESS, "is not allocated", 2, near, near, gone);
    }

    @Test
    void elementsMustBeAligned() {
        enter(0);
        CUdeviceptr near = holding(1, 2);
        faults(CUresult.CUDA_ERROR_MISALIGNED_ADDRESS, "is misaligned", 1, at(near, 1), near, near);
    }

    @Test
    void launchesAreChecked() {
        CUcontext second = enter(1);
        CUstream there = stream();
        enter(0);
        CUdeviceptr near = holding(1);
        CUfunction add = addition();
        fails(launch(add, there, 1, near, near, near), CUresult.CUDA_ERROR_INVALID_HANDLE);
        Pointer parameters = Addition.parameters(1, near, near, near);
        fails(cuLaunchKernel(add, 1, 1, 1, 2048, 1, 1, 0, null, parameters, null), CUresult.CUDA_ERROR_INVALID_VALUE);
        fails(cuLaunchKernel(add, 0, 1, 1, 32, 1, 1, 0, null, parameters, null), CUresult.CUDA_ERROR_INVALID_VALUE);
        assertThat(second).isNotNull();
    }

    /** The index may come to lie behind the table, but not behind the parameters. */
    @Test
    void parametersAreLoadedByAddressesInRegisters() {
        enter(0);
        CUfunction pick = function("""
            .version 7.0
            .target sm_70
            .address_size 64
            .visible .entry pick(.param .u64 target, .param .align 4 .b8 table[16], .param .u32 index)
            {
                .reg .b32 %r<2>;
                .reg .b64 %rd<3>;
                ld.param.u64 %rd0, [target];
                ld.param.u32 %r0, [index];
                mov.b64 %rd1, table;
                mad.wide.u32 %rd2, %r0, 4, %rd1;
                ld.param.u32 %r1, [%rd2+4];
                st.global.u32 [%rd0], %r1;
                ret;
            }
            """, "pick");
        CUdeviceptr target = allocate(4);
        ok(pick(pick, target, 1));
        assertThat(ints(target, 1)).containsExactly(30);
        assertThat(emulator.count("kernels pick")).isEqualTo(1);
        assertThat(emulator.count("kernels banyan_")).isZero();
        ok(pick(pick, target, 4));
        fails(cuCtxSynchronize(), CUresult.CUDA_ERROR_ILLEGAL_ADDRESS);
        assertThat(emulator.problems()).singleElement().asString().contains("4 bytes at 28 of 28 of parameters");
    }

    private static int pick(CUfunction pick, CUdeviceptr target, int index) {
        Pointer parameters =
                Pointer.to(Pointer.to(target), Pointer.to(new int[] {10, 20, 30, 40}), Pointer.to(new int[] {index}));
        return cuLaunchKernel(pick, 1, 1, 1, 32, 1, 1, 0, null, parameters, null);
    }
}

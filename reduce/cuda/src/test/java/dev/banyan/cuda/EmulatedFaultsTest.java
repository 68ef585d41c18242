package dev.banyan.cuda;

import static dev.banyan.cuda.EmulatedGpus.addition;
import static dev.banyan.cuda.EmulatedGpus.allocate;
import static dev.banyan.cuda.EmulatedGpus.device;
import static dev.banyan.cuda.EmulatedGpus.enter;
import static dev.banyan.cuda.EmulatedGpus.fails;
import static dev.banyan.cuda.EmulatedGpus.holding;
import static dev.banyan.cuda.EmulatedGpus.ints;
import static dev.banyan.cuda.EmulatedGpus.launch;
import static dev.banyan.cuda.EmulatedGpus.ok;
import static dev.banyan.cuda.EmulatedGpus.reach;
import static dev.banyan.cuda.EmulatedGpus.stream;
import static jcuda.driver.JCudaDriver.*;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.banyan.cuda.emulator.CudaEmulator;
import java.io.IOException;
import java.io.InputStream;
import java.lang.foreign.SymbolLookup;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;
import jcuda.driver.CUcontext;
import jcuda.driver.CUdeviceptr;
import jcuda.driver.CUgraph;
import jcuda.driver.CUgraphExec;
import jcuda.driver.CUresult;
import jcuda.driver.CUstream;
import jcuda.driver.CUstreamCaptureMode;
import jcuda.driver.JCudaDriver;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Faults of the emulated driver on command, and what it does not play. */
class EmulatedFaultsTest {
    private CudaEmulator emulator;

    @BeforeEach
    void load() {
        emulator = EmulatedGpus.driver();
    }

    @Test
    void theKthCallFails() {
        enter(0);
        emulator.tell("fail cuMemAlloc 2 2", "fail * 5 999");
        CUdeviceptr pointer = new CUdeviceptr();
        ok(cuMemAlloc(pointer, 4));
        fails(cuMemAlloc(pointer, 4), CUresult.CUDA_ERROR_OUT_OF_MEMORY);
        ok(cuMemAlloc(pointer, 4));
        ok(cuMemFree(pointer));
        fails(cuCtxSynchronize(), CUresult.CUDA_ERROR_UNKNOWN);
        ok(cuCtxSynchronize());
        assertThat(emulator.count("calls cuMemAlloc")).isEqualTo(3);
    }

    @Test
    void theKthOperationFailsAndItsContextWithIt() {
        CUcontext other = enter(1);
        CUdeviceptr there = holding(0);
        CUcontext context = enter(0);
        CUstream stream = stream();
        CUdeviceptr pointer = holding(1, 2);
        emulator.tell("op copy 2 fail 719");
        ok(cuMemcpyDtoDAsync(pointer, EmulatedGpus.at(pointer, 4), 4, stream));
        ok(cuMemcpyDtoDAsync(EmulatedGpus.at(pointer, 4), pointer, 4, stream));
        fails(cuStreamSynchronize(stream), CUresult.CUDA_ERROR_LAUNCH_FAILED);
        fails(cuCtxSynchronize(), CUresult.CUDA_ERROR_LAUNCH_FAILED);
        fails(cuMemFree(pointer), CUresult.CUDA_ERROR_LAUNCH_FAILED);
        assertThat(emulator.count("allocations")).as("freed all the same").isEqualTo(1);
        ok(cuCtxSetCurrent(other));
        assertThat(ints(there, 1)).containsExactly(0);
        ok(cuDevicePrimaryCtxRelease(device(0)));
        CUcontext again = enter(0);
        assertThat(again).isNotEqualTo(context);
        assertThat(ints(holding(3), 1)).containsExactly(3);
    }

    @Test
    void anOperationHangsUntilItIsReleased() {
        enter(0);
        CUstream stream = stream();
        CUdeviceptr pointer = holding(5);
        emulator.tell("patience 1", "op kernel 1 hang");
        ok(launch(addition(), stream, 1, pointer, pointer, pointer));
        fails(cuStreamSynchronize(stream), CUresult.CUDA_ERROR_LAUNCH_TIMEOUT);
        assertThat(emulator.problems()).singleElement().asString().contains("in vain");
        emulator.tell("release 702");
        fails(cuStreamSynchronize(stream), CUresult.CUDA_ERROR_LAUNCH_TIMEOUT);
        ok(cuDevicePrimaryCtxReset(device(0)));
    }

    @Test
    void aPairStalls() {
        emulator.tell("stall 0 1");
        CUcontext second = enter(1);
        CUdeviceptr far = holding(0);
        CUcontext first = enter(0);
        reach(second);
        CUdeviceptr near = holding(1);
        CUstream one = stream();
        CUstream two = stream();
        ok(cuMemcpyPeerAsync(far, second, near, first, 4, one));
        ok(cuMemcpyPeerAsync(near, first, far, second, 4, two));
        ok(cuStreamSynchronize(two));
        fails(cuStreamQuery(one), CUresult.CUDA_ERROR_NOT_READY);
        emulator.tell("release 0");
        ok(cuStreamSynchronize(one));
    }

    @Test
    void aLostDeviceAnswersNothing() {
        CUcontext second = enter(1);
        CUstream there = stream();
        CUdeviceptr far = holding(1);
        CUcontext first = enter(0);
        emulator.tell("op any 2 lose 1 46");
        ok(cuCtxSetCurrent(second));
        ok(cuMemsetD32Async(far, 1, 1, there));
        ok(cuMemsetD32Async(far, 2, 1, there));
        fails(cuStreamSynchronize(there), CUresult.CUDA_ERROR_DEVICE_UNAVAILABLE);
        fails(cuMemAlloc(new CUdeviceptr(), 4), CUresult.CUDA_ERROR_DEVICE_UNAVAILABLE);
        ok(cuCtxSetCurrent(first));
        assertThat(ints(holding(6), 1)).containsExactly(6);
        emulator.tell("lose 0 214");
        fails(cuCtxSynchronize(), CUresult.CUDA_ERROR_ECC_UNCORRECTABLE);
        fails(cuDevicePrimaryCtxRetain(new CUcontext(), device(0)), CUresult.CUDA_ERROR_ECC_UNCORRECTABLE);
    }

    @Test
    void losingADeviceEndsWhatHangsThere() {
        enter(0);
        CUstream stream = stream();
        CUdeviceptr pointer = holding(1);
        emulator.tell("op fill 1 hang");
        ok(cuMemsetD32Async(pointer, 1, 1, stream));
        emulator.tell("lose 0 999");
        fails(cuCtxSynchronize(), CUresult.CUDA_ERROR_UNKNOWN);
        fails(cuMemFree(pointer), CUresult.CUDA_ERROR_UNKNOWN);
        assertThat(emulator.count("allocations")).isZero();
    }

    @Test
    void aNodeOfAGraphFails() {
        enter(0);
        CUstream stream = stream();
        CUdeviceptr pointer = holding(1);
        ok(cuStreamBeginCapture(stream, CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED));
        ok(cuMemsetD32Async(pointer, 1, 1, stream));
        ok(launch(addition(), stream, 1, pointer, pointer, pointer));
        CUgraph graph = new CUgraph();
        ok(cuStreamEndCapture(stream, graph));
        CUgraphExec exec = new CUgraphExec();
        ok(cuGraphInstantiate(exec, graph, 0));
        emulator.tell("op kernel 2 fail 700");
        ok(cuGraphLaunch(exec, stream));
        ok(cuStreamSynchronize(stream));
        ok(cuGraphLaunch(exec, stream));
        fails(cuStreamSynchronize(stream), CUresult.CUDA_ERROR_ILLEGAL_ADDRESS);
        fails(cuGraphLaunch(exec, stream), CUresult.CUDA_ERROR_ILLEGAL_ADDRESS);
        ok(cuGraphExecDestroy(exec));
    }

    @Test
    void aResetEndsEverything() {
        enter(0);
        CUstream stream = stream();
        CUdeviceptr pointer = holding(1);
        emulator.tell("op fill 1 hang");
        for (int i = 0; i < 5; i++) {
            ok(cuMemsetD32Async(pointer, 1, 1, stream));
        }
        emulator.reset();
        assertThat(emulator.count("allocations") + emulator.count("streams") + emulator.count("contexts"))
                .isZero();
        fails(cuStreamQuery(stream), CUresult.CUDA_ERROR_INVALID_HANDLE);
        fails(cuMemAlloc(pointer, 4), CUresult.CUDA_ERROR_INVALID_CONTEXT);
        enter(0);
        assertThat(ints(holding(4), 1)).containsExactly(4);
    }

    @Test
    void whatIsNotPlayedIsNotSupported() {
        enter(0);
        CUdeviceptr pointer = new CUdeviceptr();
        fails(cuMemAllocManaged(pointer, 4, 1), CUresult.CUDA_ERROR_NOT_SUPPORTED);
        assertThat(emulator.count("unsupported")).isEqualTo(1);
        assertThat(emulator.problems()).containsExactly("the emulator has no cuMemAllocManaged");
        assertThat(allocate(4)).isNotNull();
    }

    @Test
    void everySymbolOfTheBindingsIsThere(@TempDir Path folder) throws IOException, InterruptedException {
        Path bindings = folder.resolve("bindings.so");
        try (InputStream in = JCudaDriver.class.getResourceAsStream("/lib/libJCudaDriver-12.6.0-linux-x86_64.so")) {
            Files.copy(Objects.requireNonNull(in), bindings, StandardCopyOption.REPLACE_EXISTING);
        }
        List<String> needed = undefined(bindings);
        assertThat(needed).hasSize(312);
        SymbolLookup emulated = SymbolLookup.loaderLookup();
        assertThat(needed)
                .allSatisfy(name -> assertThat(emulated.find(name)).as(name).isPresent());
    }

    private static List<String> undefined(Path library) throws InterruptedException {
        try {
            Process nm = new ProcessBuilder("nm", "-D", "--undefined-only", library.toString()).start();
            String output = new String(nm.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            assertThat(nm.waitFor()).isZero();
            try (Stream<String> lines = output.lines()) {
                return lines.map(line -> line.substring(line.lastIndexOf(' ') + 1))
                        .filter(name -> name.startsWith("cu"))
                        .toList();
            }
        } catch (IOException e) {
            assumeTrue(false, "there is no nm to read the bindings with (" + e.getMessage() + ")");
            throw new AssertionError(e);
        }
    }
}

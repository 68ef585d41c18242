package dev.banyan.cuda.emulator;

import static dev.banyan.cuda.emulator.Addition.addition;
import static dev.banyan.cuda.emulator.Addition.launch;
import static dev.banyan.cuda.emulator.EmulatedGpus.allocate;
import static dev.banyan.cuda.emulator.EmulatedGpus.device;
import static dev.banyan.cuda.emulator.EmulatedGpus.enter;
import static dev.banyan.cuda.emulator.EmulatedGpus.fails;
import static dev.banyan.cuda.emulator.EmulatedGpus.holding;
import static dev.banyan.cuda.emulator.EmulatedGpus.ints;
import static dev.banyan.cuda.emulator.EmulatedGpus.ok;
import static dev.banyan.cuda.emulator.EmulatedGpus.reach;
import static dev.banyan.cuda.emulator.EmulatedGpus.stream;
import static jcuda.driver.JCudaDriver.*;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.banyan.test.Processes;
import dev.banyan.test.TestProcess;
import java.io.IOException;
import java.io.InputStream;
import java.lang.foreign.SymbolLookup;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.function.IntSupplier;
import jcuda.Pointer;
import jcuda.driver.CUDA_KERNEL_NODE_PARAMS;
import jcuda.driver.CUDA_MEMSET_NODE_PARAMS;
import jcuda.driver.CUcontext;
import jcuda.driver.CUdeviceptr;
import jcuda.driver.CUevent;
import jcuda.driver.CUfunction;
import jcuda.driver.CUgraph;
import jcuda.driver.CUgraphExec;
import jcuda.driver.CUgraphNode;
import jcuda.driver.CUresult;
import jcuda.driver.CUstream;
import jcuda.driver.CUstreamCaptureMode;
import jcuda.driver.JCudaDriver;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Faults of the emulated driver on command, and what it does not play. */
class EmulatedFaultsTest {
    @RegisterExtension
    private final Processes processes = new Processes();

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
        enter(0);
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
    }

    /** As in the driver, which asks for the end of the process. */
    @ParameterizedTest
    @ValueSource(ints = {700, 716, 719, 702, 214})
    void nothingButAResetRepairsAContext(int code) {
        enter(0);
        CUdeviceptr pointer = holding(1);
        CUcontext other = enter(1);
        emulator.tell("op fill 1 fail " + code);
        enter(0);
        ok(cuMemsetD32(pointer, 1, 1));
        fails(cuCtxSynchronize(), code);
        ok(cuDevicePrimaryCtxReset(device(0)));
        fails(cuDevicePrimaryCtxRetain(new CUcontext(), device(0)), code);
        fails(cuCtxCreate(new CUcontext(), 0, device(0)), code);
        ok(cuCtxSetCurrent(other));
        assertThat(ints(holding(2), 1)).containsExactly(2);
        emulator.reset();
        enter(0);
        assertThat(ints(holding(3), 1)).containsExactly(3);
    }

    /**
     * The nodes of a graph: a kernel of device 0, which fails; behind it a fill of device 1; and a fill before none.
     */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void whatComesAfterFailedWorkNeverStarts(boolean errors) {
        emulator.tell("failed-work " + (errors ? "errors" : "pends"));
        enter(0);
        CUdeviceptr near = holding(1);
        CUfunction add = addition();
        CUcontext second = enter(1);
        CUdeviceptr far = holding(5);
        CUdeviceptr free = holding(5);
        CUstream stream = stream();
        CUstream other = stream();
        CUgraph graph = new CUgraph();
        ok(cuGraphCreate(graph, 0));
        CUgraphNode kernel = new CUgraphNode();
        CUDA_KERNEL_NODE_PARAMS launch = new CUDA_KERNEL_NODE_PARAMS();
        launch.func = add;
        launch.gridDimX =
                launch.gridDimY = launch.gridDimZ = launch.blockDimX = launch.blockDimY = launch.blockDimZ = 1;
        launch.kernelParams = Addition.parameters(1, near, near, near);
        ok(cuGraphAddKernelNode(kernel, graph, new CUgraphNode[0], 0, launch));
        fill(graph, far, second, kernel);
        fill(graph, free, second);
        CUgraphExec exec = new CUgraphExec();
        ok(cuGraphInstantiate(exec, graph, 0));
        emulator.tell("op kernel 1 fail 700");
        ok(cuGraphLaunch(exec, stream));
        CUevent event = EmulatedGpus.recorded(stream);
        ok(cuStreamWaitEvent(other, event, 0));
        ok(cuMemsetD32Async(far, 6, 1, other));
        CUevent behind = EmulatedGpus.recorded(other);
        awaitFault(0);
        ok(cuCtxSetCurrent(second));
        int expected = errors ? CUresult.CUDA_ERROR_ILLEGAL_ADDRESS : CUresult.CUDA_ERROR_NOT_READY;
        if (errors) {
            fails(cuStreamSynchronize(stream), expected);
            fails(cuEventSynchronize(behind), expected);
        }
        fails(cuEventQuery(event), expected);
        fails(cuStreamQuery(stream), expected);
        fails(cuEventQuery(behind), expected);
        fails(cuStreamQuery(other), expected);
        CUstream third = stream();
        int[] value = new int[1];
        ok(cuMemcpyDtoHAsync(Pointer.to(value), far, 4, third));
        assertThat(value[0]).as("behind the failed node").isEqualTo(5);
        do {
            ok(cuMemcpyDtoHAsync(Pointer.to(value), free, 4, third));
        } while (value[0] == 5);
        assertThat(value[0]).as("a node that waits for none").isEqualTo(9);
        fails(cuGraphLaunch(exec, third), CUresult.CUDA_ERROR_ILLEGAL_ADDRESS);
    }

    private static void fill(CUgraph graph, CUdeviceptr target, CUcontext context, CUgraphNode... after) {
        CUDA_MEMSET_NODE_PARAMS node = new CUDA_MEMSET_NODE_PARAMS();
        node.dst = target;
        node.value = 9;
        node.elementSize = 4;
        node.width = 1;
        node.height = 1;
        ok(cuGraphAddMemsetNode(new CUgraphNode(), graph, after, after.length, node, context));
    }

    private static void awaitFault(int ordinal) {
        CUcontext context = new CUcontext();
        while (cuDevicePrimaryCtxRetain(context, device(ordinal)) == CUresult.CUDA_SUCCESS) {
            ok(cuDevicePrimaryCtxRelease(device(ordinal)));
        }
    }

    @Test
    void freesAndSynchronisationsWaitForWhatHangs() throws InterruptedException {
        CUcontext context = enter(0);
        CUstream stream = stream();
        CUdeviceptr pointer = holding(5);
        CUdeviceptr other = holding(5);
        emulator.tell("op fill 1 hang");
        ok(cuMemsetD32Async(pointer, 1, 1, stream));
        List<IntSupplier> calls =
                List.of(() -> cuMemFree(other), () -> cuStreamSynchronize(stream), JCudaDriver::cuCtxSynchronize);
        List<Thread> threads = new ArrayList<>();
        for (IntSupplier call : calls) {
            threads.add(Thread.ofPlatform().daemon().start(() -> {
                ok(cuCtxSetCurrent(context));
                ok(call.getAsInt());
            }));
        }
        for (Thread thread : threads) {
            assertThat(thread.join(Duration.ofMillis(50))).isFalse();
        }
        emulator.tell("release 0");
        for (Thread thread : threads) {
            thread.join();
        }
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

    private List<String> undefined(Path library) throws InterruptedException {
        TestProcess nm;
        try {
            nm = processes.start(new ProcessBuilder("nm", "-D", "--undefined-only", library.toString()));
        } catch (IOException e) {
            assumeTrue(false, "there is no nm to read the bindings with (" + e.getMessage() + ")");
            throw new AssertionError(e);
        }
        assertThat(nm.await()).isZero();
        return nm.out()
                .lines()
                .map(line -> line.substring(line.lastIndexOf(' ') + 1))
                .filter(name -> name.startsWith("cu"))
                .toList();
    }
}

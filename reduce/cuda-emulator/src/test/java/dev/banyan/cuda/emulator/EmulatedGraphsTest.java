package dev.banyan.cuda.emulator;

import static dev.banyan.cuda.emulator.Addition.addition;
import static dev.banyan.cuda.emulator.Addition.launch;
import static dev.banyan.cuda.emulator.Addition.parameters;
import static dev.banyan.cuda.emulator.EmulatedGpus.allocate;
import static dev.banyan.cuda.emulator.EmulatedGpus.enter;
import static dev.banyan.cuda.emulator.EmulatedGpus.event;
import static dev.banyan.cuda.emulator.EmulatedGpus.fails;
import static dev.banyan.cuda.emulator.EmulatedGpus.holding;
import static dev.banyan.cuda.emulator.EmulatedGpus.ints;
import static dev.banyan.cuda.emulator.EmulatedGpus.ok;
import static dev.banyan.cuda.emulator.EmulatedGpus.reach;
import static dev.banyan.cuda.emulator.EmulatedGpus.recorded;
import static dev.banyan.cuda.emulator.EmulatedGpus.stream;
import static jcuda.driver.JCudaDriver.*;
import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.IntSupplier;
import jcuda.driver.CUDA_KERNEL_NODE_PARAMS;
import jcuda.driver.CUDA_MEMCPY3D;
import jcuda.driver.CUDA_MEMSET_NODE_PARAMS;
import jcuda.driver.CUcontext;
import jcuda.driver.CUdeviceptr;
import jcuda.driver.CUevent;
import jcuda.driver.CUfunction;
import jcuda.driver.CUgraph;
import jcuda.driver.CUgraphExec;
import jcuda.driver.CUgraphNode;
import jcuda.driver.CUgraphNodeType;
import jcuda.driver.CUmemorytype;
import jcuda.driver.CUresult;
import jcuda.driver.CUstream;
import jcuda.driver.CUstreamCaptureMode;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Graphs of the emulated driver, captured and built by node. */
class EmulatedGraphsTest {
    /** The flag that makes a wait or record a node of the graph instead of a dependency of the capture. */
    private static final int EXTERNAL = 1;

    private CudaEmulator emulator;

    @BeforeEach
    void load() {
        emulator = EmulatedGpus.driver();
        emulator.tell("shuffle 5");
    }

    private static void capture(CUstream stream) {
        ok(cuStreamBeginCapture(stream, CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED));
    }

    private static CUgraph captured(CUstream stream) {
        CUgraph graph = new CUgraph();
        ok(cuStreamEndCapture(stream, graph));
        return graph;
    }

    private static CUgraphExec instantiate(CUgraph graph) {
        CUgraphExec exec = new CUgraphExec();
        ok(cuGraphInstantiate(exec, graph, 0));
        return exec;
    }

    private static long nodes(CUgraph graph) {
        long[] number = new long[1];
        ok(cuGraphGetNodes(graph, null, number));
        return number[0];
    }

    private static CUDA_MEMCPY3D copy(CUdeviceptr target, CUdeviceptr source, long bytes) {
        CUDA_MEMCPY3D copy = new CUDA_MEMCPY3D();
        copy.srcMemoryType = CUmemorytype.CU_MEMORYTYPE_DEVICE;
        copy.srcDevice = source;
        copy.dstMemoryType = CUmemorytype.CU_MEMORYTYPE_DEVICE;
        copy.dstDevice = target;
        copy.WidthInBytes = bytes;
        copy.Height = 1;
        copy.Depth = 1;
        return copy;
    }

    private static CUDA_KERNEL_NODE_PARAMS kernel(CUfunction function, CUdeviceptr... addresses) {
        CUDA_KERNEL_NODE_PARAMS kernel = new CUDA_KERNEL_NODE_PARAMS();
        kernel.func = function;
        kernel.gridDimX = kernel.gridDimY = kernel.gridDimZ = 1;
        kernel.blockDimX = 32;
        kernel.blockDimY = kernel.blockDimZ = 1;
        kernel.kernelParams = parameters(1, addresses);
        return kernel;
    }

    /** A launch takes 2 us, each node 1, the edge between the devices 3, and the copy 5 and 1 more for its bytes. */
    @Test
    void theClockCountsNodesAndEdges() {
        enter(1);
        CUfunction add = addition();
        CUdeviceptr far = holding(0);
        CUstream stream = stream();
        CUcontext first = enter(0);
        CUdeviceptr near = allocate(2000);
        CUgraph graph = new CUgraph();
        ok(cuGraphCreate(graph, 0));
        CUgraphNode copied = new CUgraphNode();
        ok(cuGraphAddMemcpyNode(copied, graph, new CUgraphNode[0], 0, copy(near, near, 1000), first));
        CUgraphNode added = new CUgraphNode();
        ok(cuGraphAddKernelNode(added, graph, new CUgraphNode[] {copied}, 1, kernel(add, far, far, far)));
        CUgraphExec exec = instantiate(graph);
        emulator.tell("clock 2 1 3 5 1");
        ok(cuGraphLaunch(exec, stream));
        ok(cuStreamSynchronize(stream));
        assertThat(emulator.count("clock us")).isEqualTo(2 + (1 + 5 + 1) + 3 + 1);
        ok(cuGraphLaunch(exec, stream));
        ok(cuStreamSynchronize(stream));
        assertThat(emulator.count("clock us")).isEqualTo(2 * (2 + 7 + 3 + 1));
    }

    @Test
    void captureForksAndJoinsAcrossDevices() {
        CUcontext second = enter(1);
        CUstream there = stream();
        CUfunction add = addition();
        CUdeviceptr far = holding(0);
        CUcontext first = enter(0);
        reach(second);
        CUstream here = stream();
        CUdeviceptr near = holding(1);
        ok(cuCtxSetCurrent(second));
        reach(first);
        ok(cuCtxSetCurrent(first));

        capture(here);
        CUevent fork = recorded(here);
        ok(cuStreamWaitEvent(there, fork, 0));
        ok(launch(add, there, 1, far, far, near));
        ok(cuCtxSetCurrent(second));
        CUevent join = recorded(there);
        ok(cuCtxSetCurrent(first));
        ok(cuStreamWaitEvent(here, join, 0));
        ok(cuMemcpyPeerAsync(near, first, far, second, 4, here));
        CUgraph graph = captured(here);

        assertThat(nodes(graph)).isEqualTo(2);
        assertThat(ints(near, 1)).as("nothing is done when capturing").containsExactly(1);
        CUgraphExec exec = instantiate(graph);
        ok(cuGraphDestroy(graph));
        for (int i = 0; i < 10; i++) {
            ok(cuGraphLaunch(exec, here));
        }
        ok(cuStreamSynchronize(here));
        assertThat(ints(near, 1)).containsExactly(512);
        assertThat(ints(far, 1)).containsExactly(512);
        assertThat(emulator.count("graph launches")).isEqualTo(10);
        ok(cuGraphExecDestroy(exec));
        assertThat(emulator.count("graphs") + emulator.count("nodes") + emulator.count("execs"))
                .isZero();
    }

    @Test
    void launchesAreAsynchronousAndFollowEachOther() {
        enter(0);
        CUstream stream = stream();
        CUstream other = stream();
        CUdeviceptr sum = holding(1);
        capture(stream);
        ok(launch(addition(), stream, 1, sum, sum, sum));
        CUgraphExec exec = instantiate(captured(stream));
        emulator.tell("pause");
        ok(cuGraphLaunch(exec, stream));
        ok(cuGraphLaunch(exec, other));
        ok(cuGraphExecDestroy(exec));
        fails(cuStreamQuery(other), CUresult.CUDA_ERROR_NOT_READY);
        emulator.tell("resume");
        ok(cuStreamSynchronize(other));
        assertThat(ints(sum, 1)).containsExactly(4);
    }

    @Test
    void captureRefusesWhatItCannotHold() {
        enter(0);
        CUstream stream = stream();
        CUstream other = stream();
        CUgraph graph = new CUgraph();
        CUevent outside = recorded(other);
        fails(cuStreamEndCapture(stream, graph), CUresult.CUDA_ERROR_ILLEGAL_STATE);

        capture(stream);
        fails(cuStreamSynchronize(stream), CUresult.CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
        fails(cuStreamEndCapture(stream, graph), CUresult.CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);

        capture(stream);
        fails(cuStreamWaitEvent(stream, outside, 0), CUresult.CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
        fails(cuStreamEndCapture(stream, graph), CUresult.CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);

        CUdeviceptr pointer = holding(0);
        capture(stream);
        CUevent fork = recorded(stream);
        fails(cuEventQuery(fork), CUresult.CUDA_ERROR_CAPTURED_EVENT);
        ok(cuStreamWaitEvent(other, fork, 0));
        ok(cuMemsetD32Async(pointer, 1, 1, other));
        fails(cuStreamEndCapture(stream, graph), CUresult.CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
        ok(cuMemsetD32Async(pointer, 1, 1, other));
        ok(cuStreamSynchronize(other));

        ok(cuStreamBeginCapture(stream, CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_GLOBAL));
        fails(cuMemAlloc(new CUdeviceptr(), 4), CUresult.CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
        fails(cuStreamEndCapture(stream, graph), CUresult.CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
        assertThat(emulator.count("graphs") + emulator.count("nodes")).isZero();
    }

    @Test
    void queriesSpoilGlobalCapturesUnlessTheirThreadIsRelaxed() {
        enter(0);
        CUstream stream = new CUstream();
        ok(cuStreamCreate(stream, 0));
        CUstream other = stream();
        CUevent event = recorded(other);
        ok(cuStreamSynchronize(other));
        List<IntSupplier> queries = List.of(() -> cuEventQuery(event), () -> cuStreamQuery(other));
        for (IntSupplier query : queries) {
            ok(cuStreamBeginCapture(stream, CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_GLOBAL));
            int refused = CompletableFuture.supplyAsync(query::getAsInt).join();
            fails(refused, CUresult.CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
            fails(cuStreamEndCapture(stream, new CUgraph()), CUresult.CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
        }
        ok(cuStreamBeginCapture(stream, CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_GLOBAL));
        int[] mode = {CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED};
        ok(cuThreadExchangeStreamCaptureMode(mode));
        queries.forEach(query -> ok(query.getAsInt()));
        fails(cuStreamQuery(null), CUresult.CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
        ok(cuThreadExchangeStreamCaptureMode(mode));
        captured(stream);
    }

    @Test
    void graphsAreBuiltByNode() {
        CUcontext context = enter(0);
        CUstream stream = stream();
        CUdeviceptr a = holding(3);
        CUdeviceptr b = holding(4);
        CUdeviceptr sum = holding(0);
        CUdeviceptr out = allocate(4);
        CUgraph graph = new CUgraph();
        ok(cuGraphCreate(graph, 0));
        CUgraphNode fill = new CUgraphNode();
        CUDA_MEMSET_NODE_PARAMS five = new CUDA_MEMSET_NODE_PARAMS();
        five.dst = a;
        five.elementSize = 4;
        five.value = 5;
        five.width = 1;
        five.height = 1;
        ok(cuGraphAddMemsetNode(fill, graph, null, 0, five, context));
        CUgraphNode add = new CUgraphNode();
        CUfunction function = addition();
        ok(cuGraphAddKernelNode(add, graph, new CUgraphNode[] {fill}, 1, kernel(function, sum, a, b)));
        CUgraphNode copied = new CUgraphNode();
        ok(cuGraphAddMemcpyNode(copied, graph, new CUgraphNode[] {add}, 1, copy(out, sum, 4), context));
        CUevent event = event();
        CUgraphNode record = new CUgraphNode();
        ok(cuGraphAddEventRecordNode(record, graph, new CUgraphNode[] {copied}, 1, event));

        int[] type = new int[1];
        ok(cuGraphNodeGetType(copied, type));
        assertThat(type[0]).isEqualTo(CUgraphNodeType.CU_GRAPH_NODE_TYPE_MEMCPY);
        long[] number = new long[1];
        ok(cuGraphGetRootNodes(graph, null, number));
        assertThat(number[0]).isEqualTo(1);
        ok(cuGraphGetEdges(graph, null, null, number));
        assertThat(number[0]).isEqualTo(3);
        fails(
                cuGraphAddDependencies(graph, new CUgraphNode[] {record}, new CUgraphNode[] {fill}, 1),
                CUresult.CUDA_ERROR_INVALID_VALUE);

        CUgraphExec exec = instantiate(graph);
        ok(cuGraphLaunch(exec, stream));
        ok(cuStreamSynchronize(stream));
        assertThat(ints(out, 1)).containsExactly(9);
        ok(cuEventQuery(event));

        ok(cuGraphExecKernelNodeSetParams(exec, add, kernel(function, sum, b, b)));
        ok(cuGraphExecMemcpyNodeSetParams(exec, copied, copy(b, sum, 4), context));
        ok(cuGraphLaunch(exec, stream));
        ok(cuStreamSynchronize(stream));
        assertThat(ints(b, 1)).containsExactly(8);
        assertThat(ints(out, 1)).containsExactly(9);
        fails(
                cuGraphAddMemcpyNode(copied, graph, null, 0, copy(out, sum, 8), context),
                CUresult.CUDA_ERROR_INVALID_VALUE);
    }

    @Test
    void graphsHoldGraphs() {
        enter(0);
        CUstream stream = stream();
        CUdeviceptr sum = holding(1);
        CUfunction add = addition();
        capture(stream);
        ok(launch(add, stream, 1, sum, sum, sum));
        ok(launch(add, stream, 1, sum, sum, sum));
        CUgraph inner = captured(stream);
        CUgraph outer = new CUgraph();
        ok(cuGraphCreate(outer, 0));
        CUgraphNode[] last = new CUgraphNode[0];
        for (int i = 0; i < 3; i++) {
            CUgraphNode node = new CUgraphNode();
            ok(cuGraphAddChildGraphNode(node, outer, last, last.length, inner));
            last = new CUgraphNode[] {node};
        }
        ok(cuGraphLaunch(instantiate(outer), stream));
        ok(cuStreamSynchronize(stream));
        assertThat(ints(sum, 1)).containsExactly(64);
    }

    @Test
    void anEmptyGraphEnds() {
        enter(0);
        CUstream stream = stream();
        capture(stream);
        CUgraph graph = captured(stream);
        ok(cuGraphLaunch(instantiate(graph), stream));
        ok(cuStreamSynchronize(stream));
    }

    @Test
    void externalEventsAreNodes() {
        enter(0);
        CUstream stream = stream();
        CUstream other = stream();
        CUdeviceptr pointer = holding(0);
        CUevent before = event();
        CUevent after = event();
        capture(stream);
        ok(cuStreamWaitEvent(stream, before, EXTERNAL));
        ok(launch(addition(), stream, 1, pointer, pointer, pointer));
        ok(cuEventRecordWithFlags(after, stream, EXTERNAL));
        CUgraph graph = captured(stream);
        assertThat(nodes(graph)).isEqualTo(3);
        CUgraphExec exec = instantiate(graph);
        emulator.tell("op fill 1 hang");
        ok(cuMemsetD32Async(pointer, 21, 1, other));
        ok(cuEventRecord(before, other));
        ok(cuGraphLaunch(exec, stream));
        fails(cuStreamQuery(stream), CUresult.CUDA_ERROR_NOT_READY);
        emulator.tell("release 0");
        ok(cuStreamSynchronize(stream));
        ok(cuEventQuery(after));
        assertThat(ints(pointer, 1)).containsExactly(42);
    }
}

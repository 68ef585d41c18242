package dev.banyan.cuda;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import dev.banyan.config.Config;
import dev.banyan.cuda.emulator.CudaEmulator;
import dev.banyan.cuda.internal.graph.GraphCache;
import dev.banyan.cuda.internal.graph.Moves;
import dev.banyan.cuda.type.CudaException;
import dev.banyan.cuda.type.PeerRule;
import dev.banyan.reduce.CollectiveCall;
import dev.banyan.reduce.Communicator;
import dev.banyan.reduce.backend.CollectiveTimeoutException;
import dev.banyan.schedule.plan.AlgorithmChoice;
import dev.banyan.schedule.plan.Planner;
import dev.banyan.schedule.plan.SizeRules;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import dev.banyan.topology.Machine;
import dev.banyan.topology.Presets;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Whatever goes wrong in the driver ends in an exception, leaves nothing behind, and hurts nobody else. */
class CudaFaultTest {
    private static final Machine MACHINE = Presets.find("p3.16xlarge").orElseThrow();
    private static final int[] DEVICES = IntStream.range(0, 8).toArray();
    private static final long LIMIT = 64 << 20;
    private static final int COUNT = 5000;

    /** Calls of the driver that wait for work of the device. */
    private static final List<String> WAITING_CALLS = List.of(
            "cuMemFree",
            "cuMemFreeHost",
            "cuMemFreeAsync",
            "cuMemHostUnregister",
            "cuStreamSynchronize",
            "cuEventSynchronize",
            "cuCtxSynchronize",
            "cuStreamDestroy",
            "cuModuleUnload",
            "cuGraphExecDestroy",
            "cuDevicePrimaryCtxRelease",
            "cuDevicePrimaryCtxReset",
            "cuMemcpyHtoD",
            "cuMemcpyDtoH");

    private final CudaEmulator emulator = EmulatedProcess.begin();
    /** Pieces are copied before they are reduced. */
    private final Tuning copies =
            new Tuning(new Moves(2048, 64, 2, 0), GraphCache.MOST_NODES, new FaultClock(emulator), false);

    static Stream<String> failingCalls() {
        return Stream.of(
                "fail cuDeviceGetCount 1 999",
                "fail cuDevicePrimaryCtxRetain 1 2",
                "fail cuDevicePrimaryCtxRetain 8 46",
                "fail cuStreamCreate 1 2",
                "fail cuEventCreate 1 2",
                "fail cuCtxSetCurrent 1 201",
                "fail cuCtxSetCurrent 40 201",
                "fail cuMemAlloc 1 2",
                "fail cuMemAlloc 8 2",
                "fail cuMemAlloc 9 2",
                "fail cuMemAlloc 16 2",
                "fail cuMemsetD8Async 3 719",
                "fail cuMemHostAlloc 1 2",
                "fail cuMemHostGetDevicePointer 1 1",
                "fail cuCtxEnablePeerAccess 1 999",
                "fail cuCtxEnablePeerAccess 5 999",
                "fail cuDeviceCanAccessPeer 3 101",
                "fail cuPointerGetAttribute 6 719",
                "fail cuModuleLoadDataEx 1 218",
                "fail cuModuleLoadDataEx 2 209",
                "fail cuModuleGetFunction 1 500",
                "fail cuGraphCreate 1 2",
                "fail cuGraphAddKernelNode 1 1",
                "fail cuGraphAddKernelNode 11 2",
                "fail cuGraphAddMemcpyNode 1 1",
                "fail cuGraphAddMemcpyNode 23 2",
                "fail cuGraphInstantiateWithFlags 1 2",
                "fail cuGraphLaunch 1 719",
                "fail cuGraphLaunch 2 700",
                "fail cuEventRecord 1 719",
                "fail cuEventRecord 2 400",
                "fail cuEventQuery 1 719");
    }

    static Stream<String> failingWork() {
        return Stream.of(
                "op kernel 1 fail 700",
                "op kernel 4 fail 716",
                "op kernel 20 fail 719",
                "op kernel 61 fail 214",
                "op copy 1 fail 719",
                "op copy 17 fail 700",
                "op peer 1 fail 719",
                "op peer 50 fail 702",
                "op any 100 fail 719",
                "op kernel 1 lose 3 46",
                "op kernel 9 lose 0 46",
                "op peer 20 lose 7 46",
                "op copy 2 lose 5 999");
    }

    static Stream<String> stuckWork() {
        return Stream.of(
                "op kernel 1 hang",
                "op kernel 30 hang",
                "op copy 1 hang",
                "op peer 1 hang",
                "op peer 40 hang",
                "op any 77 hang",
                "op copy 90 hang");
    }

    @ParameterizedTest
    @MethodSource("failingCalls")
    void aFailingCallIsAnException(String fault) {
        emulator.tell(fault);
        Throwable thrown = catchThrowable(() -> runTwice(() -> {}));
        assertThat(thrown).isInstanceOf(CudaException.class);
        assertThat(thrown.getMessage()).contains("CUDA_ERROR_");
        nothingIsLeftAndTheNextOneWorks();
    }

    /** Returns whether what waits for failed work stays where it is or ends with the error, the first call fails. */
    @ParameterizedTest
    @MethodSource("failingWork")
    void failingWorkNamesDeviceStepAndErrorAndEndsTheProcess(String fault) {
        for (String mode : List.of("pends", "errors")) {
            Map<String, Long> calls = new HashMap<>();
            assertThatThrownBy(() -> run(
                            copies,
                            () -> emulator.tell("failed-work " + mode, fault),
                            () -> WAITING_CALLS.forEach(call -> calls.put(call, emulator.count("calls " + call)))))
                    .isInstanceOf(CudaException.class)
                    .hasMessageMatching("(?s)all_reduce by .* failed on device [0-7] in the .* of .*: CUDA_ERROR_\\w+;"
                            + " end this process and start a new one, .*");
            WAITING_CALLS.forEach(call -> assertThat(emulator.count("calls " + call))
                    .as("%s after the failure", call)
                    .isEqualTo(calls.get(call)));
            long all = emulator.count("calls");
            assertThatThrownBy(() -> new CudaBackend(new int[] {6, 7}, FaultClock.TIMEOUT, PeerRule.ALL, LIMIT))
                    .isInstanceOf(CudaException.class)
                    .hasMessageMatching("CUDA cannot be used again in this process, as device [0-7] failed with"
                            + " CUDA_ERROR_\\w+; end this process and start a new one");
            assertThat(emulator.count("calls")).isEqualTo(all);
            EmulatedProcess.beginAnother(emulator);
        }
        nothingIsLeftAndTheNextOneWorks();
    }

    /** A copy to or from a device meets its error as well. */
    @Test
    void aFailingCopyEndsTheProcessToo() {
        try (CudaBackend backend = new CudaBackend(DEVICES, FaultClock.TIMEOUT, PeerRule.ALL, LIMIT, copies)) {
            MemorySegment buffer = backend.allocate(3, 64);
            emulator.tell("op copy 1 fail 214");
            assertThatThrownBy(() -> backend.copyToDevice(buffer, MemorySegment.ofArray(new byte[64])))
                    .isInstanceOf(CudaException.class)
                    .hasMessageMatching(
                            ".* on device 3 failed: CUDA_ERROR_ECC_UNCORRECTABLE; end this process and start a"
                                    + " new one, without that device if it is lost");
            assertThat(backend.failure()).isInstanceOf(CudaException.class);
        }
        EmulatedProcess.beginAnother(emulator);
        nothingIsLeftAndTheNextOneWorks();
    }

    @Test
    void aCloseFindsAnErrorThatNoCallHasMet() {
        CudaBackend backend = new CudaBackend(DEVICES, FaultClock.TIMEOUT, PeerRule.ALL, LIMIT, copies);
        backend.allocate(2, 64);
        emulator.tell("lose 2 214");
        long frees = emulator.count("calls cuMemFree");
        backend.close();
        assertThat(emulator.count("calls cuMemFree")).isEqualTo(frees);
        assertThatThrownBy(() -> new CudaBackend(new int[] {0}, FaultClock.TIMEOUT, PeerRule.ALL, LIMIT, copies))
                .hasMessageContaining("device 2 failed with CUDA_ERROR_ECC_UNCORRECTABLE; end this process");
        EmulatedProcess.beginAnother(emulator);
    }

    @Test
    void anErrorIsFoundWhereAnotherDeviceHangs() {
        assertThatThrownBy(() -> run(
                        copies.by(FaultClock.STOPPED),
                        () -> emulator.tell("op kernel 1 hang", "op kernel 2 lose 6 214"),
                        () -> {}))
                .isInstanceOf(CudaException.class)
                .hasMessageContaining("failed on device 6")
                .hasMessageContaining("CUDA_ERROR_ECC_UNCORRECTABLE");
        EmulatedProcess.beginAnother(emulator);
    }

    /** The leaves of a broadcast copy nothing. */
    @Test
    void theLostDeviceIsNamedWhereItHasNothingLeftToDo() {
        Config config = Config.builder()
                .set(Planner.ALGORITHM, SizeRules.always(AlgorithmChoice.SINGLE_TREE))
                .build();
        try (CudaBackend backend = new CudaBackend(
                        DEVICES, FaultClock.TIMEOUT, PeerRule.ALL, LIMIT, copies.by(FaultClock.STOPPED));
                Communicator cuda = Communicator.create(MACHINE, config, backend)) {
            List<MemorySegment> buffers = buffers(cuda);
            emulator.tell("op peer 1 hang", "op peer 2 lose 6 214");
            assertThatThrownBy(() -> cuda.run(CollectiveCall.broadcast(buffers, COUNT, DataType.F32)))
                    .isInstanceOf(CudaException.class)
                    .hasMessageContaining(
                            "failed on device 6 in the wait of broadcast by single-tree for other devices")
                    .hasMessageContaining("CUDA_ERROR_ECC_UNCORRECTABLE");
        }
        EmulatedProcess.beginAnother(emulator);
    }

    @ParameterizedTest
    @MethodSource("stuckWork")
    void stuckWorkEndsInATimeout(String fault) {
        assertThatThrownBy(() -> runTwice(() -> emulator.tell(fault)))
                .isInstanceOf(CollectiveTimeoutException.class)
                .hasMessageMatching(
                        "(?s)all_reduce by .* did not end within 2592000000 ms: device [0-7] has not done the .*");
        emulator.tell("release 0");
        nothingIsLeftAndTheNextOneWorks();
    }

    @Test
    void everyFutureFailsAndOtherCommunicatorsLiveOn() {
        Config config = Config.builder()
                .set(Planner.ALGORITHM, SizeRules.always(AlgorithmChoice.RING))
                .set(Communicator.TIMEOUT, FaultClock.TIMEOUT)
                .build();
        try (CudaBackend sound = new CudaBackend(
                        new int[] {4, 5, 6, 7},
                        FaultClock.TIMEOUT,
                        PeerRule.ALL,
                        LIMIT,
                        copies.by(FaultClock.STOPPED));
                Communicator other = Communicator.create(MACHINE.subset(4, 5, 6, 7), config, sound);
                CudaBackend backend =
                        new CudaBackend(new int[] {0, 1, 2, 3}, FaultClock.TIMEOUT, PeerRule.ALL, LIMIT, copies);
                Communicator cuda = Communicator.create(MACHINE.subset(0, 1, 2, 3), config, backend)) {
            List<MemorySegment> buffers = buffers(cuda);
            emulator.tell("op any 5 hang");
            List<CompletableFuture<Void>> futures = new ArrayList<>();
            for (int i = 0; i < 4; i++) {
                futures.add(cuda.runAsync(CollectiveCall.allReduce(buffers, COUNT, DataType.F32, ReduceOp.SUM)));
            }
            for (CompletableFuture<Void> future : futures) {
                assertThatThrownBy(future::join).hasMessageContaining("did not end within");
            }
            assertThatThrownBy(() -> cuda.allReduce(buffers, COUNT, DataType.F32, ReduceOp.SUM))
                    .hasMessageContaining("broken");
            assertRight(other, buffers(other));
            emulator.tell("release 0");
        }
        nothingIsLeftAndTheNextOneWorks();
    }

    @Test
    void theCommunicatorReportsAFailureOfADevice() {
        try (CudaBackend backend = new CudaBackend(DEVICES, FaultClock.TIMEOUT, PeerRule.ALL, LIMIT, copies);
                Communicator cuda = Communicator.create(MACHINE, Config.defaults(), backend)) {
            List<MemorySegment> buffers = buffers(cuda);
            assertThat(cuda.failure()).isEmpty();
            emulator.tell("op kernel 1 fail 700");
            CompletableFuture<Void> call =
                    cuda.runAsync(CollectiveCall.allReduce(buffers, COUNT, DataType.F32, ReduceOp.SUM));
            assertThatThrownBy(call::join).hasCauseInstanceOf(CudaException.class);
            assertThat(cuda.failure()).containsInstanceOf(CudaException.class);
        }
        EmulatedProcess.beginAnother(emulator);
        nothingIsLeftAndTheNextOneWorks();
    }

    /** One call, which fails. */
    private void run(Tuning tuning, Runnable before, Runnable after) {
        Config config = Config.builder()
                .set(Planner.ALGORITHM, SizeRules.always(AlgorithmChoice.MULTI_TREE))
                .build();
        try (CudaBackend backend = new CudaBackend(DEVICES, FaultClock.TIMEOUT, PeerRule.ALL, LIMIT, tuning);
                Communicator cuda = Communicator.create(MACHINE, config, backend)) {
            List<MemorySegment> buffers = buffers(cuda);
            before.run();
            try {
                cuda.allReduce(buffers, COUNT, DataType.F32, ReduceOp.SUM);
            } finally {
                after.run();
            }
        }
    }

    /** @param beforeRuns what happens when the buffers are there */
    private void runTwice(Runnable beforeRuns) {
        Config config = Config.builder()
                .set(Planner.ALGORITHM, SizeRules.always(AlgorithmChoice.MULTI_TREE))
                .build();
        try (CudaBackend backend = new CudaBackend(DEVICES, FaultClock.TIMEOUT, PeerRule.ALL, LIMIT, copies);
                Communicator cuda = Communicator.create(MACHINE, config, backend)) {
            List<MemorySegment> buffers = buffers(cuda);
            beforeRuns.run();
            var first = cuda.runAsync(CollectiveCall.allReduce(buffers, COUNT, DataType.F32, ReduceOp.SUM));
            var second = cuda.runAsync(CollectiveCall.allReduce(buffers, COUNT, DataType.F32, ReduceOp.SUM));
            CompletableFuture<Void> both =
                    CompletableFuture.allOf(first, second).exceptionally(e -> null);
            both.join();
            first.join();
            second.join();
        } catch (CompletionException e) {
            throw e.getCause() instanceof RuntimeException cause ? cause : e;
        }
    }

    private void nothingIsLeftAndTheNextOneWorks() {
        Config config = Config.builder()
                .set(Planner.ALGORITHM, SizeRules.always(AlgorithmChoice.MULTI_TREE))
                .build();
        try (CudaBackend backend = new CudaBackend(DEVICES, FaultClock.TIMEOUT, PeerRule.ALL, LIMIT, copies);
                Communicator cuda = Communicator.create(MACHINE, config, backend)) {
            assertRight(cuda, buffers(cuda));
        }
        for (String kind :
                List.of("contexts", "streams", "events", "modules", "graphs", "execs", "bytes", "host allocations")) {
            assertThat(emulator.count(kind)).as(kind).isZero();
        }
    }

    private static List<MemorySegment> buffers(Communicator cuda) {
        MemorySegment ones = MemorySegment.ofArray(new float[COUNT]);
        for (int i = 0; i < COUNT; i++) {
            ones.setAtIndex(ValueLayout.JAVA_FLOAT, i, 1);
        }
        List<MemorySegment> buffers = new ArrayList<>();
        for (int rank = 0; rank < cuda.size(); rank++) {
            buffers.add(cuda.allocate(rank, 4 * COUNT));
            cuda.copyToDevice(buffers.getLast(), ones);
        }
        return buffers;
    }

    private static void assertRight(Communicator cuda, List<MemorySegment> ones) {
        cuda.allReduce(ones, COUNT, DataType.F32, ReduceOp.SUM);
        float[] got = new float[COUNT];
        for (MemorySegment buffer : ones) {
            cuda.copyToHost(buffer, MemorySegment.ofArray(got));
            assertThat(got).containsOnly(cuda.size());
        }
    }
}

package dev.banyan.cuda;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.banyan.config.Config;
import dev.banyan.cuda.emulator.CudaEmulator;
import dev.banyan.cuda.emulator.EmulatedGpus;
import dev.banyan.cuda.internal.driver.ProcessFault;
import dev.banyan.cuda.type.CudaException;
import dev.banyan.cuda.type.CudaStreams;
import dev.banyan.cuda.type.PeerRule;
import dev.banyan.reduce.CollectiveCall;
import dev.banyan.reduce.Communicator;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import dev.banyan.topology.Machine;
import dev.banyan.topology.Presets;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.stream.IntStream;
import jcuda.driver.CUdeviceptr;
import jcuda.driver.CUgraph;
import jcuda.driver.CUstream;
import jcuda.driver.CUstreamCaptureMode;
import jcuda.driver.JCudaDriver;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * Collectives while another thread of the caller captures a graph, in the mode that lets no thread of the process make
 * calls that could spoil it, and on a stream that the default stream waits for.
 */
class CallerCaptureTest {
    private static final Machine TWO = Presets.find("p3.16xlarge").orElseThrow().subset(0, 1);
    private static final Duration PATIENCE = FaultClock.TIMEOUT;
    private static final int COUNT = 1000;

    private final CudaEmulator emulator = EmulatedProcess.begin();
    /** A capture ends on the thread that began it. */
    private final ExecutorService caller = Executors.newSingleThreadExecutor();

    private final CUstream stream = new CUstream();
    private CUdeviceptr memory = new CUdeviceptr();

    @BeforeEach
    void beginCapture() {
        onCaller(() -> {
            EmulatedGpus.enter(0);
            memory = EmulatedGpus.allocate(4);
            EmulatedGpus.ok(JCudaDriver.cuStreamCreate(stream, 0));
            EmulatedGpus.ok(
                    JCudaDriver.cuStreamBeginCapture(stream, CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_GLOBAL));
            EmulatedGpus.ok(JCudaDriver.cuMemsetD32Async(memory, 5, 1, stream));
        });
    }

    @AfterEach
    void endCapture() {
        onCaller(() -> {
            CUgraph graph = new CUgraph();
            EmulatedGpus.ok(JCudaDriver.cuStreamEndCapture(stream, graph));
            assertThat(emulator.count("nodes")).as("what was captured").isEqualTo(1);
            EmulatedGpus.ok(JCudaDriver.cuGraphDestroy(graph));
            EmulatedGpus.ok(JCudaDriver.cuStreamDestroy(stream));
            EmulatedGpus.ok(JCudaDriver.cuMemFree(memory));
            EmulatedGpus.ok(JCudaDriver.cuDevicePrimaryCtxRelease(EmulatedGpus.device(0)));
        });
        caller.close();
        assertThat(ProcessFault.isThere()).as("a fault of the process").isFalse();
        assertThat(emulator.problems()).isEmpty();
        assertThat(emulator.count("contexts")).isZero();
    }

    private void onCaller(Runnable work) {
        CompletableFuture.runAsync(work, caller).join();
    }

    private static CudaBackend backend() {
        return new CudaBackend(
                new int[] {0, 1}, PATIENCE, PeerRule.ALL, 64 << 20, Tuning.DEFAULT.by(FaultClock.STOPPED));
    }

    @Test
    void collectivesEndWell() {
        try (CudaBackend backend = backend();
                Communicator cuda = Communicator.create(TWO, Config.defaults(), backend)) {
            List<MemorySegment> buffers = IntStream.range(0, 2)
                    .mapToObj(rank -> cuda.allocate(rank, 4L * COUNT))
                    .toList();
            int[] values = new int[COUNT];
            Arrays.fill(values, 1);
            buffers.forEach(buffer -> cuda.copyToDevice(buffer, MemorySegment.ofArray(values)));
            cuda.allReduce(buffers, COUNT, DataType.I32, ReduceOp.SUM);
            emulator.tell("pause");
            CompletableFuture<Void> begun =
                    cuda.runAsync(CollectiveCall.allReduce(buffers, COUNT, DataType.I32, ReduceOp.SUM));
            emulator.tell("resume");
            begun.join();
            cuda.copyToHost(buffers.getLast(), MemorySegment.ofArray(values));
            assertThat(values).containsOnly(4);
        }
    }

    @Test
    void aCollectiveIsNoPartOfACapture() {
        try (CudaBackend backend = backend();
                Communicator cuda = Communicator.create(TWO, Config.defaults(), backend)) {
            List<MemorySegment> buffers = IntStream.range(0, 2)
                    .mapToObj(rank -> cuda.allocate(rank, 4L * COUNT))
                    .toList();
            CollectiveCall call = CollectiveCall.allReduce(buffers, COUNT, DataType.I32, ReduceOp.SUM);
            CudaStreams streams = new CudaStreams(List.of(stream, stream));
            assertThatThrownBy(() -> cuda.enqueue(call, streams).join())
                    .hasStackTraceContaining("the stream of rank 0 captures a graph");
            cuda.run(call);
        }
    }

    /** A call that the driver refuses lets all devices be asked for faults. */
    @Test
    void aRefusedCallIsNoFault() {
        try (CudaBackend backend = backend()) {
            emulator.tell("fail cuMemCreate 1 2");
            assertThatThrownBy(() -> backend.allocate(0, 64)).isInstanceOf(CudaException.class);
            assertThat(backend.failure()).isNull();
        }
    }
}

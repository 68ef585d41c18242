package dev.banyan.cuda;

import static org.assertj.core.api.Assertions.assertThat;

import dev.banyan.cuda.emulator.CudaEmulator;
import dev.banyan.cuda.emulator.EmulatedGpus;
import dev.banyan.cuda.internal.driver.DeviceAddress;
import dev.banyan.cuda.internal.driver.DriverStream;
import dev.banyan.cuda.type.CudaStreams;
import dev.banyan.reduce.CollectiveCall;
import dev.banyan.reduce.Communicator;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.ObjIntConsumer;
import java.util.stream.IntStream;
import jcuda.driver.CUstream_flags;
import jcuda.driver.JCudaDriver;

/** A stream of each rank on its emulated GPU, in which a test puts a sum between work of its own. */
final class CallersStreams {
    private static final int COUNT = 1000;

    private final CudaEmulator emulator;
    private final int[] gpus;
    private final List<DriverStream> streams = new ArrayList<>();

    /** @param gpus the GPU of each rank */
    CallersStreams(CudaEmulator emulator, int... gpus) {
        this.emulator = emulator;
        this.gpus = gpus.clone();
        for (int gpu : gpus) {
            EmulatedGpus.enter(gpu);
            DriverStream stream = new DriverStream();
            EmulatedGpus.ok(JCudaDriver.cuStreamCreate(stream, CUstream_flags.CU_STREAM_NON_BLOCKING));
            streams.add(stream);
        }
    }

    /** Returns the sum of 1,000 integers of each rank. */
    static CollectiveCall sum(Communicator gpus) {
        List<MemorySegment> buffers = IntStream.range(0, gpus.size())
                .mapToObj(rank -> gpus.allocate(rank, 4 * COUNT))
                .toList();
        return CollectiveCall.allReduce(buffers, COUNT, DataType.I32, ReduceOp.SUM);
    }

    /** Returns the first streams, by their handles. */
    CudaStreams first(int ranks) {
        return CudaStreams.of(streams.subList(0, ranks).stream()
                .mapToLong(DriverStream::handle)
                .toArray());
    }

    /**
     * Sets the buffers, sums them up and copies them, all enqueued while the GPUs stand still, and checks the copies.
     *
     * @param call {@link #sum}, which has run before
     */
    void checkOrder(Communicator communicator, CollectiveCall call) {
        int ranks = communicator.size();
        List<MemorySegment> buffers = call.outputs();
        List<MemorySegment> copies = sum(communicator).outputs();
        emulator.tell("pause");
        for (int rank = 0; rank < ranks; rank++) {
            EmulatedGpus.enter(gpus[rank]);
            EmulatedGpus.ok(JCudaDriver.cuMemsetD32Async(
                    new DeviceAddress(buffers.get(rank).address()), rank + 5, COUNT, streams.get(rank)));
        }
        CompletableFuture<Void> ended = communicator.enqueue(call, first(ranks));
        for (int rank = 0; rank < ranks; rank++) {
            EmulatedGpus.enter(gpus[rank]);
            EmulatedGpus.ok(JCudaDriver.cuMemcpyDtoDAsync(
                    new DeviceAddress(copies.get(rank).address()),
                    new DeviceAddress(buffers.get(rank).address()),
                    4 * COUNT,
                    streams.get(rank)));
        }
        assertThat(ended).isNotDone();
        emulator.tell("resume");
        for (int rank = 0; rank < ranks; rank++) {
            EmulatedGpus.enter(gpus[rank]);
            EmulatedGpus.ok(JCudaDriver.cuStreamSynchronize(streams.get(rank)));
            int[] values = new int[COUNT];
            communicator.copyToHost(copies.get(rank), MemorySegment.ofArray(values));
            assertThat(values)
                    .containsOnly(IntStream.range(0, ranks).map(r -> r + 5).sum());
        }
        ended.join();
    }

    /**
     * Runs calls that start together between work in the streams that nothing orders between GPUs: the buffers get
     * their bytes just before, and are copied and overwritten at once behind them.
     *
     * @param buffers of each rank in turn
     * @return copies of what the calls left in the buffers
     */
    List<MemorySegment> run(Communicator communicator, List<CollectiveCall> calls, List<MemorySegment> buffers) {
        int ranks = communicator.size();
        List<MemorySegment> sources = new ArrayList<>();
        List<MemorySegment> copies = new ArrayList<>();
        for (int b = 0; b < buffers.size(); b++) {
            MemorySegment host =
                    MemorySegment.ofArray(new byte[(int) buffers.get(b).byteSize()]);
            communicator.copyToHost(buffers.get(b), host);
            sources.add(communicator.allocate(b % ranks, host.byteSize()));
            communicator.copyToDevice(sources.get(b), host);
            copies.add(communicator.allocate(b % ranks, host.byteSize()));
        }
        // A plan is made while copies go on.
        communicator.runAll(calls);
        for (MemorySegment buffer : buffers) {
            communicator.copyToDevice(buffer, MemorySegment.ofArray(new byte[(int) buffer.byteSize()]));
        }
        emulator.tell("pause");
        eachBuffer(buffers, ranks, (stream, b) -> copy(buffers.get(b), sources.get(b), stream));
        CompletableFuture<Void> ended = calls.size() == 1
                ? communicator.enqueue(calls.getFirst(), first(ranks))
                : communicator.enqueueAll(calls, first(ranks));
        eachBuffer(buffers, ranks, (stream, b) -> copy(copies.get(b), buffers.get(b), stream));
        eachBuffer(
                buffers,
                ranks,
                (stream, b) -> EmulatedGpus.ok(JCudaDriver.cuMemsetD8Async(
                        new DeviceAddress(buffers.get(b).address()),
                        (byte) 0x5a,
                        buffers.get(b).byteSize(),
                        stream)));
        emulator.tell("resume");
        for (int rank = 0; rank < ranks; rank++) {
            EmulatedGpus.enter(gpus[rank]);
            EmulatedGpus.ok(JCudaDriver.cuStreamSynchronize(streams.get(rank)));
        }
        ended.join();
        return copies;
    }

    private void eachBuffer(List<MemorySegment> buffers, int ranks, ObjIntConsumer<DriverStream> work) {
        for (int b = 0; b < buffers.size(); b++) {
            if (buffers.get(b).byteSize() > 0) {
                EmulatedGpus.enter(gpus[b % ranks]);
                work.accept(streams.get(b % ranks), b);
            }
        }
    }

    private static void copy(MemorySegment to, MemorySegment from, DriverStream stream) {
        EmulatedGpus.ok(JCudaDriver.cuMemcpyDtoDAsync(
                new DeviceAddress(to.address()), new DeviceAddress(from.address()), from.byteSize(), stream));
    }
}

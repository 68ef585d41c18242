package dev.banyan.djl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import ai.djl.engine.Engine;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.Shape;
import dev.banyan.config.Config;
import dev.banyan.cuda.emulator.CudaEmulator;
import dev.banyan.cuda.type.CudaException;
import dev.banyan.djl.internal.processes.Processes;
import dev.banyan.djl.internal.server.Buckets;
import dev.banyan.djl.internal.server.GpuBatches;
import dev.banyan.djl.internal.torch.Slot;
import dev.banyan.kvstore.StoreSettings;
import dev.banyan.reduce.CollectiveCall;
import dev.banyan.reduce.Communicator;
import dev.banyan.schedule.type.DataType;
import dev.banyan.topology.Machine;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Trains some of ResNet-50's parameters on four emulated GPUs, whose memory takes the place of PyTorch's. */
class GpuBatchesTest {
    private static final int GPUS = 4;
    /** One of so many parameters of ResNet-50 is trained, to keep the test short. */
    private static final int PART = 4;
    /** Parameters are shorter than ResNet-50's by this factor. */
    private static final int SCALE = 256;
    /** The lengths of the parameters, from the first layer to the last. */
    private static final List<Long> COUNTS = IntStream.range(
                    0, ResNet50.counts().size())
            .filter(i -> i % PART == 0)
            .mapToObj(i -> Math.ceilDiv(ResNet50.counts().get(i), (long) SCALE))
            .toList();
    /** The driver's functions in which the calling thread waits until devices have done their work. */
    private static final List<String> WAITING =
            List.of("cuStreamSynchronize", "cuEventSynchronize", "cuCtxSynchronize", "cuMemcpyDtoH", "cuMemcpyHtoD");

    private final CudaEmulator emulator = CudaEmulator.load();
    private final Communicator gpus = Communicator.onGpus(
            Machine.preset("p3.8xlarge"),
            Config.defaults(),
            IntStream.range(0, GPUS).toArray());
    private final GpuBatches batches = new GpuBatches(gpus);
    private final List<GpuBatches.Arrays> gradients = COUNTS.stream()
            .map(count -> new GpuBatches.Arrays(gpus.allocateAll(count * Float.BYTES), count, DataType.F32))
            .toList();

    @AfterEach
    void nothingWentWrongUnseen() {
        gpus.close();
        assertThat(emulator.problems()).isEmpty();
    }

    /** The driver stays in the JVM, where DJL looks for GPUs. */
    @AfterAll
    static void leaveNoGpuToOtherTests() {
        CudaEmulator.load().tell("devices 0");
    }

    @Test
    void resnet50HasFiveBucketsWithItsLastLayersFirst() {
        List<List<Integer>> buckets = buckets(StoreSettings.BUCKET_BYTES.defaultValue(), ResNet50.counts());
        assertThat(buckets).hasSize(5);
        assertThat(buckets.stream().flatMap(List::stream))
                .containsExactlyElementsOf(
                        IntStream.range(0, 161).map(i -> 160 - i).boxed().toList());
    }

    @Test
    void aStepWaitsForNoGpuAndGivesTheBitsOfSingleCalls() {
        int parameters = COUNTS.size();
        List<List<Integer>> alone = buckets(0, COUNTS);
        assertThat(alone).hasSize(parameters);
        List<List<Integer>> buckets = buckets(StoreSettings.BUCKET_BYTES.defaultValue() / SCALE / PART, COUNTS);
        assertThat(buckets).hasSizeBetween(3, 7);
        // Plans are made, and peers tried, while GPUs work.
        run(alone);
        run(buckets);
        results();

        Step single = step(alone);
        Step bucketed = step(buckets);

        assertThat(bucketed.results().mismatch(single.results())).isEqualTo(-1);
        assertFirstElementsAreSums(single.results());
        assertThat(bucketed.waits()).isZero();
        // The sums of a batch are one launch on each GPU, and so are its broadcasts.
        assertThat(single.launches()).isEqualTo(2L * parameters * GPUS);
        assertThat(bucketed.launches()).isEqualTo(2L * buckets.size() * GPUS);
        // A launch joins the stream of each GPU at its begin and at its end.
        assertThat(single.streamWaits()).isEqualTo(2L * parameters * 2 * GPUS);
        assertThat(bucketed.streamWaits()).isEqualTo(2L * buckets.size() * 2 * GPUS);
    }

    @Test
    void theNextBatchReportsAFailure() {
        // A fault of a device would end CUDA in this process.
        batches.sum(gradients);
        results();
        emulator.tell("fail cuLaunchKernel 1 999");
        batches.sum(gradients);
        assertThatThrownBy(batches::close).isInstanceOf(CudaException.class).hasMessageContaining("cuLaunchKernel of");
        assertThatThrownBy(() -> batches.spread(gradients))
                .isInstanceOf(CudaException.class)
                .hasMessageContaining("cuLaunchKernel of");
    }

    /**
     * Returns the parameters of each bucket of a step.
     *
     * @param counts the lengths of all parameters
     */
    private static List<List<Integer>> buckets(long bytes, List<Long> counts) {
        try (NDManager manager = Engine.getEngine("PyTorch").newBaseManager()) {
            List<Slot> slots = new ArrayList<>();
            for (long count : counts) {
                // Memory that nobody touches.
                NDArray array = manager.create(new Shape(count));
                slots.add(new Slot(String.valueOf(slots.size()), List.of(array), List.of(array)));
            }
            Collections.reverse(slots);
            return new Buckets(Processes.ALONE, bytes)
                    .pack(slots).stream()
                            .map(bucket -> bucket.slots().stream()
                                    .map(slot -> Integer.valueOf(slot.id()))
                                    .toList())
                            .toList();
        }
    }

    /**
     * The results of a step and its calls of the driver.
     *
     * @param results the gradients of all GPUs, as the step left them
     * @param waits calls in which the host waited for GPUs
     * @param launches of kernels
     * @param streamWaits calls that let one stream wait for another
     */
    private record Step(MemorySegment results, long waits, long launches, long streamWaits) {}

    /** Sums the gradients bucket by bucket and spreads the sums, while the GPUs' work stands still. */
    private Step step(List<List<Integer>> buckets) {
        fill();
        long waits = count(WAITING.stream());
        long launches = count(Stream.of("cuLaunchKernel"));
        long streamWaits = count(Stream.of("cuStreamWaitEvent"));
        emulator.tell("pause");
        run(buckets);
        launches = count(Stream.of("cuLaunchKernel")) - launches;
        waits = count(WAITING.stream()) - waits;
        streamWaits = count(Stream.of("cuStreamWaitEvent")) - streamWaits;
        emulator.tell("resume");
        return new Step(results(), waits, launches, streamWaits);
    }

    private void run(List<List<Integer>> buckets) {
        for (List<Integer> bucket : buckets) {
            List<GpuBatches.Arrays> batch = bucket.stream().map(gradients::get).toList();
            batches.sum(batch);
            batches.spread(batch);
        }
    }

    /** Checks the first element of each gradient on each GPU. */
    private void assertFirstElementsAreSums(MemorySegment results) {
        List<Double> sums = fill();
        long at = 0;
        for (int g = 0; g < gradients.size(); g++) {
            for (int gpu = 0; gpu < GPUS; gpu++) {
                assertThat((double) results.get(ValueLayout.JAVA_FLOAT, at)).isCloseTo(sums.get(g), within(1e-6));
                at += gradients.get(g).count() * Float.BYTES;
            }
        }
    }

    private long count(Stream<String> functions) {
        return functions
                .mapToLong(function -> emulator.count("calls " + function))
                .sum();
    }

    /** Fills the gradients with the same numbers each time, and returns the sum of each one's first elements. */
    private List<Double> fill() {
        SplittableRandom random = new SplittableRandom(1);
        List<Double> sums = new ArrayList<>();
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment host = arena.allocate(longest());
            for (GpuBatches.Arrays arrays : gradients) {
                double sum = 0;
                for (MemorySegment buffer : arrays.buffers()) {
                    for (long i = 0; i < arrays.count(); i++) {
                        host.setAtIndex(ValueLayout.JAVA_FLOAT, i, (float) random.nextDouble(-1, 1));
                    }
                    sum += host.getAtIndex(ValueLayout.JAVA_FLOAT, 0);
                    gpus.copyToDevice(buffer, host.asSlice(0, arrays.count() * Float.BYTES));
                }
                sums.add(sum);
            }
        }
        return sums;
    }

    private MemorySegment results() {
        // It ends after all batches, which are before it in the streams.
        gpus.run(CollectiveCall.broadcast(gpus.allocateAll(Float.BYTES), 1, DataType.F32));
        long bytes = gradients.stream()
                .mapToLong(arrays -> arrays.count() * Float.BYTES)
                .sum();
        MemorySegment all = Arena.ofAuto().allocate(GPUS * bytes);
        long at = 0;
        for (GpuBatches.Arrays arrays : gradients) {
            for (MemorySegment buffer : arrays.buffers()) {
                gpus.copyToHost(buffer, all.asSlice(at, arrays.count() * Float.BYTES));
                at += arrays.count() * Float.BYTES;
            }
        }
        return all;
    }

    private long longest() {
        return gradients.stream().mapToLong(GpuBatches.Arrays::count).max().orElseThrow() * Float.BYTES;
    }
}

package dev.banyan.kvstore;

import static org.assertj.core.api.Assertions.assertThat;

import dev.banyan.config.Config;
import dev.banyan.cuda.emulator.CudaEmulator;
import dev.banyan.reduce.Communicator;
import dev.banyan.reduce.internal.host.HostBackend;
import dev.banyan.reduce.optimizer.Optimizer;
import dev.banyan.schedule.plan.Algorithms;
import dev.banyan.schedule.type.DataType;
import dev.banyan.topology.Machine;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Stores with optimizers on emulated GPUs hold the bits of those on the host, and nothing passes through the host. */
class GpuOptimizersTest {
    private static final int GPUS = 4;
    private static final Machine MACHINE = Machine.preset("dgx-a100").subset(0, 1, 2, 3);
    private static final Config CONFIG = Config.builder()
            .set(Algorithms.REPRODUCIBLE, true)
            .set(HostBackend.THREADS, 2)
            .build();
    /** Keys are shorter than ResNet-50's by this factor, to keep the test short. */
    private static final int SCALE = 2048;

    private final CudaEmulator emulator = CudaEmulator.load();
    private Communicator gpus;
    private Communicator host;

    @BeforeEach
    void open() {
        emulator.tell("devices " + GPUS + " switched");
        gpus = Communicator.onGpus(MACHINE, CONFIG, IntStream.range(0, GPUS).toArray());
        host = Communicator.onHost(MACHINE, CONFIG);
    }

    @AfterEach
    void nothingWentWrongUnseen() {
        host.close();
        gpus.close();
        assertThat(emulator.problems()).isEmpty();
    }

    static Stream<Arguments> cases() {
        return Stream.of(
                Arguments.of("auto", Optimizer.sgd(0.1), DataType.BF16),
                Arguments.of("auto", Optimizer.sgd(0.1).momentum(0.9).gradientFactor(0.125), DataType.F32),
                Arguments.of("tree", Optimizer.sgd(0.1).momentum(0.9).weightDecay(0.01), DataType.F16),
                Arguments.of("device", Optimizer.adam(0.01).weightDecay(0.1), DataType.F32),
                Arguments.of("ring", Optimizer.adamW(0.01), DataType.BF16),
                Arguments.of("auto", Optimizer.adamW(0.01), DataType.F64));
    }

    @ParameterizedTest
    @MethodSource("cases")
    void holdTheBitsOfTheHost(String type, Optimizer optimizer, DataType elements) {
        long[] counts = {0, 1, 3, 64, 1025};
        try (Side onHost = new Side(host, type, optimizer, elements, counts);
                Side onGpus = new Side(gpus, type, optimizer, elements, counts)) {
            for (int round = 0; round < 3; round++) {
                onHost.fill(round);
                onGpus.fill(round);
                if (round == 1) {
                    onHost.pushThenPull();
                    onGpus.pushThenPull();
                } else {
                    onHost.pushPull();
                    onGpus.pushPull();
                }
                assertSame(onHost, onGpus);
            }
        }
    }

    /** Sums, updates and results of all keys are one batch: an update is one launch on each device. */
    @Test
    void resNet50TakesFewLaunchesAndNoCopies() {
        trainResNet50(SCALE, 1);
    }

    /** Batches end at 64 MiB. */
    @Tag("soak")
    @Test
    void resNet50OfFullLengthTakesTwoBatches() {
        trainResNet50(1, 2);
    }

    private void trainResNet50(int scale, int batches) {
        long[] counts = Arrays.stream(ResNet50.counts())
                .map(count -> Math.ceilDiv(count, scale))
                .toArray();
        assertThat(counts).hasSize(157);
        Optimizer sgd = Optimizer.sgd(0.1).momentum(0.9).weightDecay(1e-4).gradientFactor(1.0 / GPUS);
        try (Side onHost = new Side(host, "auto", sgd, DataType.F32, counts);
                Side onGpus = new Side(gpus, "auto", sgd, DataType.F32, counts)) {
            // The first round makes the plans and tries the peers.
            onHost.fill(0);
            onGpus.fill(0);
            onHost.pushPull();
            onGpus.pushPull();
            assertSame(onHost, onGpus);

            onHost.fill(1);
            onGpus.fill(1);
            long copies = hostCopies();
            long staged = emulator.count("staged copies");
            long launches = emulator.count("kernels banyan_update_");
            long all = launchesOfAll();
            onGpus.pushPull();
            assertThat(launchesOfAll() - all).isLessThanOrEqualTo(16L * batches * GPUS);
            assertThat(hostCopies()).isEqualTo(copies);
            assertThat(emulator.count("staged copies")).isEqualTo(staged);
            long updates = emulator.count("kernels banyan_update_") - launches;
            // Keys that are ready a moment later than others are a batch of their own; of short ones some devices do
            // all.
            assertThat(updates).isBetween(1L, 2L * batches * GPUS);
            onHost.pushPull();
            assertSame(onHost, onGpus);
        }
    }

    private long launchesOfAll() {
        return emulator.count("calls cuLaunchKernel") + emulator.count("calls cuGraphLaunch");
    }

    private long hostCopies() {
        return GpuStoreTest.HOST_COPIES.stream()
                .mapToLong(call -> emulator.count("calls " + call))
                .sum();
    }

    /** A store with its gradients and results. */
    private static final class Side implements AutoCloseable {
        final Communicator communicator;
        final KVStore store;
        final DataType type;
        final List<Key> keys;
        final List<List<MemorySegment>> gradients = new ArrayList<>();
        final List<List<MemorySegment>> results = new ArrayList<>();

        Side(Communicator communicator, String kind, Optimizer optimizer, DataType type, long[] counts) {
            this.communicator = communicator;
            this.type = type;
            store = KVStore.builder(communicator)
                    .type(StoreType.of(kind))
                    .optimizer(optimizer)
                    .open();
            keys = IntStream.range(0, counts.length).mapToObj(Key::of).toList();
            SplittableRandom random = new SplittableRandom(3);
            for (Key key : keys) {
                long count = counts[gradients.size()];
                try (Arena arena = Arena.ofConfined()) {
                    MemorySegment value = arena.allocate(count * type.bytes(), 8);
                    random(value, random);
                    store.init(key, value, count, type);
                }
                gradients.add(communicator.allocateAll(count * type.bytes()));
                results.add(communicator.allocateAll(count * type.bytes()));
            }
        }

        void fill(int seed) {
            SplittableRandom random = new SplittableRandom(seed);
            for (MemorySegment array : gradients.stream().flatMap(List::stream).toList()) {
                try (Arena arena = Arena.ofConfined()) {
                    MemorySegment values = arena.allocate(array.byteSize(), 8);
                    random(values, random);
                    communicator.copyToDevice(array, values);
                }
            }
        }

        private void random(MemorySegment memory, SplittableRandom random) {
            for (long i = 0; i < memory.byteSize() / type.bytes(); i++) {
                float value = random.nextFloat(-1, 1);
                switch (type) {
                    case F32 -> memory.setAtIndex(ValueLayout.JAVA_FLOAT, i, value);
                    case F64 -> memory.setAtIndex(ValueLayout.JAVA_DOUBLE, i, value);
                    case F16 -> memory.setAtIndex(ValueLayout.JAVA_SHORT, i, Float.floatToFloat16(value));
                    default ->
                        memory.setAtIndex(ValueLayout.JAVA_SHORT, i, (short) (Float.floatToRawIntBits(value) >>> 16));
                }
            }
        }

        void pushPull() {
            store.pushPullAll(keys, gradients, results, 0).join();
            store.waitAll();
        }

        void pushThenPull() {
            for (int k = 0; k < keys.size(); k++) {
                CompletableFuture<Void> _ = store.push(keys.get(k), gradients.get(k), -k);
                CompletableFuture<Void> _ = store.pull(keys.get(k), results.get(k), -k);
            }
            store.waitAll();
        }

        @Override
        public void close() {
            store.close();
        }
    }

    private static void assertSame(Side onHost, Side onGpus) {
        for (int k = 0; k < onHost.keys.size(); k++) {
            for (int rank = 0; rank < GPUS; rank++) {
                MemorySegment expected = onHost.results.get(k).get(rank);
                MemorySegment got = MemorySegment.ofArray(new byte[(int) expected.byteSize()]);
                onGpus.communicator.copyToHost(onGpus.results.get(k).get(rank), got);
                assertThat(got.mismatch(expected))
                        .as("the first byte of key %d of rank %d that differs", k, rank)
                        .isEqualTo(-1);
            }
        }
    }
}

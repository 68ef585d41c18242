package dev.banyan.cuda;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.banyan.config.Config;
import dev.banyan.cuda.emulator.CudaEmulator;
import dev.banyan.cuda.internal.ptx.ElementTable;
import dev.banyan.cuda.type.CudaException;
import dev.banyan.reduce.CollectiveCall;
import dev.banyan.reduce.Communicator;
import dev.banyan.reduce.internal.host.HostOptimizer;
import dev.banyan.reduce.optimizer.Optimizer;
import dev.banyan.reduce.optimizer.ParameterUpdate;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import dev.banyan.topology.Presets;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Updates on the emulated driver, compared with the host's. */
class UpdatesTest {
    private static final int ROUNDS = 2;
    private static final long[] COUNTS = {0, 1, 31, 511, 513, ElementTable.CHUNK, ElementTable.CHUNK + 1, 9001};

    private final CudaEmulator emulator = EmulatedProcess.begin();
    /** Ranks 0 and 2 share a device. */
    private final Communicator gpus = on(0, 1, 0);

    private static Communicator on(int... devices) {
        return Communicator.onGpus(
                Presets.find("p3.16xlarge").orElseThrow().subset(0, 1, 2), Config.defaults(), devices);
    }

    @AfterEach
    void nothingWentWrongUnseen() {
        gpus.close();
        assertThat(emulator.problems()).isEmpty();
    }

    static Stream<Arguments> optimizersAndTypes() {
        SplittableRandom random = new SplittableRandom(17);
        return Stream.of(
                        Optimizer.sgd(0.1),
                        Optimizer.sgd(random.nextDouble()).momentum(0.9).weightDecay(1e-4),
                        Optimizer.adam(random.nextDouble()).weightDecay(random.nextDouble()),
                        Optimizer.adamW(1e-3).betas(random.nextDouble(), 0.99).gradientFactor(random.nextDouble()))
                .flatMap(optimizer -> Stream.of(DataType.F32, DataType.F64, DataType.F16, DataType.BF16)
                        .map(type -> Arguments.of(optimizer, type)));
    }

    @ParameterizedTest
    @MethodSource("optimizersAndTypes")
    void givesTheBitsOfTheHost(Optimizer optimizer, DataType type) {
        SplittableRandom random = new SplittableRandom(type.name().hashCode());
        try (Arena arena = Arena.ofShared()) {
            List<Pair> pairs = Arrays.stream(COUNTS)
                    .mapToObj(count -> new Pair(arena, (int) (count % 3), optimizer, type, count))
                    .toList();
            for (Pair pair : pairs) {
                pair.give(pair.onHost.value(), pair.onDevice.value(), random);
            }
            long copies = 0;
            for (int step = 1; step <= ROUNDS; step++) {
                List<ParameterUpdate> updates = new ArrayList<>();
                for (Pair pair : pairs) {
                    pair.give(pair.onHost.gradient(), pair.onDevice.gradient(), random);
                    HostOptimizer.run(at(pair.onHost, step));
                    updates.add(at(pair.onDevice, step));
                }
                long before = emulator.count("copies");
                gpus.runAll(List.of(), updates, List.of());
                copies += emulator.count("copies") - before;
            }
            assertThat(copies).isZero();
            // One launch for each device.
            assertThat(emulator.count("kernels banyan_update_")).isEqualTo(2 * ROUNDS);
            pairs.forEach(Pair::compare);
        }
    }

    private static ParameterUpdate at(ParameterUpdate update, long step) {
        return new ParameterUpdate(
                update.optimizer(),
                step,
                update.rank(),
                update.type(),
                update.count(),
                update.value(),
                update.gradient(),
                update.state());
    }

    /** The same update on the host and on a device. */
    private final class Pair {
        final ParameterUpdate onHost;
        final ParameterUpdate onDevice;

        Pair(Arena arena, int rank, Optimizer optimizer, DataType type, long count) {
            long bytes = count * type.bytes();
            long stateBytes = optimizer.stateBytes(type, count);
            onHost = new ParameterUpdate(
                    optimizer,
                    1,
                    rank,
                    type,
                    count,
                    arena.allocate(bytes, 8),
                    arena.allocate(bytes, 8),
                    arena.allocate(stateBytes, 8));
            onDevice = new ParameterUpdate(
                    optimizer,
                    1,
                    rank,
                    type,
                    count,
                    gpus.allocate(rank, bytes, arena),
                    gpus.allocate(rank, bytes, arena),
                    gpus.allocate(rank, stateBytes, arena));
        }

        void give(MemorySegment host, MemorySegment device, SplittableRandom random) {
            for (long i = 0; i < onHost.count(); i++) {
                set(host, onHost.type(), i, number(random));
            }
            gpus.copyToDevice(device, host);
        }

        void compare() {
            DataType stateType = onHost.type() == DataType.F64 ? DataType.F64 : DataType.F32;
            compare("value", onHost.type(), onHost.value(), onDevice.value());
            compare("state", stateType, onHost.state(), onDevice.state());
        }

        private void compare(String what, DataType type, MemorySegment host, MemorySegment device) {
            MemorySegment got = MemorySegment.ofArray(new byte[(int) host.byteSize()]);
            gpus.copyToHost(device, got);
            for (long i = 0; i < host.byteSize() / type.bytes(); i++) {
                double expected = get(host, type, i);
                double actual = get(got, type, i);
                if (Double.compare(expected, actual) != 0) {
                    assertThat(actual)
                            .as("element %d of %s of %d elements, %s", i, what, onHost.count(), onHost.optimizer())
                            .isEqualTo(expected);
                }
            }
        }
    }

    /** Mostly small numbers; sometimes one that is none, infinite, tiny, huge or zero. */
    private static double number(SplittableRandom random) {
        return switch (random.nextInt(64)) {
            case 0 -> Double.NaN;
            case 1 -> Double.POSITIVE_INFINITY;
            case 2 -> Double.NEGATIVE_INFINITY;
            case 3 -> -0.0;
            case 4 -> Float.MIN_VALUE * 5;
            case 5 -> 6e4;
            default -> random.nextDouble(-1, 1);
        };
    }

    private static double get(MemorySegment memory, DataType type, long index) {
        return switch (type) {
            case F32 -> memory.getAtIndex(ValueLayout.JAVA_FLOAT_UNALIGNED, index);
            case F64 -> memory.getAtIndex(ValueLayout.JAVA_DOUBLE_UNALIGNED, index);
            case F16 -> Float.float16ToFloat(memory.getAtIndex(ValueLayout.JAVA_SHORT_UNALIGNED, index));
            default -> Float.intBitsToFloat(memory.getAtIndex(ValueLayout.JAVA_SHORT_UNALIGNED, index) << 16);
        };
    }

    private static void set(MemorySegment memory, DataType type, long index, double value) {
        switch (type) {
            case F32 -> memory.setAtIndex(ValueLayout.JAVA_FLOAT, index, (float) value);
            case F64 -> memory.setAtIndex(ValueLayout.JAVA_DOUBLE, index, value);
            case F16 -> memory.setAtIndex(ValueLayout.JAVA_SHORT, index, Float.floatToFloat16((float) value));
            default ->
                memory.setAtIndex(
                        ValueLayout.JAVA_SHORT, index, (short) (Float.floatToRawIntBits((float) value) >>> 16));
        }
    }

    @Test
    void manyValuesTakeSeveralLaunches() {
        int values = 2 * ElementTable.MOST_ENTRIES + 1;
        List<MemorySegment> gradients = ones(values);
        List<MemorySegment> parameters = ones(values);
        List<ParameterUpdate> updates = IntStream.range(0, values)
                .mapToObj(i -> update(0, parameters.get(i), gradients.get(i)))
                .toList();
        gpus.runAll(List.of(), updates, List.of());
        assertThat(emulator.count("kernels banyan_update_")).isEqualTo(3);
        parameters.forEach(parameter -> assertThat(first(parameter)).isEqualTo(0.5f));
    }

    private List<MemorySegment> ones(int number) {
        return IntStream.range(0, number)
                .mapToObj(i -> {
                    MemorySegment memory = gpus.allocate(0, Float.BYTES);
                    gpus.copyToDevice(memory, MemorySegment.ofArray(new float[] {1}));
                    return memory;
                })
                .toList();
    }

    private float first(MemorySegment device) {
        float[] got = new float[1];
        gpus.copyToHost(device.asSlice(0, Float.BYTES), MemorySegment.ofArray(got));
        return got[0];
    }

    private static ParameterUpdate update(int rank, MemorySegment value, MemorySegment gradient) {
        return new ParameterUpdate(
                Optimizer.sgd(0.5),
                1,
                rank,
                DataType.F32,
                value.byteSize() / Float.BYTES,
                value,
                gradient,
                MemorySegment.NULL);
    }

    /** The value of the sum's root is updated by the sum, and the updated value arrives everywhere. */
    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 4})
    void updatesLieBetweenTheCollectivesBeforeAndBehindThem(int seed) {
        // Ranks that share a device run graphs, others programs.
        updateBetweenCollectives(gpus, seed);
        try (Communicator apart = on(0, 1, 2)) {
            updateBetweenCollectives(apart, seed);
        }
        assertThat(emulator.count("races")).isZero();
    }

    private void updateBetweenCollectives(Communicator gpus, int seed) {
        int count = 300;
        long bytes = 4L * count;
        List<List<MemorySegment>> gradients = new ArrayList<>();
        List<List<MemorySegment>> results = new ArrayList<>();
        List<CollectiveCall> sums = new ArrayList<>();
        List<ParameterUpdate> updates = new ArrayList<>();
        List<CollectiveCall> broadcasts = new ArrayList<>();
        for (int root = 0; root < gpus.size(); root++) {
            gradients.add(gpus.allocateAll(bytes));
            results.add(gpus.allocateAll(bytes));
            float[] ones = new float[count];
            Arrays.fill(ones, 1);
            gradients.getLast().forEach(array -> gpus.copyToDevice(array, MemorySegment.ofArray(ones)));
            MemorySegment sum = gpus.allocate(root, bytes);
            MemorySegment value = gpus.allocate(root, bytes);
            sums.add(CollectiveCall.reduce(gradients.getLast(), count, DataType.F32, ReduceOp.SUM)
                    .root(root)
                    .into(List.of(sum)));
            updates.add(update(root, value, sum));
            broadcasts.add(CollectiveCall.broadcast(List.of(value), count, DataType.F32)
                    .root(root)
                    .into(results.getLast()));
        }
        gpus.runAll(sums, updates, broadcasts);
        emulator.tell("interleave " + seed);
        gpus.runAll(sums, updates, broadcasts);
        emulator.tell("interleave 0");
        float[] expected = new float[count];
        Arrays.fill(expected, -3f);
        for (MemorySegment result : results.stream().flatMap(List::stream).toList()) {
            float[] got = new float[count];
            gpus.copyToHost(result, MemorySegment.ofArray(got));
            assertThat(got).isEqualTo(expected);
        }
    }

    @Test
    void rejectsMemoryOfAnotherDevice() {
        MemorySegment value = gpus.allocate(0, 64);
        MemorySegment gradient = gpus.allocate(1, 64);
        assertThatThrownBy(() -> gpus.runAll(List.of(), List.of(update(0, value, gradient)), List.of()))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("is on device 1, but the rank is on device 0");
        gpus.runAll(List.of(), List.of(update(0, value, gpus.allocate(0, 64))), List.of());
    }

    @Test
    void aLaunchThatFailsBreaksTheCommunicator() {
        List<ParameterUpdate> updates = List.of(update(0, gpus.allocate(0, 64), gpus.allocate(0, 64)));
        emulator.tell("fail cuLaunchKernel 1 999");
        assertThatThrownBy(() -> gpus.runAll(List.of(), updates, List.of()))
                .isInstanceOf(CudaException.class)
                .hasMessageContaining("cuLaunchKernel of banyan_update_sgd_f32 on device 0 failed");
        assertThat(gpus.failure()).isPresent();
    }
}

package dev.banyan.cuda;

import static org.assertj.core.api.Assertions.assertThat;

import dev.banyan.config.Config;
import dev.banyan.cuda.emulator.CudaEmulator;
import dev.banyan.reduce.CollectiveCall;
import dev.banyan.reduce.Communicator;
import dev.banyan.reduce.internal.host.HostBackend;
import dev.banyan.reduce.internal.sum.ReproducibleSum;
import dev.banyan.schedule.plan.AlgorithmChoice;
import dev.banyan.schedule.plan.Algorithms;
import dev.banyan.schedule.plan.Planner;
import dev.banyan.schedule.plan.SizeRules;
import dev.banyan.schedule.type.Collective;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import dev.banyan.topology.Machine;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Random reproducible sums, and least and greatest numbers, of all backends have the bits of the definition, computed
 * number by number.
 */
class RandomSumsTest {
    private static final List<Collective> COLLECTIVES =
            List.of(Collective.ALL_REDUCE, Collective.REDUCE, Collective.REDUCE_SCATTER);
    private static final List<DataType> TYPES = List.of(DataType.F32, DataType.F64, DataType.F16, DataType.BF16);
    private static final List<ReduceOp> OPS = List.of(ReduceOp.SUM, ReduceOp.AVG, ReduceOp.MIN, ReduceOp.MAX);
    private static final List<Long> CHUNKS = List.of(Long.MAX_VALUE, 4096L, 64L << 10);
    private static final List<String> BACKENDS = List.of("host", "host", "kernel", "graph");
    private static final int CASES = 20;
    private static final int BATCH = 4;

    private final CudaEmulator emulator = EmulatedProcess.begin();

    @AfterEach
    void nothingWentWrongUnseen() {
        assertThat(emulator.problems()).isEmpty();
    }

    @Test
    void sumsAreThoseOfTheDefinition() {
        check(25);
    }

    @Test
    @Tag("soak")
    void manySumsAreThoseOfTheDefinition() {
        check(500);
    }

    /** Checks some cases on each of so many communicators. */
    private void check(int communicators) {
        emulator.tell("devices 8 switched");
        for (int c = 0; c < communicators; c++) {
            long seed = System.nanoTime();
            Random random = new Random(seed);
            int ranks = 1 + random.nextInt(8);
            String backend = BACKENDS.get(random.nextInt(BACKENDS.size()));
            AlgorithmChoice algorithm = AlgorithmChoice.scheduled().get(random.nextInt(6));
            Config.Builder settings = Config.builder()
                    .set(Algorithms.REPRODUCIBLE, true)
                    .set(Planner.ALGORITHM, SizeRules.always(algorithm))
                    .set(Planner.CHUNK_BYTES, CHUNKS.get(random.nextInt(CHUNKS.size())))
                    .set(HostBackend.THREADS, 1 + random.nextInt(8));
            boolean isHost = backend.equals("host");
            Config config = isHost
                    ? settings.build()
                    : settings.set("BANYAN_CUDA_EXECUTOR", backend).build();
            Machine machine = Machine.preset("p3.16xlarge")
                    .subset(IntStream.range(0, ranks).toArray());
            try (Communicator communicator = isHost
                    ? Communicator.onHost(machine, config)
                    : Communicator.onGpus(
                            machine, config, IntStream.range(0, ranks).toArray())) {
                for (int done = 0; done < CASES; ) {
                    int batch = 1 + random.nextInt(Math.min(BATCH, CASES - done));
                    run(communicator, isHost, batch, random, "seed " + seed + ", " + backend + ", " + algorithm);
                    done += batch;
                }
            }
        }
    }

    /** A call, and what compares its results with the definition. */
    private record Case(CollectiveCall call, Runnable check) {}

    /** Runs cases as one batch. */
    private static void run(Communicator communicator, boolean isHost, int batch, Random random, String name) {
        try (Arena arena = Arena.ofShared()) {
            List<Case> cases = Stream.generate(() -> random(communicator, isHost, random, arena, name))
                    .limit(batch)
                    .toList();
            communicator.runAllAsync(cases.stream().map(Case::call).toList()).join();
            cases.forEach(each -> each.check().run());
        }
    }

    private static Case random(Communicator communicator, boolean isHost, Random random, Arena arena, String name) {
        int ranks = communicator.size();
        Collective collective = COLLECTIVES.get(random.nextInt(COLLECTIVES.size()));
        int root = collective.hasRoot() ? random.nextInt(ranks) : -1;
        DataType type = TYPES.get(random.nextInt(TYPES.size()));
        ReduceOp op = OPS.get(random.nextInt(OPS.size()));
        boolean inPlace = random.nextBoolean();
        // A block of the host has 1,024 elements; beyond 128 KiB of all ranks more threads are woken.
        int most = 1 << random.nextInt(isHost ? 15 : 10);
        int count = random.nextInt(most + 1);
        int elements = (int) collective.inputElements(count, ranks);
        List<byte[]> values = IntStream.range(0, ranks)
                .mapToObj(_ -> ReproducibleGpusTest.values(type, elements, random))
                .toList();
        byte[] expected = expected(type, op, values, elements);
        List<byte[]> permuted = new ArrayList<>(values);
        Collections.shuffle(permuted, random);
        List<MemorySegment> inputs = new ArrayList<>();
        List<MemorySegment> outputs = new ArrayList<>();
        int bytes = count * type.bytes();
        for (int rank = 0; rank < ranks; rank++) {
            inputs.add(communicator.allocate(rank, permuted.get(rank).length, arena));
            communicator.copyToDevice(inputs.get(rank), arena.allocateFrom(ValueLayout.JAVA_BYTE, permuted.get(rank)));
            if (collective != Collective.REDUCE || rank == root) {
                MemorySegment output = communicator.allocate(rank, bytes, arena);
                boolean isSection = collective == Collective.REDUCE_SCATTER;
                outputs.add(inPlace ? inputs.get(rank).asSlice(isSection ? (long) rank * bytes : 0, bytes) : output);
            }
        }
        CollectiveCall call = CollectiveCall.of(collective, root, count, type, op, inputs);
        return new Case(inPlace ? call : call.into(outputs), () -> {
            MemorySegment found = arena.allocate(bytes);
            for (int output = 0; output < outputs.size(); output++) {
                communicator.copyToHost(outputs.get(output), found);
                int first = collective == Collective.REDUCE_SCATTER ? output * bytes : 0;
                assertThat(found.toArray(ValueLayout.JAVA_BYTE))
                        .as(
                                "%s: %s %s of %s %s by %s ranks, in place %s",
                                name, collective, op, count, type, ranks, inPlace)
                        .isEqualTo(Arrays.copyOfRange(expected, first, first + bytes));
            }
        });
    }

    static byte[] expected(DataType type, ReduceOp op, List<byte[]> values, int elements) {
        ReproducibleSum sum = new ReproducibleSum(type, values.size(), op == ReduceOp.AVG);
        ByteBuffer[] inputs = values.stream()
                .map(each -> ByteBuffer.wrap(each).order(ByteOrder.nativeOrder()))
                .toArray(ByteBuffer[]::new);
        ByteBuffer result = ByteBuffer.allocate(elements * type.bytes()).order(ByteOrder.nativeOrder());
        for (int i = 0; i < elements; i++) {
            int code = type == DataType.F64 ? 0 : 1;
            for (ByteBuffer input : inputs) {
                code = Math.max(code, sum.code(number(type, input, i)));
            }
            long total = 0;
            for (ByteBuffer input : inputs) {
                total += sum.integer(number(type, input, i), code);
            }
            if (values.size() == 1) {
                // One rank's numbers are copied.
                result.put(i * type.bytes(), values.getFirst(), i * type.bytes(), type.bytes());
                continue;
            }
            boolean isExtreme = op == ReduceOp.MIN || op == ReduceOp.MAX;
            long bits = isExtreme ? extreme(type, op, inputs, i) : sum.result(total, code);
            switch (type.bytes()) {
                case 8 -> result.putLong(8 * i, bits);
                case 4 -> result.putInt(4 * i, (int) bits);
                default -> result.putShort(2 * i, (short) bits);
            }
        }
        return result.array();
    }

    /** Returns the bits of the least or the greatest number, or of the one NaN. */
    private static long extreme(DataType type, ReduceOp op, ByteBuffer[] inputs, int i) {
        double extreme = number(type, inputs[0], i);
        for (ByteBuffer input : inputs) {
            double next = number(type, input, i);
            extreme = op == ReduceOp.MIN ? Math.min(extreme, next) : Math.max(extreme, next);
        }
        if (Double.isNaN(extreme)) {
            return Long.MAX_VALUE >>> (Long.SIZE - type.bytes() * Byte.SIZE);
        }
        return switch (type) {
            case F64 -> Double.doubleToRawLongBits(extreme);
            case F32 -> Float.floatToRawIntBits((float) extreme);
            case F16 -> Float.floatToFloat16((float) extreme);
            default -> Float.floatToRawIntBits((float) extreme) >>> 16;
        };
    }

    private static double number(DataType type, ByteBuffer input, int i) {
        return switch (type) {
            case F64 -> input.getDouble(8 * i);
            case F32 -> input.getFloat(4 * i);
            case F16 -> Float.float16ToFloat(input.getShort(2 * i));
            default -> Float.intBitsToFloat(input.getShort(2 * i) << 16);
        };
    }
}

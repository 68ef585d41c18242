package dev.banyan.reduce.host;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.banyan.reduce.backend.Executable;
import dev.banyan.reduce.backend.StepListener;
import dev.banyan.reduce.internal.code.ChunkCompiler;
import dev.banyan.reduce.internal.code.FusedCode;
import dev.banyan.reduce.internal.code.Fusion;
import dev.banyan.reduce.internal.kernel.Kernels;
import dev.banyan.schedule.ChunkJoin;
import dev.banyan.schedule.Schedule;
import dev.banyan.schedule.internal.algorithm.CollectiveAlgorithm;
import dev.banyan.schedule.internal.algorithm.CollectiveRequest;
import dev.banyan.schedule.internal.algorithm.PackedAlgorithm;
import dev.banyan.schedule.internal.algorithm.Samples;
import dev.banyan.schedule.internal.algorithm.StarAlgorithm;
import dev.banyan.schedule.type.Collective;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import dev.banyan.test.CoveringArray;
import dev.banyan.trees.network.Network;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.math.BigInteger;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Fused loops against the steps one by one, bit for bit. A run with a listener goes step by step. */
class FusedProgramsTest {
    private static final Duration LONG = Duration.ofMinutes(15);
    private static final int GUARD = 64;
    private static final List<ReduceOp> OPERATIONS = List.of(ReduceOp.values());

    private static final StepListener DEAF = new StepListener() {
        @Override
        public void moved(Move move) {}

        @Override
        public void computed(Computation computation) {}
    };

    @BeforeEach
    void needsVectors() {
        assumeTrue(Kernels.best() == Kernels.VECTOR, "needs --add-modules jdk.incubator.vector");
    }

    @ParameterizedTest
    @ValueSource(ints = {2, 3, 5, 8, 9, 17})
    void anyScheduleOfAnyTypeGivesTheBitsOfItsSteps(int ranks) {
        checkSchedules(ranks, 1);
    }

    @ParameterizedTest
    @ValueSource(ints = {2, 3, 4, 5, 7, 8, 9, 12, 17})
    @Tag("soak")
    void manySchedulesOfAnyTypeGiveTheBitsOfTheirSteps(int ranks) {
        checkSchedules(ranks, 6);
    }

    private static void checkSchedules(int ranks, int rounds) {
        Random random = new Random(ranks);
        for (int round = 0; round < rounds; round++) {
            for (CollectiveAlgorithm algorithm : algorithms(ranks, random)) {
                CollectiveRequest request = Samples.request(ranks, 700, random);
                Schedule schedule = algorithm.schedule(request);
                for (DataType type : DataType.values()) {
                    if (type.bytes() == request.elementBytes()) {
                        ReduceOp op = OPERATIONS.get(random.nextInt(OPERATIONS.size()));
                        check(schedule, type, op, random);
                    }
                }
            }
        }
    }

    /** Every two of type, operation, algorithm and place meet. */
    @Test
    void longArraysGiveTheBitsOfTheirSteps() {
        DataType[] types = DataType.values();
        Random random = new Random(5);
        List<CollectiveAlgorithm> algorithms = algorithms(8, random);
        for (int[] each : CoveringArray.ofPairs(types.length, OPERATIONS.size(), algorithms.size(), 2)) {
            checkLong(types[each[0]], OPERATIONS.get(each[1]), algorithms.get(each[2]), each[3] == 0, 10_007, random);
        }
    }

    @ParameterizedTest
    @EnumSource(DataType.class)
    @Tag("soak")
    void everyOperationOnLongArraysGivesTheBitsOfItsSteps(DataType type) {
        Random random = new Random(5);
        for (ReduceOp op : OPERATIONS) {
            for (boolean inPlace : new boolean[] {true, false}) {
                for (CollectiveAlgorithm algorithm : algorithms(8, random)) {
                    checkLong(type, op, algorithm, inPlace, 40_003, random);
                }
            }
        }
    }

    private static void checkLong(
            DataType type, ReduceOp op, CollectiveAlgorithm algorithm, boolean inPlace, int count, Random random) {
        check(
                algorithm.schedule(
                        new CollectiveRequest(Collective.ALL_REDUCE, -1, count, type.bytes(), inPlace, 4096)),
                type,
                op,
                random);
    }

    @ParameterizedTest
    @ValueSource(ints = {2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16})
    void meansOfExtremeLongIntegersAreExact(int ranks) {
        Random random = new Random(ranks);
        int count = 1003;
        long[][] values = new long[ranks][count];
        long[] expected = new long[count];
        for (int i = 0; i < count; i++) {
            int kind = i % 6;
            BigInteger sum = BigInteger.ZERO;
            for (int rank = 0; rank < ranks; rank++) {
                values[rank][i] = switch (kind) {
                    case 0 -> Long.MIN_VALUE;
                    case 1 -> Long.MAX_VALUE;
                    case 2 -> random.nextBoolean() ? Long.MIN_VALUE : Long.MAX_VALUE;
                    case 3 -> random.nextInt(2 * ranks + 1) - ranks;
                    case 4 -> Long.MIN_VALUE + random.nextInt(ranks);
                    default -> random.nextLong();
                };
                sum = sum.add(BigInteger.valueOf(values[rank][i]));
            }
            expected[i] = sum.divide(BigInteger.valueOf(ranks)).longValueExact();
        }
        List<CollectiveAlgorithm> algorithms = algorithms(ranks, random);
        // Each number of ranks divides by another number, and each algorithm in another place.
        for (CollectiveAlgorithm algorithm :
                ranks == 5 ? algorithms : List.of(algorithms.get(ranks % algorithms.size()))) {
            Schedule schedule = algorithm.schedule(
                    new CollectiveRequest(Collective.ALL_REDUCE, -1, count, Long.BYTES, true, Long.MAX_VALUE));
            try (Arena arena = Arena.ofShared();
                    HostBackend backend = new HostBackend(ranks, 2, LONG, Kernels.VECTOR, new ReadyLoops());
                    Executable executable = backend.prepare(schedule, DataType.I64, ReduceOp.AVG)) {
                MemorySegment[] buffers = new MemorySegment[ranks];
                for (int rank = 0; rank < ranks; rank++) {
                    buffers[rank] = arena.allocateFrom(ValueLayout.JAVA_LONG, values[rank]);
                }
                executable.run(buffers, buffers);
                for (MemorySegment buffer : buffers) {
                    assertThat(buffer.toArray(ValueLayout.JAVA_LONG))
                            .as("%d ranks by %s", ranks, schedule.algorithm())
                            .isEqualTo(expected);
                }
            }
        }
    }

    @Test
    void chunksOfATreeBecomeOneLoop() {
        Schedule schedule =
                new StarAlgorithm(4).schedule(new CollectiveRequest(Collective.ALL_REDUCE, -1, 100_000, 4, true, 1024));
        assertThat(schedule.chunks()).hasSizeGreaterThan(100);
        assertThat(ChunkJoin.joined(schedule.chunks()))
                .singleElement()
                .satisfies(chunk -> assertThat(chunk.bytes()).isEqualTo(400_000));
    }

    @Test
    void anAllReduceReadsAndWritesEveryLineOnce() {
        int ranks = 8;
        for (boolean inPlace : new boolean[] {true, false}) {
            for (CollectiveAlgorithm algorithm : algorithms(ranks, new Random(1))) {
                Schedule schedule = algorithm.schedule(
                        new CollectiveRequest(Collective.ALL_REDUCE, -1, 10_000, 4, inPlace, Long.MAX_VALUE));
                ChunkCompiler compiler = new ChunkCompiler(schedule, false, 1024);
                assertThat(schedule.chunks())
                        .extracting(
                                chunk -> Fusion.fuse(compiler.steps(chunk), DataType.F32, ReduceOp.SUM, 1024, ranks))
                        .allSatisfy(code -> {
                            assertThat(code).isInstanceOf(FusedCode.class);
                            assertThat(code.streams()).isEqualTo(2 * ranks);
                            assertThat(code.privateBytes()).isZero();
                        });
            }
        }
    }

    private static List<CollectiveAlgorithm> algorithms(int ranks, Random random) {
        List<CollectiveAlgorithm> algorithms = new ArrayList<>(Samples.algorithms(ranks, random));
        Network network = Network.of(Samples.machine(ranks, true, random));
        algorithms.add(new PackedAlgorithm(ranks, Samples.packings(network, 5, random.nextLong())));
        return algorithms;
    }

    private static void check(Schedule schedule, DataType type, ReduceOp op, Random random) {
        long seed = random.nextLong();
        try (HostBackend backend = new HostBackend(schedule.ranks(), 3, LONG, Kernels.VECTOR, new ReadyLoops());
                Executable executable = backend.prepare(schedule, type, op)) {
            byte[][] fused = run(executable, schedule, type, seed);
            backend.setListener(DEAF);
            byte[][] steps = run(executable, schedule, type, seed);
            assertThat(Arrays.deepEquals(fused, steps))
                    .as(
                            "%s of %d %s, %s over %d ranks by %s, in place: %s, seed %d",
                            schedule.collective(),
                            schedule.count(),
                            type,
                            op,
                            schedule.ranks(),
                            schedule.algorithm(),
                            schedule.inPlace(),
                            seed)
                    .isTrue();
        }
    }

    /** Returns all buffers after a run, with what lies beside them. */
    private static byte[][] run(Executable executable, Schedule schedule, DataType type, long seed) {
        Random random = new Random(seed);
        int ranks = schedule.ranks();
        Collective collective = schedule.collective();
        long input = collective.inputElements(schedule.count(), ranks) * type.bytes();
        long output = collective.outputElements(schedule.count(), ranks) * type.bytes();
        try (Arena arena = Arena.ofShared()) {
            List<MemorySegment> all = new ArrayList<>();
            MemorySegment[] inputs = new MemorySegment[ranks];
            MemorySegment[] outputs = new MemorySegment[ranks];
            for (int rank = 0; rank < ranks; rank++) {
                inputs[rank] = buffer(schedule.inPlace() ? Math.max(input, output) : input, type, random, arena, all);
                outputs[rank] = schedule.inPlace() ? inputs[rank] : buffer(output, type, random, arena, all);
            }
            executable.run(inputs, outputs);
            return all.stream()
                    .map(segment -> segment.toArray(ValueLayout.JAVA_BYTE))
                    .toArray(byte[][]::new);
        }
    }

    private static MemorySegment buffer(
            long bytes, DataType type, Random random, Arena arena, List<MemorySegment> all) {
        int shift = GUARD + random.nextInt(GUARD);
        MemorySegment whole = arena.allocate(shift + bytes + GUARD, 64);
        all.add(whole);
        MemorySegment buffer = whole.asSlice(shift, bytes);
        for (long at = 0; at < bytes; at += type.bytes()) {
            set(buffer, at, type, random);
        }
        return buffer;
    }

    private static void set(MemorySegment buffer, long at, DataType type, Random random) {
        switch (type) {
            case F32 -> buffer.set(ValueLayout.JAVA_FLOAT_UNALIGNED, at, (float) real(random));
            case F64 ->
                buffer.set(
                        ValueLayout.JAVA_DOUBLE_UNALIGNED,
                        at,
                        random.nextInt(16) == 0 ? Double.MIN_VALUE * random.nextInt(1 << 20) : real(random));
            case F16 -> buffer.set(ValueLayout.JAVA_SHORT_UNALIGNED, at, Float.floatToFloat16((float) real(random)));
            case BF16 ->
                buffer.set(ValueLayout.JAVA_SHORT_UNALIGNED, at, (short)
                        (Float.floatToIntBits((float) real(random)) >>> 16));
            case I8, U8 -> buffer.set(ValueLayout.JAVA_BYTE, at, (byte) random.nextInt());
            case I32 -> buffer.set(ValueLayout.JAVA_INT_UNALIGNED, at, random.nextInt());
            case I64 -> buffer.set(ValueLayout.JAVA_LONG_UNALIGNED, at, random.nextLong());
        }
    }

    /** No NaN, whose payload the order of two operands decides. */
    private static double real(Random random) {
        return switch (random.nextInt(16)) {
            case 0 -> 0.0;
            case 1 -> -0.0;
            case 2 -> Float.POSITIVE_INFINITY;
            case 3 -> 0x1p-24 * random.nextInt(64);
            case 4 -> Float.MIN_VALUE * random.nextInt(1 << 20);
            default -> Math.scalb(random.nextDouble() - 0.5, random.nextInt(20) - 10);
        };
    }
}

package dev.banyan.study.reference;

import static org.assertj.core.api.Assertions.assertThat;

import dev.banyan.schedule.type.Collective;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

class ReferenceCheckTest {
    private static final int RANKS = 5;
    private static final int COUNT = 1000;

    static Stream<Arguments> typesAndOperations() {
        return Stream.of(DataType.values())
                .flatMap(type -> Stream.of(ReduceOp.values()).map(op -> Arguments.of(type, op)));
    }

    @ParameterizedTest
    @MethodSource("typesAndOperations")
    void everyWrongElementIsCounted(DataType type, ReduceOp op) {
        try (Arena arena = Arena.ofConfined()) {
            ReferenceCheck check = new ReferenceCheck(type, op, RANKS, COUNT, 7);
            MemorySegment[] inputs = new MemorySegment[RANKS];
            for (int rank = 0; rank < RANKS; rank++) {
                inputs[rank] = arena.allocate((long) COUNT * type.bytes(), 64);
                check.fill(inputs[rank], rank, 0, 3);
                assertThat(check.changed(inputs[rank], rank, 0, 3)).isZero();
            }
            MemorySegment output = arena.allocate((long) COUNT * type.bytes(), 64);
            for (int i = 0; i < COUNT; i++) {
                reduce(type, op, inputs, output, i);
            }
            assertThat(check.wrong(Collective.ALL_REDUCE, output, 0, -1, COUNT, 3))
                    .isZero();
            // Fresh inputs: the old result is wrong nearly everywhere.
            assertThat(check.wrong(Collective.ALL_REDUCE, output, 0, -1, COUNT, 4))
                    .isGreaterThan(COUNT / 10);

            for (int i : new int[] {0, 17, COUNT - 1}) {
                if (type.isFloating()) {
                    Elements.putDouble(type, output, i, 100);
                } else {
                    Elements.putLong(type, output, i, Elements.getLong(type, output, i) + 1);
                }
            }
            assertThat(check.wrong(Collective.ALL_REDUCE, output, 0, -1, COUNT, 3))
                    .isEqualTo(3);
            output.fill((byte) -1);
            if (type.isFloating()) {
                assertThat(check.wrong(Collective.ALL_REDUCE, output, 0, -1, COUNT, 3))
                        .as("NaN")
                        .isEqualTo(COUNT);
            }
        }
    }

    @Test
    void contributionThatIsMissingOrDoubledIsSeen() {
        try (Arena arena = Arena.ofConfined()) {
            for (DataType type : new DataType[] {DataType.F32, DataType.F16, DataType.BF16}) {
                ReferenceCheck check = new ReferenceCheck(type, ReduceOp.SUM, 8, COUNT, 1);
                MemorySegment output = arena.allocate((long) COUNT * type.bytes(), 64);
                MemorySegment input = arena.allocate((long) COUNT * type.bytes(), 64);
                double[] sums = new double[COUNT];
                for (int rank = 0; rank < 7; rank++) {
                    check.fill(input, rank, 0, 0);
                    for (int i = 0; i < COUNT; i++) {
                        sums[i] += Elements.getDouble(type, input, i);
                    }
                }
                for (int i = 0; i < COUNT; i++) {
                    Elements.putDouble(type, output, i, sums[i]);
                }
                assertThat(check.wrong(Collective.ALL_REDUCE, output, 0, -1, COUNT, 0))
                        .as(type.name())
                        .isEqualTo(COUNT);
            }
        }
    }

    @Test
    void blocksOfScatterAndGatherAreThoseOfTheirRanks() {
        try (Arena arena = Arena.ofConfined()) {
            ReferenceCheck check = new ReferenceCheck(DataType.I32, ReduceOp.SUM, 2, 20, 1);
            MemorySegment gathered = arena.allocate(80, 64);
            check.fill(gathered.asSlice(0, 40), 0, 0, 0);
            check.fill(gathered.asSlice(40, 40), 1, 0, 0);
            assertThat(check.wrong(Collective.ALL_GATHER, gathered, 0, -1, 10, 0))
                    .isZero();
            check.fill(gathered.asSlice(40, 40), 0, 0, 0);
            assertThat(check.wrong(Collective.ALL_GATHER, gathered, 1, -1, 10, 0))
                    .isEqualTo(10);

            MemorySegment first = arena.allocate(80, 64);
            MemorySegment second = arena.allocate(80, 64);
            check.fill(first, 0, 0, 0);
            check.fill(second, 1, 0, 0);
            MemorySegment scattered = arena.allocate(40, 64);
            for (int i = 0; i < 10; i++) {
                Elements.putLong(
                        DataType.I32,
                        scattered,
                        i,
                        Elements.getLong(DataType.I32, first, 10 + i) + Elements.getLong(DataType.I32, second, 10 + i));
            }
            assertThat(check.wrong(Collective.REDUCE_SCATTER, scattered, 1, -1, 10, 0))
                    .isZero();
            assertThat(check.wrong(Collective.REDUCE_SCATTER, scattered, 0, -1, 10, 0))
                    .isEqualTo(10);
        }
    }

    private static void reduce(DataType type, ReduceOp op, MemorySegment[] inputs, MemorySegment output, int i) {
        if (!type.isFloating()) {
            long result = Elements.getLong(type, inputs[0], i);
            for (int rank = 1; rank < RANKS; rank++) {
                long next = Elements.getLong(type, inputs[rank], i);
                result = switch (op) {
                    case SUM, AVG -> result + next;
                    case PROD -> result * next;
                    case MIN -> Math.min(result, next);
                    case MAX -> Math.max(result, next);
                };
            }
            Elements.putLong(type, output, i, op == ReduceOp.AVG ? result / RANKS : result);
            return;
        }
        // Rounded to the type after every step, in the reverse order.
        Elements.putDouble(type, output, i, Elements.getDouble(type, inputs[RANKS - 1], i));
        for (int rank = RANKS - 2; rank >= 0; rank--) {
            double so = Elements.getDouble(type, output, i);
            double next = Elements.getDouble(type, inputs[rank], i);
            Elements.putDouble(
                    type,
                    output,
                    i,
                    switch (op) {
                        case SUM, AVG -> so + next;
                        case PROD -> so * next;
                        case MIN -> Math.min(so, next);
                        case MAX -> Math.max(so, next);
                    });
        }
        if (op == ReduceOp.AVG) {
            Elements.putDouble(type, output, i, Elements.getDouble(type, output, i) / RANKS);
        }
    }
}

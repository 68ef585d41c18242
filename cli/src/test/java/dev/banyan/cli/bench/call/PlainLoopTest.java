package dev.banyan.cli.bench.call;

import static org.assertj.core.api.Assertions.assertThat;

import dev.banyan.schedule.type.Collective;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.Objects;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class PlainLoopTest {
    private static final Call SUM = new Call(Collective.ALL_REDUCE, DataType.F32, ReduceOp.SUM, -1, 8);

    @ParameterizedTest
    @ValueSource(longs = {1, 7, 1024, 16_384, 40_003})
    void everyRunWritesTheSumToAllBuffers(long count) {
        try (Arena arena = Arena.ofConfined()) {
            List<MemorySegment> buffers = IntStream.range(0, 8)
                    .mapToObj(rank -> arena.allocate(4 * count, 4))
                    .toList();
            for (int rank = 0; rank < 8; rank++) {
                for (long i = 0; i < count; i++) {
                    // Opposite pairs: sums of sums stay exact.
                    buffers.get(rank).setAtIndex(ValueLayout.JAVA_FLOAT, i, (rank % 2 == 0 ? 1f : -1f) * (i + 1));
                }
            }
            PlainLoop loop = Objects.requireNonNull(PlainLoop.of(SUM, buffers));
            assertThat(loop.medianUs(Repeats.exactly(0, 3), count)).isPositive();
            for (MemorySegment buffer : buffers) {
                for (long i = 0; i < count; i++) {
                    assertThat(buffer.getAtIndex(ValueLayout.JAVA_FLOAT, i)).isZero();
                }
            }
        }
    }

    @Test
    void otherCallsHaveNoLoop() {
        List<MemorySegment> none = List.of();
        assertThat(PlainLoop.of(new Call(Collective.ALL_REDUCE, DataType.F32, ReduceOp.MAX, -1, 8), none))
                .isNull();
        assertThat(PlainLoop.of(new Call(Collective.BROADCAST, DataType.F32, ReduceOp.SUM, 0, 8), none))
                .isNull();
        assertThat(PlainLoop.of(new Call(Collective.ALL_REDUCE, DataType.F32, ReduceOp.SUM, -1, 4), none))
                .isNull();
    }
}

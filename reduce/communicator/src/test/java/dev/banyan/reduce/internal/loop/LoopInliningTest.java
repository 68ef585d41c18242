package dev.banyan.reduce.internal.loop;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.sun.management.ThreadMXBean;
import dev.banyan.reduce.internal.kernel.Kernels;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import java.lang.foreign.Arena;
import java.lang.management.ManagementFactory;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * If the JIT does not inline all of a loop, vectors become objects, and the loop takes ten times as long. So a compiled
 * loop must not allocate, but for the vector of its divisors. The JVM runs with {@code -Xbatch}: a thread that makes a
 * method hot waits until it is compiled, so that the code depends on the number of runs and not on the time.
 */
class LoopInliningTest {
    private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();

    private static final int BYTES = 64 * FusedLoop.UNIT;
    /** After so many runs the optimising compiler has compiled a loop, and compiled it anew where it guessed wrong. */
    private static final int RUNS_UNTIL_COMPILED = 2_000;

    private static final int RUNS = 1_000;
    /** Half of the objects that one operation in each pass of the loop would allocate. */
    private static final long MOST_ALLOCATED = (long) RUNS * BYTES / 2;

    @BeforeAll
    static void needsVectors() {
        assumeTrue(Kernels.best() == Kernels.VECTOR, "needs --add-modules jdk.incubator.vector");
    }

    /** The longest loops inline most. */
    static Stream<LoopShape> shapes() {
        return shapes(FusedLoop.MOST_OPERANDS);
    }

    @ParameterizedTest
    @MethodSource("shapes")
    void compiledLoopsDoNotAllocate(LoopShape shape) {
        assertDoesNotAllocate(shape);
    }

    @ParameterizedTest
    @ValueSource(ints = {2, 3, 4, 5, 6, 7, 8})
    @Tag("soak")
    void compiledLoopsOfAllLengthsDoNotAllocate(int inputs) {
        shapes(inputs).forEach(LoopInliningTest::assertDoesNotAllocate);
    }

    private static Stream<LoopShape> shapes(int inputs) {
        Stream.Builder<LoopShape> shapes = Stream.builder();
        String sum = "x" + "x+".repeat(inputs - 1);
        shapes.add(new LoopShape(DataType.BF16, ReduceOp.SUM, sum, inputs, true, 0, false));
        shapes.add(mean(DataType.BF16, inputs));
        // As in a ring: what each rank passes on is rounded.
        shapes.add(new LoopShape(
                DataType.BF16, ReduceOp.SUM, "x" + "x+~".repeat(inputs - 2) + "x+", inputs, true, 0, false));
        // As with more ranks than a loop has inputs.
        shapes.add(new LoopShape(DataType.BF16, ReduceOp.SUM, "w" + sum.substring(1), inputs, false, 1, false));
        shapes.add(new LoopShape(DataType.BF16, ReduceOp.SUM, sum, inputs, false, 1, true));
        shapes.add(new LoopShape(DataType.BF16, ReduceOp.MAX, sum, inputs, true, 0, false));
        shapes.add(new LoopShape(DataType.F16, ReduceOp.MIN, sum, inputs, true, 0, false));
        shapes.add(new LoopShape(DataType.F64, ReduceOp.MIN, sum, inputs, true, 0, false));
        shapes.add(new LoopShape(DataType.F32, ReduceOp.SUM, sum, inputs, true, 0, false));
        shapes.add(mean(DataType.F32, inputs));
        shapes.add(mean(DataType.F64, inputs));
        return shapes.build();
    }

    private static LoopShape mean(DataType type, int inputs) {
        char quotient = Integer.bitCount(inputs) > 1 ? LoopShape.MEAN : LoopShape.SCALED;
        return new LoopShape(type, ReduceOp.SUM, "x" + "x+".repeat(inputs - 1) + quotient, inputs, true, 0, false);
    }

    private static void assertDoesNotAllocate(LoopShape shape) {
        FusedLoop loop = LoopGenerator.newLoop(shape);
        try (Arena arena = Arena.ofConfined()) {
            long[] addresses = FusedLoop.newAddresses();
            for (int o = 0; o < shape.inputs() + shape.outputs(); o++) {
                addresses[FusedLoop.MARGIN + o] =
                        arena.allocate(2L * BYTES, FusedLoop.UNIT).address();
            }
            run(loop, shape, RUNS_UNTIL_COMPILED, addresses);
            long before = THREADS.getCurrentThreadAllocatedBytes();
            run(loop, shape, RUNS, addresses);
            assertThat(THREADS.getCurrentThreadAllocatedBytes() - before)
                    .as("bytes that %,d runs of %s allocate", RUNS, shape)
                    .isLessThanOrEqualTo(MOST_ALLOCATED);
        }
    }

    private static void run(FusedLoop loop, LoopShape shape, int runs, long[] addresses) {
        for (int run = 0; run < runs; run++) {
            loop.run(addresses, BYTES, shape.inputs());
        }
    }
}

package dev.banyan.reduce.host;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.sun.management.ThreadMXBean;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import java.lang.foreign.Arena;
import java.lang.management.ManagementFactory;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Where the JIT does not inline all of a loop, vectors become objects, and the loop takes ten times as long. So a
 * compiled loop must not allocate, but for the vector of its divisors. The JVM runs with {@code -Xbatch}: a thread that
 * makes a method hot waits until it is compiled, so that the code depends on the number of runs and not on the time.
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

    /** The longest loops inline most; those of two inputs have a mean of their own. Products compile as sums do. */
    static Stream<LoopShape> shapes() {
        return Stream.concat(
                shapes(FusedLoop.MOST_OPERANDS)
                        .filter(shape -> shape.op() != ReduceOp.PROD || shape.equals(product(shape.inputs()))),
                shapes(2).filter(shape -> !shape.code().endsWith("+")));
    }

    private static LoopShape product(int inputs) {
        return new LoopShape(DataType.F16, ReduceOp.PROD, false, "x" + "x+".repeat(inputs - 1), inputs, true, 0, false);
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
        for (DataType type : List.of(DataType.F16, DataType.BF16)) {
            for (ReduceOp op : List.of(ReduceOp.SUM, ReduceOp.PROD)) {
                shapes.add(new LoopShape(type, op, false, sum, inputs, true, 0, false));
                // As in a ring: what each rank passes on is rounded.
                shapes.add(
                        new LoopShape(type, op, false, "x" + "x+~".repeat(inputs - 2) + "x+", inputs, true, 0, false));
                // As with more ranks than a loop has inputs.
                shapes.add(new LoopShape(type, op, false, "w" + sum.substring(1), inputs, false, 1, false));
                shapes.add(new LoopShape(type, op, false, sum, inputs, false, 1, true));
            }
            shapes.add(mean(type, inputs));
        }
        shapes.add(new LoopShape(DataType.BF16, ReduceOp.MAX, false, sum, inputs, true, 0, false));
        shapes.add(new LoopShape(DataType.F16, ReduceOp.MIN, false, sum, inputs, true, 0, false));
        shapes.add(new LoopShape(DataType.F32, ReduceOp.SUM, false, sum, inputs, true, 0, false));
        for (DataType type : DataType.values()) {
            if (type.bytes() != 2) {
                shapes.add(mean(type, inputs));
            }
        }
        return shapes.build();
    }

    private static LoopShape mean(DataType type, int inputs) {
        char quotient = !type.isFloating() || Integer.bitCount(inputs) > 1 ? Expression.MEAN : Expression.SCALED;
        return new LoopShape(
                type,
                ReduceOp.SUM,
                !type.isFloating(),
                "x" + "x+".repeat(inputs - 1) + quotient,
                inputs,
                true,
                0,
                false);
    }

    private static void assertDoesNotAllocate(LoopShape shape) {
        FusedLoop loop = LoopGenerator.newLoop(shape);
        try (Arena arena = Arena.ofConfined()) {
            long[] addresses = FusedLoop.newAddresses();
            for (int o = 0; o < shape.inputs() + shape.outputs(); o++) {
                addresses[FusedLoop.MARGIN + o] =
                        arena.allocate(2L * BYTES, FusedLoop.UNIT).address();
            }
            HalfBlock block = new HalfBlock();
            run(loop, shape, RUNS_UNTIL_COMPILED, addresses, block);
            long before = THREADS.getCurrentThreadAllocatedBytes();
            run(loop, shape, RUNS, addresses, block);
            assertThat(THREADS.getCurrentThreadAllocatedBytes() - before)
                    .as("bytes that %,d runs of %s allocate", RUNS, shape)
                    .isLessThanOrEqualTo(MOST_ALLOCATED);
        }
    }

    private static void run(FusedLoop loop, LoopShape shape, int runs, long[] addresses, HalfBlock block) {
        for (int run = 0; run < runs; run++) {
            loop.run(addresses, BYTES, shape.inputs(), block);
        }
    }
}

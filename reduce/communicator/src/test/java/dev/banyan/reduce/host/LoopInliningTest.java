package dev.banyan.reduce.host;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.sun.management.ThreadMXBean;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import java.lang.foreign.Arena;
import java.lang.management.ManagementFactory;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Where the JIT does not inline all of a loop, vectors become objects, and the loop takes ten times as long. So a
 * compiled loop must not allocate, but for the vector of its divisors.
 */
class LoopInliningTest {
    private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();

    private static final int BYTES = 64 * FusedLoop.UNIT;
    private static final int RUNS = 1_000;
    /** Half of the objects that one operation in each pass of the loop would allocate. */
    private static final long MOST_ALLOCATED = (long) RUNS * BYTES / 2;
    /** The JIT may compile a loop anew a few times. */
    private static final int MOST_ROUNDS = 1_000;

    @ParameterizedTest
    @CsvSource({
        "F32, SUM, false",
        "F32, SUM, true",
        "F64, SUM, true",
        "BF16, SUM, false",
        "BF16, SUM, true",
        "F16, PROD, false",
        "BF16, PROD, false",
        "BF16, MAX, false",
        "F16, SUM, false",
        "F16, SUM, true",
        "F16, MIN, false",
        "I8, SUM, true",
        "U8, SUM, true",
        "I32, SUM, true",
        "I64, SUM, true"
    })
    void compiledLoopsDoNotAllocate(DataType type, ReduceOp op, boolean mean) {
        for (int inputs = 2; inputs <= FusedLoop.MOST_OPERANDS; inputs++) {
            assertCompiles(type, op, mean, inputs);
        }
    }

    /** As in a ring: what each rank passes on is rounded. */
    @ParameterizedTest
    @CsvSource({"F16, SUM", "F16, PROD", "BF16, SUM", "BF16, PROD"})
    void compiledLoopsThatRoundDoNotAllocate(DataType type, ReduceOp op) {
        for (int inputs = 2; inputs <= FusedLoop.MOST_OPERANDS; inputs++) {
            assertDoesNotAllocate(
                    new LoopShape(type, op, false, "x" + "x+~".repeat(inputs - 2) + "x+", inputs, true, 0, false));
        }
    }

    /** As with more ranks than a loop has inputs. */
    @ParameterizedTest
    @CsvSource({"F16, SUM", "F16, PROD", "BF16, SUM", "BF16, PROD"})
    void compiledLoopsWithPrivateValuesDoNotAllocate(DataType type, ReduceOp op) {
        for (int inputs = 2; inputs <= FusedLoop.MOST_OPERANDS; inputs++) {
            String others = "x+".repeat(inputs - 1);
            assertDoesNotAllocate(new LoopShape(type, op, false, "w" + others, inputs, false, 1, false));
            assertDoesNotAllocate(new LoopShape(type, op, false, "x" + others, inputs, false, 1, true));
        }
    }

    private static void assertCompiles(DataType type, ReduceOp op, boolean mean, int inputs) {
        boolean integers = type == DataType.I8 || type == DataType.U8 || type == DataType.I32 || type == DataType.I64;
        String sum = "x" + "x+".repeat(inputs - 1);
        char quotient = integers || Integer.bitCount(inputs) > 1 ? Expression.MEAN : Expression.SCALED;
        assertDoesNotAllocate(
                new LoopShape(type, op, mean && integers, mean ? sum + quotient : sum, inputs, true, 0, false));
    }

    private static void assertDoesNotAllocate(LoopShape shape) {
        assumeTrue(Kernels.best() == Kernels.VECTOR, "needs --add-modules jdk.incubator.vector");
        long allocated = allocated(shape);
        if (allocated > MOST_ALLOCATED) {
            // On a busy machine the JIT compiles in another order, and rarely leaves one call out.
            allocated = allocated(shape);
        }
        assertThat(allocated)
                .as("bytes that %,d runs of %s allocate", RUNS, shape)
                .isLessThanOrEqualTo(MOST_ALLOCATED);
    }

    /** Returns how many bytes many runs of a new loop allocate when it is compiled. */
    private static long allocated(LoopShape shape) {
        FusedLoop loop = LoopGenerator.newLoop(shape);
        LoopWarmup.SHARED.await(loop);
        try (Arena arena = Arena.ofConfined()) {
            long[] addresses = FusedLoop.newAddresses();
            for (int o = 0; o < shape.inputs() + shape.outputs(); o++) {
                addresses[FusedLoop.MARGIN + o] =
                        arena.allocate(2L * BYTES, FusedLoop.UNIT).address();
            }
            HalfBlock block = new HalfBlock();
            long allocated = Long.MAX_VALUE;
            for (int round = 0; round < MOST_ROUNDS && allocated > MOST_ALLOCATED; round++) {
                long before = THREADS.getCurrentThreadAllocatedBytes();
                for (int run = 0; run < RUNS; run++) {
                    loop.run(addresses, BYTES, shape.inputs(), block);
                }
                allocated = THREADS.getCurrentThreadAllocatedBytes() - before;
            }
            return allocated;
        }
    }
}

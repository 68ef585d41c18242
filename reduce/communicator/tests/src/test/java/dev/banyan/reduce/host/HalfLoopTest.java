package dev.banyan.reduce.host;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Loops over 16-bit floats against the conversions of {@link Float}. */
class HalfLoopTest {
    private static final int ALL = 1 << 16;

    @BeforeEach
    void needsVectors() {
        assumeTrue(Kernels.best() == Kernels.VECTOR, "needs --add-modules jdk.incubator.vector");
    }

    @ParameterizedTest
    @CsvSource({"SUM, xx+, 1", "SUM, xx+/, 3", "SUM, xx+/, 8", "SUM, xx+*, 8", "PROD, xx+, 1"})
    void everyElementIsCombinedWithSome(ReduceOp op, String code, int divisor) {
        FusedLoop loop = LoopGenerator.loop(new LoopShape(DataType.F16, op, false, code, 2, false, 1, false));
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment values = arena.allocate(2L * ALL);
            for (int bits = 0; bits < ALL; bits++) {
                values.setAtIndex(ValueLayout.JAVA_SHORT_UNALIGNED, bits, (short) bits);
            }
            MemorySegment others = arena.allocate(values.byteSize());
            MemorySegment results = arena.allocate(values.byteSize());
            long[] addresses = FusedLoop.newAddresses();
            addresses[FusedLoop.MARGIN] = values.address();
            addresses[FusedLoop.MARGIN + 1] = others.address();
            addresses[FusedLoop.MARGIN + 2] = results.address();
            for (int other : new int[] {0, 0x8000, 1, 0x83ff, 0x400, 0x3c01, 0xbc00, 0x7bff, 0x7c00, 0xfc00, 0x7e00}) {
                for (int i = 0; i < ALL; i++) {
                    others.setAtIndex(ValueLayout.JAVA_SHORT_UNALIGNED, i, (short) other);
                }
                loop.run(addresses, 2 * ALL, divisor, new HalfBlock());
                short[] expected = new short[ALL];
                for (int bits = 0; bits < ALL; bits++) {
                    float value = ScalarOperators.floats(op)
                            .apply(Float.float16ToFloat((short) bits), Float.float16ToFloat((short) other));
                    expected[bits] = Float.floatToFloat16(value / divisor);
                }
                assertThat(canonical(results.toArray(ValueLayout.JAVA_SHORT_UNALIGNED)))
                        .as("%s with %x", op, other)
                        .isEqualTo(canonical(expected));
            }
        }
    }

    /** Replaces each NaN by one of them. */
    private static short[] canonical(short[] elements) {
        short[] all = elements.clone();
        for (int i = 0; i < all.length; i++) {
            if ((all[i] & 0x7fff) > 0x7c00) {
                all[i] = -1;
            }
        }
        return all;
    }
}

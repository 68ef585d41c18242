package dev.banyan.reduce.internal.kernel;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class KernelTest {
    private static final int BLOCK = 1031;

    @ParameterizedTest
    @EnumSource(DataType.class)
    void vectorAndPlainKernelsGiveTheSameBits(DataType type) {
        assumeTrue(Kernels.best() == Kernels.VECTOR, "needs --add-modules jdk.incubator.vector");
        SplittableRandom random = new SplittableRandom(7);
        for (ReduceOp op : List.of(ReduceOp.SUM, ReduceOp.PROD, ReduceOp.MIN, ReduceOp.MAX)) {
            KernelSpec spec = new KernelSpec(type, op);
            Kernel plain = Kernels.PLAIN.create(spec, BLOCK);
            Kernel vector = Kernels.VECTOR.create(spec, BLOCK);
            for (int sources = 2; sources <= 9; sources++) {
                for (int elements : new int[] {1, 2, 7, 8, 9, 31, 64, BLOCK}) {
                    int divisor = type.isFloating() && op == ReduceOp.SUM ? sources : 1;
                    long seed = random.nextLong();
                    byte[] expected = run(plain, spec, sources, elements, divisor, seed, false);
                    assertThat(run(vector, spec, sources, elements, divisor, seed, false))
                            .as("%s of %d x %d", spec, sources, elements)
                            .isEqualTo(expected);
                    assertThat(run(vector, spec, sources, elements, divisor, seed, true))
                            .isEqualTo(expected);
                    assertThat(run(plain, spec, sources, elements, divisor, seed, true))
                            .isEqualTo(expected);
                }
            }
        }
    }

    private static byte[] run(
            Kernel kernel, KernelSpec spec, int sources, int elements, int divisor, long seed, boolean intoFirst) {
        DataType type = spec.type();
        SplittableRandom random = new SplittableRandom(seed);
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment[] segments = new MemorySegment[sources + 1];
            long[] offsets = new long[sources + 1];
            for (int s = 0; s <= sources; s++) {
                offsets[s] = random.nextInt(16);
                segments[s] = arena.allocate(offsets[s] + (long) BLOCK * type.bytes());
                for (long i = 0; i < segments[s].byteSize(); i++) {
                    segments[s].set(JAVA_BYTE, i, (byte) random.nextInt());
                }
            }
            sprinkle(segments, offsets, type, elements, random);
            if (intoFirst) {
                segments[sources] = segments[0];
                offsets[sources] = offsets[0];
            }
            kernel.combine(segments, offsets, sources, elements, divisor);
            byte[] bytes = segments[sources]
                    .asSlice(offsets[sources], (long) elements * type.bytes())
                    .toArray(JAVA_BYTE);
            // The order of two operands decides the payload of a NaN, but of the least and the greatest.
            return VectorLanes.isExtreme(type, spec.op()) ? bytes : canonicalNaNs(bytes, type);
        }
    }

    /** Puts signed zeros, infinities and NaNs among the first elements. */
    private static void sprinkle(
            MemorySegment[] segments, long[] offsets, DataType type, int elements, SplittableRandom random) {
        if (type == DataType.F32) {
            float[] special = {0f, -0f, Float.NaN, Float.POSITIVE_INFINITY, Float.NEGATIVE_INFINITY, Float.MIN_VALUE};
            for (int s = 0; s < segments.length; s++) {
                for (int i = 0; i < elements; i += 3) {
                    segments[s].set(
                            ValueLayout.JAVA_FLOAT_UNALIGNED,
                            offsets[s] + 4L * i,
                            special[random.nextInt(special.length)]);
                }
            }
        }
        if (type == DataType.F64) {
            double[] special = {0d, -0d, Double.NaN, Double.POSITIVE_INFINITY, Double.NEGATIVE_INFINITY};
            for (int s = 0; s < segments.length; s++) {
                for (int i = 0; i < elements; i += 3) {
                    segments[s].set(
                            ValueLayout.JAVA_DOUBLE_UNALIGNED,
                            offsets[s] + 8L * i,
                            special[random.nextInt(special.length)]);
                }
            }
        }
    }

    private static byte[] canonicalNaNs(byte[] bytes, DataType type) {
        MemorySegment segment = MemorySegment.ofArray(bytes);
        for (int at = 0; at < bytes.length; at += type.bytes()) {
            boolean nan = switch (type) {
                case F32 -> Float.isNaN(segment.get(ValueLayout.JAVA_FLOAT_UNALIGNED, at));
                case F64 -> Double.isNaN(segment.get(ValueLayout.JAVA_DOUBLE_UNALIGNED, at));
                case F16 -> Float.isNaN(Float.float16ToFloat(segment.get(ValueLayout.JAVA_SHORT_UNALIGNED, at)));
                case BF16 -> Float.isNaN(Float.intBitsToFloat(segment.get(ValueLayout.JAVA_SHORT_UNALIGNED, at) << 16));
                default -> false;
            };
            if (nan) {
                Arrays.fill(bytes, at, at + type.bytes(), (byte) -1);
            }
        }
        return bytes;
    }

    @Test
    void brainFloatsRoundToNearestEvenAndKeepNaN() {
        float[] values = {
            1f,
            Float.intBitsToFloat(0x3f808000), // half way, even below
            Float.intBitsToFloat(0x3f818000), // half way, odd below
            Float.intBitsToFloat(0x3f808001),
            Float.MAX_VALUE,
            Float.intBitsToFloat(0x7f800001), // a NaN whose upper half alone would be infinity
            -0f,
            Float.NEGATIVE_INFINITY
        };
        short[] bits = new short[values.length];
        BrainFloat.narrow(values, bits, values.length);
        assertThat(bits)
                .containsExactly(
                        (short) 0x3f80,
                        (short) 0x3f80,
                        (short) 0x3f82,
                        (short) 0x3f81,
                        (short) 0x7f80,
                        (short) 0x7fc0,
                        (short) 0x8000,
                        (short) 0xff80);
    }

    @Test
    void minimumPropagatesNaNAndOrdersZeros() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment a = arena.allocateFrom(ValueLayout.JAVA_FLOAT, 0f, Float.NaN, 1f, -0f);
            MemorySegment b = arena.allocateFrom(ValueLayout.JAVA_FLOAT, -0f, 1f, Float.NaN, 0f);
            Kernels.best()
                    .create(new KernelSpec(DataType.F32, ReduceOp.MIN), 4)
                    .combine(new MemorySegment[] {a, b, a}, new long[3], 2, 4, 1);
            assertThat(a.toArray(ValueLayout.JAVA_FLOAT)).containsExactly(-0f, Float.NaN, Float.NaN, -0f);
        }
    }
}

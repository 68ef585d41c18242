package dev.banyan.reduce.internal.loop;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.banyan.reduce.internal.kernel.BrainFloat;
import dev.banyan.reduce.internal.kernel.FloatOp;
import dev.banyan.reduce.internal.kernel.Kernels;
import dev.banyan.reduce.internal.kernel.ScalarOperators;
import dev.banyan.reduce.internal.kernel.VectorLanes;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.SplittableRandom;
import jdk.incubator.vector.Vector;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The conversions of generated loops against those of the plain kernels. */
class LoopLanesTest {
    @BeforeEach
    void needsVectors() {
        assumeTrue(Kernels.best() == Kernels.VECTOR, "needs --add-modules jdk.incubator.vector");
    }

    @Test
    void everyBrainFloatWidens() {
        assertThat(widenedBrainFloats()).isEqualTo(expectedWide(bits -> Float.intBitsToFloat(bits << 16)));
    }

    @Test
    void brainFloatsRoundToNearestEven() {
        float[] values = values();
        short[] expected = new short[values.length];
        BrainFloat.narrow(values, expected, values.length);
        assertThat(packed(values)).isEqualTo(canonical(expected));
    }

    @ParameterizedTest
    @CsvSource({"F16, MIN", "F16, MAX", "BF16, MIN", "BF16, MAX"})
    void everyPairOfSomeSixteenBitFloatsIsOrdered(DataType type, ReduceOp op) {
        LoopLanes lanes = LoopLanes.of(type, op);
        int infinity = type == DataType.F16 ? 0x7c00 : 0x7f80;
        short[] all = new short[1 << 16];
        for (int bits = 0; bits < all.length; bits++) {
            all[bits] = (short) bits;
        }
        FloatOp expected = ScalarOperators.floats(op);
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment values = arena.allocateFrom(ValueLayout.JAVA_SHORT, all);
            MemorySegment results = arena.allocate(values.byteSize());
            for (int other :
                    new int[] {0, 0x8000, 1, 0x8001, infinity, infinity | 0x8000, infinity + 1, 0xffff, 0x3c00, 0xbc01
                    }) {
                MemorySegment others = arena.allocate(64, 64);
                for (int i = 0; i < 32; i++) {
                    others.setAtIndex(ValueLayout.JAVA_SHORT, i, (short) other);
                }
                for (long at = 0; at < values.byteSize(); at += lanes.species().vectorByteSize()) {
                    VectorLanes.store(
                            lanes.pack(lanes.load(values.address() + at)
                                    .lanewise(VectorLanes.operator(type, op), lanes.load(others.address()))),
                            results.address() + at);
                }
                for (int bits = 0; bits < all.length; bits++) {
                    float wanted = expected.apply(widened(type, (short) bits), widened(type, (short) other));
                    float result = widened(type, results.getAtIndex(ValueLayout.JAVA_SHORT, bits));
                    assertThat(Float.floatToIntBits(result))
                            .as("%s of %x and %x", op, bits, other)
                            .isEqualTo(Float.floatToIntBits(wanted));
                }
            }
        }
    }

    private static float widened(DataType type, short bits) {
        return type == DataType.F16 ? Float.float16ToFloat(bits) : Float.intBitsToFloat(bits << 16);
    }

    @Test
    void roundedValuesAreThoseThatPackingWrites() {
        LoopLanes lanes = LoopLanes.of(DataType.BF16, ReduceOp.SUM);
        float[] values = values();
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment wide = arena.allocateFrom(ValueLayout.JAVA_FLOAT, values);
            PlainLanes floats = new PlainLanes(lanes.species());
            for (long at = 0; at < wide.byteSize(); at += lanes.species().vectorByteSize()) {
                VectorLanes.store(lanes.round(floats.load(wide.address() + at)), wide.address() + at);
            }
            float[] rounded = wide.toArray(ValueLayout.JAVA_FLOAT);
            assertThat(packed(rounded)).isEqualTo(packed(values));
            assertThat(rounded[3]).isEqualTo(0x1.02p-24f);
        }
    }

    private interface Widening {
        float widen(short bits);
    }

    /** Returns the bits of all elements as floats. */
    private static int[] expectedWide(Widening widening) {
        int[] all = new int[1 << 16];
        for (int bits = 0; bits < all.length; bits++) {
            all[bits] = Float.floatToIntBits(widening.widen((short) bits));
        }
        return all;
    }

    private static int[] widenedBrainFloats() {
        LoopLanes lanes = LoopLanes.of(DataType.BF16, ReduceOp.SUM);
        int[] all = new int[1 << 16];
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment elements = arena.allocate(2L * all.length);
            for (int bits = 0; bits < all.length; bits++) {
                elements.setAtIndex(ValueLayout.JAVA_SHORT_UNALIGNED, bits, (short) bits);
            }
            MemorySegment upper = arena.allocate(elements.byteSize());
            MemorySegment lower = arena.allocate(elements.byteSize());
            for (long at = 0; at < elements.byteSize(); at += lanes.species().vectorByteSize()) {
                Vector<Object> pairs = lanes.load(elements.address() + at);
                VectorLanes.store(lanes.lower(pairs), lower.address() + at);
                VectorLanes.store(lanes.upper(pairs), upper.address() + at);
            }
            for (int bits = 0; bits < all.length; bits++) {
                all[bits] = Float.floatToIntBits(
                        (bits % 2 == 0 ? lower : upper).getAtIndex(ValueLayout.JAVA_FLOAT_UNALIGNED, bits / 2));
            }
        }
        return all;
    }

    private static short[] packed(float[] values) {
        LoopLanes lanes = LoopLanes.of(DataType.BF16, ReduceOp.SUM);
        PlainLanes floats = new PlainLanes(lanes.species());
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment wide = arena.allocateFrom(ValueLayout.JAVA_FLOAT, values);
            MemorySegment elements = arena.allocate(4L * values.length, 2);
            for (long at = 0; at < wide.byteSize(); at += lanes.species().vectorByteSize()) {
                Vector<Object> lower = floats.load(wide.address() + at);
                VectorLanes.store(
                        lanes.join(lanes.pack(lanes.round(lower)), lanes.pack(lanes.round(lower.neg()))),
                        elements.address() + at);
            }
            short[] twice = elements.toArray(ValueLayout.JAVA_SHORT);
            short[] packed = new short[values.length];
            for (int i = 0; i < packed.length; i++) {
                packed[i] = twice[2 * i];
                assertThat((short) (twice[2 * i + 1] ^ Short.MIN_VALUE))
                        .as("%s and its negative", values[i])
                        .isEqualTo(packed[i]);
            }
            return canonical(packed);
        }
    }

    /** Replaces each NaN by one of them. */
    private static short[] canonical(short[] elements) {
        short[] all = elements.clone();
        for (int i = 0; i < all.length; i++) {
            if ((all[i] & 0x7fff) > 0x7f80) {
                all[i] = -1;
            }
        }
        return all;
    }

    /** Returns floats of any bits, and neighbours of all numbers of 16 bits and of the middles between them. */
    private static float[] values() {
        SplittableRandom random = new SplittableRandom(3);
        float[] values = new float[1 << 16];
        for (int i = 0; i < values.length; i++) {
            int beside = random.nextInt(3) - 1;
            values[i] = Float.intBitsToFloat(
                    switch (i % 4) {
                        case 0 -> random.nextInt();
                        case 1 -> Float.floatToRawIntBits(Float.float16ToFloat((short) random.nextInt())) + beside;
                        case 2 ->
                            Float.floatToRawIntBits(Float.float16ToFloat((short) random.nextInt()) + 0x1p-25f) + beside;
                        default -> (random.nextInt() & 0xfffff000) + beside;
                    });
        }
        values[3] = 0x1.02p-24f;
        return values;
    }
}

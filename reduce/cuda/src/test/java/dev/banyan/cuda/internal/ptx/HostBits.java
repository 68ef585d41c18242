package dev.banyan.cuda.internal.ptx;

import static org.assertj.core.api.Assertions.assertThat;

import dev.banyan.schedule.type.DataType;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.SplittableRandom;

/** Awkward values, and the comparison of what a kernel made of them with what the host made. */
final class HostBits {
    private HostBits() {}

    static void assertSame(DataType type, String what, byte[] result, MemorySegment expected) {
        ByteBuffer got = ByteBuffer.wrap(result).order(ByteOrder.nativeOrder());
        ByteBuffer wanted = expected.asSlice(0, result.length).asByteBuffer().order(ByteOrder.nativeOrder());
        if (got.equals(wanted)) {
            return;
        }
        for (int i = 0; i < result.length; i += type.bytes()) {
            assertThat(canonical(type, got, i))
                    .as("%s, element %d", what, i / type.bytes())
                    .isEqualTo(canonical(type, wanted, i));
        }
    }

    /** All NaNs are one. */
    private static long canonical(DataType type, ByteBuffer values, int at) {
        return switch (type) {
            case F64 -> Double.doubleToLongBits(values.getDouble(at));
            case F32 -> Float.floatToIntBits(values.getFloat(at));
            case F16 -> Float.isNaN(Float.float16ToFloat(values.getShort(at))) ? Long.MAX_VALUE : values.getShort(at);
            case BF16 ->
                Float.isNaN(Float.intBitsToFloat(values.getShort(at) << 16)) ? Long.MAX_VALUE : values.getShort(at);
            case I8, U8 -> values.get(at);
            case I32 -> values.getInt(at);
            case I64 -> values.getLong(at);
        };
    }

    /** Any bits; of floats also zeros of both signs, infinities, subnormals, and short mantissas, which make ties. */
    static void fill(SplittableRandom random, DataType type, MemorySegment values) {
        ByteBuffer buffer = values.asByteBuffer().order(ByteOrder.nativeOrder());
        while (buffer.hasRemaining()) {
            int at = buffer.position();
            for (int b = 0; b < type.bytes(); b++) {
                buffer.put((byte) random.nextInt());
            }
            if (!type.isFloating()) {
                continue;
            }
            double value = switch (random.nextInt(8)) {
                case 0 -> random.nextBoolean() ? 0.0 : -0.0;
                case 1 -> random.nextBoolean() ? Double.POSITIVE_INFINITY : Double.NEGATIVE_INFINITY;
                case 2 -> Double.NaN;
                case 3 -> random.nextInt(64) * smallest(type);
                case 4 -> random.nextInt(-4096, 4096) * 0x1p-12;
                case 5 -> random.nextDouble(-4, 4);
                default -> 1;
            };
            if (value != 1) {
                put(type, buffer, at, value);
            }
        }
    }

    private static double smallest(DataType type) {
        return switch (type) {
            case F64 -> Double.MIN_VALUE;
            case F16 -> 0x1p-24;
            default -> 0x1p-133;
        };
    }

    private static void put(DataType type, ByteBuffer buffer, int at, double value) {
        switch (type) {
            case F64 -> buffer.putDouble(at, value);
            case F32 -> buffer.putFloat(at, (float) value);
            case F16 -> buffer.putShort(at, Float.floatToFloat16((float) value));
            default -> buffer.putShort(at, (short) (Float.floatToRawIntBits((float) value) >>> 16));
        }
    }
}

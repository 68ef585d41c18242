package dev.banyan.cuda;

import static dev.banyan.cuda.EmulatedGpus.allocate;
import static dev.banyan.cuda.EmulatedGpus.at;
import static dev.banyan.cuda.EmulatedGpus.enter;
import static dev.banyan.cuda.EmulatedGpus.ok;
import static jcuda.driver.JCudaDriver.cuLaunchKernel;
import static jcuda.driver.JCudaDriver.cuMemcpyDtoH;
import static jcuda.driver.JCudaDriver.cuMemcpyHtoD;
import static org.assertj.core.api.Assertions.assertThat;

import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Random;
import jcuda.Pointer;
import jcuda.driver.CUdeviceptr;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The emulated driver's kernels, against Java's arithmetic on random bits. */
class EmulatedArithmeticTest {
    private static final int ELEMENTS = 3000;
    private static final int SOURCES = 3;
    private static final int DIVISOR = 3;

    @ParameterizedTest
    @EnumSource(DataType.class)
    void kernelsHaveTheBitsOfJava(DataType type) {
        EmulatedGpus.driver();
        enter(0);
        Random random = new Random(11);
        byte[][] values = new byte[SOURCES][ELEMENTS * type.bytes()];
        CUdeviceptr[] addresses = new CUdeviceptr[SOURCES + 1];
        for (int s = 0; s < SOURCES; s++) {
            random.nextBytes(values[s]);
            special(type, values[s], random);
            // Not a multiple of 16 bytes.
            addresses[s + 1] = at(allocate(values[s].length + 8L), 8);
            ok(cuMemcpyHtoD(addresses[s + 1], Pointer.to(values[s]), values[s].length));
        }
        addresses[0] = allocate(values[0].length);
        for (ReduceOp op : ReduceOp.values()) {
            if (op == ReduceOp.AVG && !type.isFloating()) {
                continue;
            }
            byte[] result = new byte[values[0].length];
            run(type, op, addresses);
            ok(cuMemcpyDtoH(Pointer.to(result), addresses[0], result.length));
            for (int i = 0; i < ELEMENTS; i++) {
                long expected = expected(type, op, values, i);
                assertThat(canonical(type, bits(type, result, i)))
                        .as("%s of %s, element %d", op, type, i)
                        .isEqualTo(canonical(type, expected));
            }
        }
    }

    private static void run(DataType type, ReduceOp op, CUdeviceptr[] addresses) {
        Kernel kernel = new Kernel.Reduce(op == ReduceOp.AVG ? ReduceOp.SUM : op, Element.of(type), SOURCES);
        Pointer parameters = Pointer.to(
                Pointer.to(addresses[0]),
                Pointer.to(addresses[1]),
                Pointer.to(addresses[2]),
                Pointer.to(addresses[3]),
                Pointer.to(new long[] {ELEMENTS}),
                Pointer.to(new int[] {op == ReduceOp.AVG ? DIVISOR : 1}));
        ok(cuLaunchKernel(EmulatedGpus.kernel(kernel), 8, 1, 1, 128, 1, 1, 0, null, parameters, null));
    }

    /** Zeros of both signs, values of similar size, and short mantissas, which make ties. */
    private static void special(DataType type, byte[] values, Random random) {
        if (!type.isFloating()) {
            return;
        }
        for (int i = 0; i < ELEMENTS; i++) {
            double value = switch (random.nextInt(4)) {
                case 0 -> random.nextBoolean() ? 0.0 : -0.0;
                case 1 -> random.nextInt(4096) * 0x1p-12;
                case 2 -> random.nextGaussian() * 0x1p-14;
                default -> Double.MAX_VALUE;
            };
            if (value < Double.MAX_VALUE) {
                put(type, values, i, fromDouble(type, value));
            }
        }
    }

    private static ByteBuffer wrap(byte[] values) {
        return ByteBuffer.wrap(values).order(ByteOrder.nativeOrder());
    }

    private static void put(DataType type, byte[] values, int index, long bits) {
        switch (type.bytes()) {
            case 1 -> values[index] = (byte) bits;
            case 2 -> wrap(values).putShort(2 * index, (short) bits);
            case 4 -> wrap(values).putInt(4 * index, (int) bits);
            default -> wrap(values).putLong(8 * index, bits);
        }
    }

    /** The element, with its sign. */
    private static long bits(DataType type, byte[] values, int index) {
        return switch (type.bytes()) {
            case 1 -> type == DataType.U8 ? values[index] & 0xff : values[index];
            case 2 -> wrap(values).getShort(2 * index);
            case 4 -> wrap(values).getInt(4 * index);
            default -> wrap(values).getLong(8 * index);
        };
    }

    private static float toFloat(DataType type, long bits) {
        return switch (type) {
            case F16 -> Float.float16ToFloat((short) bits);
            case BF16 -> Float.intBitsToFloat((int) bits << 16);
            default -> Float.intBitsToFloat((int) bits);
        };
    }

    private static long fromFloat(DataType type, float value) {
        return switch (type) {
            case F16 -> Float.floatToFloat16(value);
            case BF16 -> brain(value);
            default -> Float.floatToRawIntBits(value);
        };
    }

    /** To nearest, ties to even, by way of the neighbours. */
    private static long brain(float value) {
        int low = Float.floatToRawIntBits(value) & 0xffff0000;
        if (Float.isNaN(value)) {
            return (short) 0x7fc0;
        }
        int cut = Float.floatToRawIntBits(value) & 0xffff;
        boolean up = cut > 0x8000 || (cut == 0x8000 && (low & 0x10000) != 0);
        return (short) ((low >>> 16) + (up ? 1 : 0));
    }

    private static long fromDouble(DataType type, double value) {
        return type == DataType.F64 ? Double.doubleToRawLongBits(value) : fromFloat(type, (float) value);
    }

    private static long expected(DataType type, ReduceOp op, byte[][] values, int index) {
        long first = bits(type, values[0], index);
        if (type == DataType.F64) {
            double sum = Double.longBitsToDouble(first);
            for (int s = 1; s < SOURCES; s++) {
                sum = combine(op, sum, Double.longBitsToDouble(bits(type, values[s], index)));
            }
            return Double.doubleToRawLongBits(op == ReduceOp.AVG ? sum / DIVISOR : sum);
        }
        if (type.isFloating()) {
            float sum = toFloat(type, first);
            for (int s = 1; s < SOURCES; s++) {
                sum = combine(op, sum, toFloat(type, bits(type, values[s], index)));
            }
            return fromFloat(type, op == ReduceOp.AVG ? sum / DIVISOR : sum);
        }
        long sum = first;
        for (int s = 1; s < SOURCES; s++) {
            sum = combine(op, sum, bits(type, values[s], index));
        }
        byte[] wrapped = new byte[type.bytes()];
        put(type, wrapped, 0, sum);
        return bits(type, wrapped, 0);
    }

    private static float combine(ReduceOp op, float a, float b) {
        return switch (op) {
            case SUM, AVG -> a + b;
            case PROD -> a * b;
            case MIN -> Math.min(a, b);
            case MAX -> Math.max(a, b);
        };
    }

    private static double combine(ReduceOp op, double a, double b) {
        return switch (op) {
            case SUM, AVG -> a + b;
            case PROD -> a * b;
            case MIN -> Math.min(a, b);
            case MAX -> Math.max(a, b);
        };
    }

    private static long combine(ReduceOp op, long a, long b) {
        return switch (op) {
            case SUM, AVG -> a + b;
            case PROD -> a * b;
            case MIN -> Math.min(a, b);
            case MAX -> Math.max(a, b);
        };
    }

    /** All NaNs are one. */
    private static long canonical(DataType type, long bits) {
        return switch (type) {
            case F64 -> Double.doubleToLongBits(Double.longBitsToDouble(bits));
            case F32 -> Float.floatToIntBits(Float.intBitsToFloat((int) bits));
            case F16, BF16 -> Float.isNaN(toFloat(type, bits)) ? Long.MAX_VALUE : bits;
            default -> bits;
        };
    }
}

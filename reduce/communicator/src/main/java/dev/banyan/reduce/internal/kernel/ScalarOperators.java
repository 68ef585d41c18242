package dev.banyan.reduce.internal.kernel;

import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import java.util.function.DoubleBinaryOperator;
import java.util.function.IntBinaryOperator;
import java.util.function.LongBinaryOperator;

/**
 * The operations on single elements. AVG is its sum. The least and the greatest float are NaN if one is NaN, with all
 * bits set but the sign, so that the order of ranks decides nothing; -0 is less than +0.
 */
public final class ScalarOperators {
    private ScalarOperators() {}

    public static FloatOp floats(ReduceOp op) {
        return switch (op) {
            case SUM, AVG -> Float::sum;
            case PROD -> (a, b) -> a * b;
            case MIN -> (a, b) -> oneNan(Math.min(a, b));
            case MAX -> (a, b) -> oneNan(Math.max(a, b));
        };
    }

    public static DoubleBinaryOperator doubles(ReduceOp op) {
        return switch (op) {
            case SUM, AVG -> Double::sum;
            case PROD -> (a, b) -> a * b;
            case MIN -> (a, b) -> oneNan(Math.min(a, b));
            case MAX -> (a, b) -> oneNan(Math.max(a, b));
        };
    }

    private static float oneNan(float value) {
        return Float.isNaN(value) ? Float.intBitsToFloat(Integer.MAX_VALUE) : value;
    }

    private static double oneNan(double value) {
        return Double.isNaN(value) ? Double.longBitsToDouble(Long.MAX_VALUE) : value;
    }

    public static IntBinaryOperator ints(ReduceOp op) {
        return switch (op) {
            case SUM, AVG -> Integer::sum;
            case PROD -> (a, b) -> a * b;
            case MIN -> Math::min;
            case MAX -> Math::max;
        };
    }

    public static LongBinaryOperator longs(ReduceOp op) {
        return switch (op) {
            case SUM, AVG -> Long::sum;
            case PROD -> (a, b) -> a * b;
            case MIN -> Math::min;
            case MAX -> Math::max;
        };
    }

    /** On bytes widened with their sign; only the lowest 8 bits of the result count. */
    public static IntBinaryOperator bytes(KernelSpec spec) {
        if (spec.type() != DataType.U8) {
            return ints(spec.op());
        }
        return switch (spec.op()) {
            case MIN -> (a, b) -> Math.min(a & 0xff, b & 0xff);
            case MAX -> (a, b) -> Math.max(a & 0xff, b & 0xff);
            default -> ints(spec.op());
        };
    }
}

package dev.banyan.reduce.internal.kernel;

import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import java.util.function.DoubleBinaryOperator;
import java.util.function.IntBinaryOperator;
import java.util.function.LongBinaryOperator;

/** The operations on single elements. AVG is its sum. */
public final class ScalarOperators {
    private ScalarOperators() {}

    public static FloatOp floats(ReduceOp op) {
        return switch (op) {
            case SUM, AVG -> Float::sum;
            case PROD -> (a, b) -> a * b;
            case MIN -> Math::min;
            case MAX -> Math::max;
        };
    }

    public static DoubleBinaryOperator doubles(ReduceOp op) {
        return switch (op) {
            case SUM, AVG -> Double::sum;
            case PROD -> (a, b) -> a * b;
            case MIN -> Math::min;
            case MAX -> Math::max;
        };
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

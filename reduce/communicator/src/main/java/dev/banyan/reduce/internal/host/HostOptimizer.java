package dev.banyan.reduce.internal.host;

import static java.lang.foreign.ValueLayout.JAVA_DOUBLE_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_FLOAT_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_SHORT_UNALIGNED;

import dev.banyan.reduce.internal.kernel.BrainFloat;
import dev.banyan.reduce.internal.kernel.HalfFloat;
import dev.banyan.reduce.optimizer.Optimizer;
import dev.banyan.reduce.optimizer.ParameterUpdate;
import dev.banyan.schedule.type.DataType;
import java.lang.foreign.MemorySegment;

/**
 * Runs updates in memory of the host, on the calling thread, with the arithmetic that {@link Optimizer} defines. Loops
 * run over heap arrays of one block, which the JIT vectorises.
 */
public final class HostOptimizer {
    private static final int BLOCK = 1024;

    private HostOptimizer() {}

    /**
     * Runs an update and returns when it has ended.
     *
     * @param update value, gradient and state in native memory of any alignment that the calling thread may access
     */
    public static void run(ParameterUpdate update) {
        double[] coefficients = update.optimizer().coefficients(update.step());
        if (update.type() == DataType.F64) {
            doubles(update, coefficients);
        } else {
            floats(update, coefficients);
        }
    }

    private static void floats(ParameterUpdate update, double[] coefficients) {
        float[] c = new float[coefficients.length];
        for (int i = 0; i < c.length; i++) {
            c[i] = (float) coefficients[i];
        }
        boolean wide = update.type() == DataType.F32;
        int moments = update.optimizer().moments();
        float[] value = new float[BLOCK];
        float[] gradient = new float[BLOCK];
        float[][] moment = new float[moments][BLOCK];
        short[] bits = new short[wide ? 0 : BLOCK];
        for (long at = 0; at < update.count(); at += BLOCK) {
            int n = (int) Math.min(BLOCK, update.count() - at);
            load(update.type(), update.gradient(), at, gradient, bits, n);
            if (wide || update.step() == 1) {
                load(update.type(), update.value(), at, value, bits, n);
            } else {
                MemorySegment.copy(update.state(), JAVA_FLOAT_UNALIGNED, offset(update, 0, at), value, 0, n);
            }
            int first = wide ? 0 : 1;
            for (int m = 0; m < moments; m++) {
                MemorySegment.copy(
                        update.state(), JAVA_FLOAT_UNALIGNED, offset(update, first + m, at), moment[m], 0, n);
            }
            switch (update.optimizer()) {
                case Optimizer.Sgd _ when moments == 0 -> descend(c, value, gradient, n);
                case Optimizer.Sgd _ -> descend(c, value, gradient, moment[0], n);
                case Optimizer.Adam adam -> adapt(c, adam.decoupled(), value, gradient, moment[0], moment[1], n);
            }
            for (int m = 0; m < moments; m++) {
                MemorySegment.copy(
                        moment[m], 0, update.state(), JAVA_FLOAT_UNALIGNED, offset(update, first + m, at), n);
            }
            if (!wide) {
                MemorySegment.copy(value, 0, update.state(), JAVA_FLOAT_UNALIGNED, offset(update, 0, at), n);
            }
            store(update.type(), value, bits, update.value(), at, n);
        }
    }

    /** Returns the place of an element of an array of the state, in bytes. */
    private static long offset(ParameterUpdate update, int array, long at) {
        return (array * update.count() + at) * (update.type() == DataType.F64 ? Double.BYTES : Float.BYTES);
    }

    private static void load(DataType type, MemorySegment source, long at, float[] target, short[] bits, int n) {
        if (type == DataType.F32) {
            MemorySegment.copy(source, JAVA_FLOAT_UNALIGNED, at * Float.BYTES, target, 0, n);
            return;
        }
        MemorySegment.copy(source, JAVA_SHORT_UNALIGNED, at * Short.BYTES, bits, 0, n);
        if (type == DataType.BF16) {
            BrainFloat.widen(bits, target, n);
        } else {
            HalfFloat.widen(bits, target, n);
        }
    }

    private static void store(DataType type, float[] source, short[] bits, MemorySegment target, long at, int n) {
        if (type == DataType.F32) {
            MemorySegment.copy(source, 0, target, JAVA_FLOAT_UNALIGNED, at * Float.BYTES, n);
            return;
        }
        if (type == DataType.BF16) {
            BrainFloat.narrow(source, bits, n);
        } else {
            HalfFloat.narrow(source, bits, n);
        }
        MemorySegment.copy(bits, 0, target, JAVA_SHORT_UNALIGNED, at * Short.BYTES, n);
    }

    private static void descend(float[] c, float[] value, float[] gradient, int n) {
        for (int i = 0; i < n; i++) {
            float slope = c[0] * gradient[i] + c[1] * value[i];
            value[i] += 0 - c[2] * slope;
        }
    }

    private static void descend(float[] c, float[] value, float[] gradient, float[] velocity, int n) {
        for (int i = 0; i < n; i++) {
            float slope = c[0] * gradient[i] + c[1] * value[i];
            velocity[i] = c[3] * velocity[i] - c[2] * slope;
            value[i] += velocity[i];
        }
    }

    private static void adapt(
            float[] c, boolean decoupled, float[] value, float[] gradient, float[] mean, float[] square, int n) {
        for (int i = 0; i < n; i++) {
            float a = decoupled ? c[0] * gradient[i] : c[0] * gradient[i] + c[1] * value[i];
            float kept = decoupled ? c[1] * value[i] : value[i];
            mean[i] = c[2] * mean[i] + c[3] * a;
            square[i] = c[4] * square[i] + c[5] * (a * a);
            // The root of a float, rounded from the double one, is the float one.
            float bound = (float) Math.sqrt(square[i]) / c[6] + c[7];
            value[i] = kept - c[8] * (mean[i] / bound);
        }
    }

    private static void doubles(ParameterUpdate update, double[] c) {
        int moments = update.optimizer().moments();
        double[] value = new double[BLOCK];
        double[] gradient = new double[BLOCK];
        double[][] moment = new double[moments][BLOCK];
        for (long at = 0; at < update.count(); at += BLOCK) {
            int n = (int) Math.min(BLOCK, update.count() - at);
            long bytes = at * Double.BYTES;
            MemorySegment.copy(update.gradient(), JAVA_DOUBLE_UNALIGNED, bytes, gradient, 0, n);
            MemorySegment.copy(update.value(), JAVA_DOUBLE_UNALIGNED, bytes, value, 0, n);
            for (int m = 0; m < moments; m++) {
                MemorySegment.copy(update.state(), JAVA_DOUBLE_UNALIGNED, offset(update, m, at), moment[m], 0, n);
            }
            switch (update.optimizer()) {
                case Optimizer.Sgd _ when moments == 0 -> descend(c, value, gradient, n);
                case Optimizer.Sgd _ -> descend(c, value, gradient, moment[0], n);
                case Optimizer.Adam adam -> adapt(c, adam.decoupled(), value, gradient, moment[0], moment[1], n);
            }
            for (int m = 0; m < moments; m++) {
                MemorySegment.copy(moment[m], 0, update.state(), JAVA_DOUBLE_UNALIGNED, offset(update, m, at), n);
            }
            MemorySegment.copy(value, 0, update.value(), JAVA_DOUBLE_UNALIGNED, bytes, n);
        }
    }

    private static void descend(double[] c, double[] value, double[] gradient, int n) {
        for (int i = 0; i < n; i++) {
            double slope = c[0] * gradient[i] + c[1] * value[i];
            value[i] += 0 - c[2] * slope;
        }
    }

    private static void descend(double[] c, double[] value, double[] gradient, double[] velocity, int n) {
        for (int i = 0; i < n; i++) {
            double slope = c[0] * gradient[i] + c[1] * value[i];
            velocity[i] = c[3] * velocity[i] - c[2] * slope;
            value[i] += velocity[i];
        }
    }

    private static void adapt(
            double[] c, boolean decoupled, double[] value, double[] gradient, double[] mean, double[] square, int n) {
        for (int i = 0; i < n; i++) {
            double a = decoupled ? c[0] * gradient[i] : c[0] * gradient[i] + c[1] * value[i];
            double kept = decoupled ? c[1] * value[i] : value[i];
            mean[i] = c[2] * mean[i] + c[3] * a;
            square[i] = c[4] * square[i] + c[5] * (a * a);
            double bound = Math.sqrt(square[i]) / c[6] + c[7];
            value[i] = kept - c[8] * (mean[i] / bound);
        }
    }
}

package dev.banyan.reduce.internal.host;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import dev.banyan.reduce.optimizer.Optimizer;
import dev.banyan.reduce.optimizer.ParameterUpdate;
import dev.banyan.schedule.type.DataType;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

class HostOptimizerTest {
    private static final int STEPS = 4;

    static Stream<Arguments> optimizersAndTypes() {
        return Stream.of(
                        Optimizer.sgd(0.1).weightDecay(0.01).gradientFactor(0.125),
                        Optimizer.sgd(0.1).momentum(0.9).weightDecay(0.01).gradientFactor(0.125),
                        Optimizer.adam(0.01).weightDecay(0.1).gradientFactor(0.5),
                        Optimizer.adamW(0.01).betas(0.8, 0.95).epsilon(1e-6))
                .flatMap(optimizer -> Stream.of(DataType.F32, DataType.F64, DataType.F16, DataType.BF16)
                        .map(type -> Arguments.of(optimizer, type)));
    }

    /** The documented formulas, one element after another, in the type that the documentation names. */
    @ParameterizedTest
    @MethodSource("optimizersAndTypes")
    void givesTheBitsOfTheDocumentedFormulas(Optimizer optimizer, DataType type) {
        for (int count : new int[] {0, 1, 1023, 1024, 2051}) {
            SplittableRandom random = new SplittableRandom(count);
            try (Arena arena = Arena.ofConfined()) {
                MemorySegment value = arena.allocate((long) count * type.bytes(), 8);
                MemorySegment gradient = arena.allocate((long) count * type.bytes(), 8);
                MemorySegment state = arena.allocate(optimizer.stateBytes(type, count), 8);
                Element[] elements = new Element[count];
                for (int i = 0; i < count; i++) {
                    set(value, type, i, random.nextDouble(-1, 1));
                    elements[i] = new Element(get(value, type, i));
                }
                for (int step = 1; step <= STEPS; step++) {
                    for (int i = 0; i < count; i++) {
                        set(gradient, type, i, random.nextDouble(-10, 10));
                        elements[i].update(optimizer, type, step, get(gradient, type, i));
                    }
                    HostOptimizer.run(new ParameterUpdate(optimizer, step, 0, type, count, value, gradient, state));
                }
                MemorySegment expected = arena.allocate(value.byteSize(), 8);
                for (int i = 0; i < count; i++) {
                    set(expected, type, i, elements[i].value);
                }
                assertThat(value.mismatch(expected)).isEqualTo(-1);
            }
        }
    }

    /** One element with its moments, as doubles that hold what the arithmetic's type holds. */
    private static final class Element {
        private double value;
        private double first;
        private double second;

        Element(double value) {
            this.value = value;
        }

        void update(Optimizer optimizer, DataType type, int step, double gradient) {
            switch (optimizer) {
                case Optimizer.Sgd sgd
                when type == DataType.F64 -> {
                    double slope = sgd.gradientFactor() * gradient + sgd.weightDecay() * value;
                    first = sgd.momentum() * first - sgd.learningRate() * slope;
                    value += first;
                }
                case Optimizer.Sgd sgd -> {
                    float slope =
                            (float) sgd.gradientFactor() * (float) gradient + (float) sgd.weightDecay() * (float) value;
                    first = (float) sgd.momentum() * (float) first - (float) sgd.learningRate() * slope;
                    value = (float) value + (float) first;
                }
                case Optimizer.Adam adam -> {
                    double root = Math.sqrt(1 - StrictMath.pow(adam.beta2(), step));
                    double size = adam.learningRate() / (1 - StrictMath.pow(adam.beta1(), step));
                    if (type == DataType.F64) {
                        double slope = adam.gradientFactor() * gradient;
                        slope = adam.decoupled() ? slope : slope + adam.weightDecay() * value;
                        first = adam.beta1() * first + (1 - adam.beta1()) * slope;
                        second = adam.beta2() * second + (1 - adam.beta2()) * (slope * slope);
                        double kept = adam.decoupled() ? (1 - adam.learningRate() * adam.weightDecay()) * value : value;
                        value = kept - size * (first / (Math.sqrt(second) / root + adam.epsilon()));
                    } else {
                        float slope = (float) adam.gradientFactor() * (float) gradient;
                        slope = adam.decoupled() ? slope : slope + (float) adam.weightDecay() * (float) value;
                        first = (float) adam.beta1() * (float) first + (float) (1 - adam.beta1()) * slope;
                        second = (float) adam.beta2() * (float) second + (float) (1 - adam.beta2()) * (slope * slope);
                        float kept = adam.decoupled()
                                ? (float) (1 - adam.learningRate() * adam.weightDecay()) * (float) value
                                : (float) value;
                        float bound = (float) Math.sqrt((float) second) / (float) root + (float) adam.epsilon();
                        value = kept - (float) size * ((float) first / bound);
                    }
                }
            }
        }
    }

    private static double get(MemorySegment memory, DataType type, int index) {
        return switch (type) {
            case F32 -> memory.getAtIndex(ValueLayout.JAVA_FLOAT, index);
            case F64 -> memory.getAtIndex(ValueLayout.JAVA_DOUBLE, index);
            case F16 -> Float.float16ToFloat(memory.getAtIndex(ValueLayout.JAVA_SHORT, index));
            default -> Float.intBitsToFloat(memory.getAtIndex(ValueLayout.JAVA_SHORT, index) << 16);
        };
    }

    private static void set(MemorySegment memory, DataType type, int index, double value) {
        switch (type) {
            case F32 -> memory.setAtIndex(ValueLayout.JAVA_FLOAT, index, (float) value);
            case F64 -> memory.setAtIndex(ValueLayout.JAVA_DOUBLE, index, value);
            case F16 -> memory.setAtIndex(ValueLayout.JAVA_SHORT, index, Float.floatToFloat16((float) value));
            default -> {
                int bits = Float.floatToRawIntBits((float) value);
                memory.setAtIndex(ValueLayout.JAVA_SHORT, index, (short) ((bits + 0x7fff + (bits >>> 16 & 1)) >>> 16));
            }
        }
    }

    /** 2^-12 is below half of the last bit of 1 in BF16: only the master value can gather it. */
    @Test
    void masterValuesGatherWhatSixteenBitsWouldLose() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment value = arena.allocateFrom(ValueLayout.JAVA_SHORT, (short) 0x3f80);
            MemorySegment gradient = arena.allocateFrom(ValueLayout.JAVA_SHORT, (short) 0xbf80);
            MemorySegment state = arena.allocate(4, 4);
            Optimizer optimizer = Optimizer.sgd(0x1p-12);
            for (int step = 1; step <= 64; step++) {
                HostOptimizer.run(new ParameterUpdate(optimizer, step, 0, DataType.BF16, 1, value, gradient, state));
            }
            assertThat(state.get(ValueLayout.JAVA_FLOAT, 0)).isEqualTo(1 + 0x1p-6f);
            assertThat(get(value, DataType.BF16, 0)).isEqualTo(1 + 0x1p-6);
        }
    }

    @Test
    void firstStepOfAdamIsTheLearningRate() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment value = arena.allocateFrom(ValueLayout.JAVA_FLOAT, 1, 1);
            MemorySegment gradient = arena.allocateFrom(ValueLayout.JAVA_FLOAT, 3, -5);
            Optimizer optimizer = Optimizer.adam(0.125);
            MemorySegment state = arena.allocate(optimizer.stateBytes(DataType.F32, 2), 4);
            HostOptimizer.run(new ParameterUpdate(optimizer, 1, 0, DataType.F32, 2, value, gradient, state));
            assertThat(value.toArray(ValueLayout.JAVA_FLOAT))
                    .containsExactly(new float[] {0.875f, 1.125f}, within(1e-6f));
        }
    }

    @Test
    void rejectsNumbersOutOfRangeAndMemoryThatIsTooShort() {
        assertThatThrownBy(() -> Optimizer.sgd(0)).hasMessage("a learning rate of 0.0; it must be above 0");
        assertThatThrownBy(() -> Optimizer.sgd(1).momentum(1)).hasMessageContaining("momentum");
        assertThatThrownBy(() -> Optimizer.sgd(1).weightDecay(-1)).hasMessageContaining("weight decay");
        assertThatThrownBy(() -> Optimizer.sgd(1).gradientFactor(Double.NaN)).hasMessageContaining("factor");
        assertThatThrownBy(() -> Optimizer.adam(1).betas(1, 0)).hasMessageContaining("beta1");
        assertThatThrownBy(() -> Optimizer.adam(1).betas(0, -1)).hasMessageContaining("beta2");
        assertThatThrownBy(() -> Optimizer.adamW(1).epsilon(-1)).hasMessageContaining("epsilon");
        MemorySegment none = MemorySegment.NULL;
        assertThatThrownBy(() -> new ParameterUpdate(Optimizer.sgd(1), 1, 0, DataType.I32, 0, none, none, none))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("elements of I32");
        assertThatThrownBy(() -> new ParameterUpdate(Optimizer.sgd(1), 0, 0, DataType.F32, 0, none, none, none))
                .hasMessageContaining("step from 1");
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment four = arena.allocate(4);
            for (Optimizer optimizer : List.of(Optimizer.sgd(1).momentum(0.5), Optimizer.adam(1))) {
                assertThatThrownBy(() -> new ParameterUpdate(optimizer, 1, 0, DataType.F32, 1, four, four, none))
                        .hasMessageContaining("state has 0 bytes");
            }
        }
    }
}

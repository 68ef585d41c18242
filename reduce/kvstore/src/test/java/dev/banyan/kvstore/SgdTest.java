package dev.banyan.kvstore;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import dev.banyan.schedule.type.DataType;
import java.lang.foreign.MemorySegment;
import org.junit.jupiter.api.Test;

class SgdTest {
    private static final KeyInfo KEY = new KeyInfo(Key.of("w"), 0, 0, 3, DataType.F32);

    @Test
    void stepsDownTheGradient() {
        float[] weights = {1, 2, 3};
        new Sgd(0.5).update(KEY, MemorySegment.ofArray(new float[] {2, 0, -2}), MemorySegment.ofArray(weights));
        assertThat(weights).containsExactly(0, 2, 4);
    }

    @Test
    void momentumCarriesOn() {
        float[] weights = {0, 0, 0};
        Sgd sgd = new Sgd(0.1).momentum(0.9).gradientFactor(0.25).weightDecay(0.01);
        float velocity = 0;
        float expected = 0;
        for (int step = 0; step < 5; step++) {
            sgd.update(KEY, MemorySegment.ofArray(new float[] {4, 4, 4}), MemorySegment.ofArray(weights));
            velocity = (float) (0.9 * velocity - 0.1 * (0.25 * 4 + 0.01 * expected));
            expected += velocity;
        }
        assertThat(weights).containsExactly(new float[] {expected, expected, expected}, within(1e-6f));
    }

    @Test
    void updatesDoublesAndRefusesOtherTypes() {
        double[] weights = {1};
        KeyInfo one = new KeyInfo(Key.of("d"), 1, 0, 1, DataType.F64);
        new Sgd(0.25).update(one, MemorySegment.ofArray(new double[] {2}), MemorySegment.ofArray(weights));
        assertThat(weights).containsExactly(0.5);
        KeyInfo integers = new KeyInfo(Key.of("i"), 1, 0, 1, DataType.I32);
        assertThatThrownBy(() -> new Sgd(0.1).check(integers))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("key i has elements of I32, but SGD updates F32 and F64 only");
        assertThatThrownBy(() -> new Sgd(0)).hasMessageContaining("learning rate");
        assertThatThrownBy(() -> new Sgd(1).momentum(1)).hasMessageContaining("momentum");
    }
}

package dev.banyan.study.training;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.within;

import dev.banyan.simulate.Profiles;
import dev.banyan.topology.Machine;
import java.util.Collections;
import java.util.List;
import org.junit.jupiter.api.Test;

class TrainingStepTest {
    private static final Machine MACHINE = Machine.preset("p3.16xlarge");

    /** Takes the same time for each key, whatever the others do. */
    private record Fixed(double us) implements KeyStore {
        @Override
        public String name() {
            return "fixed";
        }

        @Override
        public double[] doneUs(List<Gradient> gradients) {
            return gradients.stream().mapToDouble(each -> each.readyUs() + us).toArray();
        }
    }

    @Test
    void aFastStoreCostsNothing() {
        assertThat(new TrainingStep(List.of(1L, 2L, 3L), 900).us(new Fixed(0))).isCloseTo(900, within(1e-9));
    }

    @Test
    void theFirstLayerWaitsForTheLastGradient() {
        // Its gradient is there at 600 us, its sum at 700; the forward pass takes 300.
        assertThat(new TrainingStep(List.of(1L, 2L, 3L), 900).us(new Fixed(100)))
                .isCloseTo(1000, within(1e-9));
        assertThat(new TrainingStep(List.of(1L, 2L, 3L), 900).withoutOverlapUs(new Fixed(100)))
                .isCloseTo(1000, within(1e-9));
    }

    @Test
    void keysOfAParameterServerAreDealtOutEvenly() {
        KeyStore server = KeyStores.parameterServer(MACHINE, Profiles.of(MACHINE));
        double one = server.doneUs(List.of(new Gradient(1 << 20, 0)))[0];
        double[] eight = server.doneUs(Collections.nCopies(8, new Gradient(1 << 20, 0)));
        assertThat(eight[7]).isGreaterThan(one).isLessThan(6 * one);
    }

    @Test
    void ncclTakesOneCallAfterAnother() {
        KeyStore nccl = KeyStores.nccl(MACHINE, Profiles.of(MACHINE));
        double[] two = nccl.doneUs(Collections.nCopies(2, new Gradient(1 << 24, 0)));
        assertThat(two[1]).isGreaterThan(1.9 * two[0]);
        double[] late = nccl.doneUs(List.of(new Gradient(1 << 24, 1e6), new Gradient(1 << 24, 0)));
        assertThat(late[1]).isLessThan(1e5);
        assertThat(late[0]).isGreaterThan(1e6);
    }

    @Test
    void nonsenseIsRefused() {
        assertThatIllegalArgumentException().isThrownBy(() -> new TrainingStep(List.of(), 1));
        assertThatIllegalArgumentException().isThrownBy(() -> new TrainingStep(List.of(1L), 0));
        assertThatIllegalArgumentException().isThrownBy(() -> new Gradient(0, 1));
        assertThatIllegalArgumentException().isThrownBy(() -> new Gradient(1, Double.NaN));
    }
}

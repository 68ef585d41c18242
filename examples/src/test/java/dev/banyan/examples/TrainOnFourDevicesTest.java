package dev.banyan.examples;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.withinPercentage;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class TrainOnFourDevicesTest {
    private static final int STEPS = 200;

    private static final double[] ALONE = TrainOnFourDevices.train(1, STEPS);

    @ParameterizedTest
    @ValueSource(ints = {2, 4, 8})
    void theLossCurveIsThatOfOneDevice(int devices) {
        double[] together = TrainOnFourDevices.train(devices, STEPS);
        for (int step = 0; step < STEPS; step++) {
            assertThat(together[step]).as("step %d", step).isCloseTo(ALONE[step], withinPercentage(1e-3));
        }
        assertThat(ALONE[STEPS - 1]).isLessThan(ALONE[0] / 10);
    }
}

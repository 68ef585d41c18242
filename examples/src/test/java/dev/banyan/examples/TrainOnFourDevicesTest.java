package dev.banyan.examples;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.withinPercentage;

import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(value = 120, unit = TimeUnit.SECONDS)
class TrainOnFourDevicesTest {
    private static final int STEPS = 200;

    @ParameterizedTest
    @ValueSource(ints = {2, 4, 8})
    void theLossCurveIsThatOfOneDevice(int devices) {
        double[] alone = TrainOnFourDevices.train(1, STEPS);
        double[] together = TrainOnFourDevices.train(devices, STEPS);
        for (int step = 0; step < STEPS; step++) {
            assertThat(together[step]).as("step %d", step).isCloseTo(alone[step], withinPercentage(1e-3));
        }
        assertThat(alone[STEPS - 1]).isLessThan(alone[0] / 10);
    }
}

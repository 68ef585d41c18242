package dev.banyan.cuda.internal.driver;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class WaitingTest {
    private static final long LOOK_NANOS = 1_000;

    /** The clock of this test runs as if the shortest nap lasted as long as the parameter says, in ns. */
    @ParameterizedTest
    @ValueSource(longs = {1_000, 55_000, 1_060_000, 4_000_000})
    void anEndIsSeenSoonHoweverCoarseTimersAre(long shortest) {
        for (long end = 1_000; end < 2_000_000_000; end += end / 3) {
            long now = 0;
            while (now < end) {
                long nap = Waiting.nap(now, shortest);
                now += nap == 0 ? LOOK_NANOS : Math.max(nap, shortest);
            }
            assertThat(now).isLessThanOrEqualTo(end + end / 16 + LOOK_NANOS);
        }
    }

    /** A wait of a second asks the driver less than 2,000 times. */
    @ParameterizedTest
    @ValueSource(longs = {55_000, 1_060_000})
    void aLongWaitNaps(long shortest) {
        int naps = 0;
        for (long now = 20_000_000; now < 1_000_000_000; naps++) {
            long nap = Waiting.nap(now, shortest);
            assertThat(nap).isPositive();
            now += Math.max(nap, shortest);
        }
        assertThat(naps).isLessThan(2_000);
    }
}

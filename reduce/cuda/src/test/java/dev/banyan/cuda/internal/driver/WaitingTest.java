package dev.banyan.cuda.internal.driver;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.function.LongUnaryOperator;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The clock of these tests runs as if the shortest nap lasted as long as the parameter says, in ns. */
class WaitingTest {
    private static final long LOOK_NANOS = 1_000;

    @ParameterizedTest
    @ValueSource(longs = {1_000, 55_000, 1_060_000})
    void anEndIsSeenSoonWhereNapsLastLonger(long shortest) {
        checkSixteenth(shortest, asked -> asked + shortest);
    }

    @ParameterizedTest
    @ValueSource(longs = {1_000_000, 1_060_000})
    void anEndIsSeenSoonWhereNapsEndByTicks(long tick) {
        checkSixteenth(tick, asked -> Math.ceilDiv(asked, tick) * tick);
    }

    private static void checkSixteenth(long shortest, LongUnaryOperator lasts) {
        for (long end = 1_000; end < 2_000_000_000; end += end / 3) {
            long now = 0;
            while (now < end) {
                long nap = Waiting.nap(now, shortest);
                now += nap == 0 ? LOOK_NANOS : lasts.applyAsLong(nap);
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
            now += nap + shortest;
        }
        assertThat(naps).isLessThan(2_000);
    }
}

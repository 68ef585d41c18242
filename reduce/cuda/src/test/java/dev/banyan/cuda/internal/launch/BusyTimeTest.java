package dev.banyan.cuda.internal.launch;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class BusyTimeTest {
    private static final long SPIN = 100;

    /**
     * A wait that naps until shortly before the expected end, and wakes late, follows runs that get shorter. The times
     * are in us; the first run takes 5 ms, all others 450 us.
     */
    @ParameterizedTest
    @ValueSource(longs = {10, 90, 150, 400})
    void runsThatGetShorterAreSeenToBeShorter(long wakesLate) {
        BusyTime time = new BusyTime();
        long expected = 5_000;
        long now = 0;
        for (int run = 0; run < 20; run++) {
            time.begin(now);
            long begun = now;
            time.isBusy(now);
            while (now - begun < 450) {
                long left = time.left(expected, now);
                now += left > SPIN ? left - SPIN + wakesLate : 1;
                if (now - begun < 450) {
                    time.isBusy(now);
                }
            }
            long took = now - begun;
            expected = time.known();
            assertThat(expected).isLessThan(450);
            if (run > 0) {
                assertThat(took).isLessThanOrEqualTo(450 + wakesLate);
            }
        }
    }
}

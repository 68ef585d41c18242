package dev.banyan.simulate.internal.rate;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class ClockTest {
    @Test
    void aPartOfATickIsAWholeOneButForRounding() {
        assertThat(Clock.later(10, 0)).isEqualTo(10);
        assertThat(Clock.later(10, 7.2)).isEqualTo(18);
        assertThat(Clock.later(10, 25_319_831 - 1e-8)).isEqualTo(25_319_841);
        assertThat(Clock.later(10, 25_319_831 + 1e-8)).isEqualTo(25_319_841);
    }
}

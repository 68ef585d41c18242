package dev.banyan.reduce.internal.processes;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** Long waits are said once. */
class ReminderTest {
    @Test
    void aReminderIsDueOnce() {
        long begin = Long.MAX_VALUE;
        Reminder reminder = new Reminder(begin);
        assertThat(reminder.isDue(begin + TimeUnit.SECONDS.toNanos(9))).isFalse();
        assertThat(reminder.isDue(begin + TimeUnit.SECONDS.toNanos(10))).isTrue();
        assertThat(reminder.isDue(begin + TimeUnit.SECONDS.toNanos(20))).isFalse();
    }
}

package dev.banyan.simulate.internal.rate;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.PriorityQueue;
import java.util.Random;
import org.junit.jupiter.api.Test;

class EventQueueTest {
    @Test
    void eventsComeByTimeEachOnce() {
        Random random = new Random(1);
        EventQueue queue = new EventQueue();
        PriorityQueue<Long> times = new PriorityQueue<>();
        long[] timeOf = new long[20_000];
        boolean[] come = new boolean[timeOf.length];
        int pushed = 0;
        while (pushed < timeOf.length || !times.isEmpty()) {
            if (pushed < timeOf.length && random.nextInt(5) < 3) {
                timeOf[pushed] = random.nextInt(1000);
                times.add(timeOf[pushed]);
                queue.push(timeOf[pushed], pushed);
                pushed++;
            } else if (!times.isEmpty()) {
                long time = times.remove();
                assertThat(queue.nextTime()).isEqualTo(time);
                int event = queue.pop();
                assertThat(timeOf[event]).isEqualTo(time);
                assertThat(come[event]).isFalse();
                come[event] = true;
            }
            assertThat(queue.isEmpty()).isEqualTo(times.isEmpty());
        }
    }
}

package dev.banyan.simulate.internal.rate;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.Random;
import org.junit.jupiter.api.Test;

class SharedEndsTest {
    private static final int FLOWS = 9;
    private static final int RESOURCES = 3;

    /** Every flow may be slowed by every resource. */
    private static SharedEnds ends() {
        int[] start = new int[FLOWS + 1];
        int[] path = new int[FLOWS * RESOURCES];
        for (int entry = 0; entry < path.length; entry++) {
            path[entry] = entry % RESOURCES;
            start[entry / RESOURCES + 1] = entry + 1;
        }
        return new SharedEnds(start, path, RESOURCES);
    }

    /** The same without clocks: what each flow has left is counted down by its own rate. */
    @Test
    void flowsEndWhenTheyHaveSentAllWhateverChanges() {
        for (int seed = 0; seed < 50; seed++) {
            Random random = new Random(seed);
            SharedEnds ends = ends();
            double[] left = new double[FLOWS];
            int[] by = new int[FLOWS];
            double[] level = new double[RESOURCES];
            for (int resource = 0; resource < RESOURCES; resource++) {
                level[resource] = 1 + random.nextInt(5);
                ends.setLevel(resource, level[resource], 0);
            }
            int[] into = new int[FLOWS];
            long now = 0;
            for (int round = 0; round < 300; round++) {
                int resource = random.nextInt(RESOURCES);
                int flow = random.nextInt(FLOWS);
                switch (random.nextInt(3)) {
                    case 0 -> {
                        level[resource] = 0.5 + random.nextDouble();
                        ends.setLevel(resource, level[resource], now);
                    }
                    case 1 -> {
                        if (left[flow] > 0 && by[flow] != resource) {
                            by[flow] = resource;
                            ends.slow(flow, resource, now);
                        }
                    }
                    default -> {
                        if (left[flow] == 0) {
                            left[flow] = 1000 + random.nextInt(100_000);
                            by[flow] = resource;
                            ends.begin(flow, left[flow]);
                            ends.slow(flow, resource, now);
                        }
                    }
                }
                ends.settle(now);
                double least = Double.POSITIVE_INFINITY;
                for (int each = 0; each < FLOWS; each++) {
                    if (left[each] > 0) {
                        least = Math.min(least, Math.max(now + 1.0, now + left[each] / level[by[each]]));
                    }
                }
                assertThat(ends.isEmpty()).isEqualTo(least == Double.POSITIVE_INFINITY);
                if (ends.isEmpty()) {
                    assertThat(ends.next()).isEqualTo(Long.MAX_VALUE);
                    continue;
                }
                assertThat((double) ends.next()).isBetween(least - 1e-6, least + 1 + 1e-6);
                boolean early = random.nextInt(2) == 0 && ends.next() > now + 2;
                long later = early ? now + 1 + random.nextLong(ends.next() - now - 1) : ends.next();
                for (int each = 0; each < FLOWS; each++) {
                    left[each] = Math.max(0, left[each] - level[by[each]] * (later - now));
                }
                now = later;
                int taken = ends.take(now, into);
                assertThat(taken > 0).isEqualTo(!early);
                for (int i = 0; i < taken; i++) {
                    assertThat(left[into[i]]).isEqualTo(0, within(1e-6));
                    left[into[i]] = 0;
                    if (random.nextInt(3) == 0) {
                        left[into[i]] = 5000;
                        ends.resume(into[i], 5000, now);
                    }
                }
            }
        }
    }
}

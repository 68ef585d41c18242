package dev.banyan.simulate;

import java.util.Arrays;

/**
 * When those flows will end that share wires. Each change of rates moves many of them, and far more often than
 * one is reached, so that they are kept as a plain list in which the next is looked for when it is wanted.
 */
final class SharedEnds {
    private static final long NEVER = Long.MAX_VALUE;
    private static final int ABSENT = -1;

    private final long[] times;
    private final int[] flows;
    private final int[] placeOfFlow;
    private int size;
    private long next = NEVER;
    private boolean known = true;

    SharedEnds(int flows) {
        times = new long[flows];
        this.flows = new int[flows];
        placeOfFlow = new int[flows];
        Arrays.fill(placeOfFlow, ABSENT);
    }

    boolean isEmpty() {
        return size == 0;
    }

    /** A flow ends at a time, whatever was said of it before. */
    void set(int flow, long time) {
        int place = placeOfFlow[flow];
        if (place == ABSENT) {
            place = size++;
            placeOfFlow[flow] = place;
            flows[place] = flow;
        } else if (times[place] == next) {
            known = false;
        }
        times[place] = time;
        if (time < next) {
            next = time;
        }
    }

    /** The least time; far away if there is none. */
    long next() {
        if (!known) {
            long least = NEVER;
            for (int place = 0; place < size; place++) {
                least = Math.min(least, times[place]);
            }
            next = least;
            known = true;
        }
        return next;
    }

    /**
     * Takes the flows that end at a time that is not after any other's.
     *
     * @param into where they are put from the start on
     * @return how many they are
     */
    int take(long time, int[] into) {
        if (size == 0 || next() != time) {
            return 0;
        }
        int taken = 0;
        int kept = 0;
        next = NEVER;
        for (int place = 0; place < size; place++) {
            int flow = flows[place];
            if (times[place] == time) {
                into[taken++] = flow;
                placeOfFlow[flow] = ABSENT;
            } else {
                next = Math.min(next, times[place]);
                times[kept] = times[place];
                flows[kept] = flow;
                placeOfFlow[flow] = kept++;
            }
        }
        size = kept;
        return taken;
    }
}

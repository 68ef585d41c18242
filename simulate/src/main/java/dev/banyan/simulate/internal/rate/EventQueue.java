package dev.banyan.simulate.internal.rate;

import java.util.Arrays;

/** Events by time, in a binary heap that grows as needed; the order of equal times depends on the input alone. */
public final class EventQueue {
    private long[] times = new long[64];
    private int[] events = new int[64];
    private int size;

    public boolean isEmpty() {
        return size == 0;
    }

    /** Returns the time of the next event; the queue must not be empty. */
    public long nextTime() {
        return times[0];
    }

    public void push(long time, int event) {
        if (size == times.length) {
            times = Arrays.copyOf(times, 2 * size);
            events = Arrays.copyOf(events, 2 * size);
        }
        int at = size++;
        while (at > 0) {
            int parent = (at - 1) >>> 1;
            if (times[parent] <= time) {
                break;
            }
            times[at] = times[parent];
            events[at] = events[parent];
            at = parent;
        }
        times[at] = time;
        events[at] = event;
    }

    /** Removes and returns the next event; the queue must not be empty. */
    public int pop() {
        int first = events[0];
        long time = times[--size];
        int event = events[size];
        int at = 0;
        int child = 1;
        while (child < size) {
            if (child + 1 < size && times[child + 1] < times[child]) {
                child++;
            }
            if (time <= times[child]) {
                break;
            }
            times[at] = times[child];
            events[at] = events[child];
            at = child;
            child = 2 * at + 1;
        }
        times[at] = time;
        events[at] = event;
        return first;
    }
}

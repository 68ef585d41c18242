package dev.banyan.simulate.internal.rate;

/**
 * For each stream the operations that are ready, of which the least comes first: binary heaps in one array, with room
 * for every operation.
 */
public final class ReadyQueues {
    private final int[] start;
    private final int[] waiting;
    private final int[] size;

    /** @param start where each stream's part begins, and the end of the last */
    public ReadyQueues(int[] start) {
        this.start = start;
        waiting = new int[start[start.length - 1]];
        size = new int[start.length - 1];
    }

    /** Marks an operation as ready: only its stream holds it back. */
    public void makeReady(int stream, int op) {
        int base = start[stream];
        int at = size[stream]++;
        while (at > 0) {
            int parent = (at - 1) >>> 1;
            if (waiting[base + parent] <= op) {
                break;
            }
            waiting[base + at] = waiting[base + parent];
            at = parent;
        }
        waiting[base + at] = op;
    }

    /** Returns the next operation of a stream, or -1 if none can start. */
    public int next(int stream) {
        return size[stream] == 0 ? -1 : waiting[start[stream]];
    }

    /** Removes the operation that {@link #next} returned. */
    public void take(int stream) {
        int base = start[stream];
        int left = --size[stream];
        int op = waiting[base + left];
        int at = 0;
        int child = 1;
        while (child < left) {
            if (child + 1 < left && waiting[base + child + 1] < waiting[base + child]) {
                child++;
            }
            if (op <= waiting[base + child]) {
                break;
            }
            waiting[base + at] = waiting[base + child];
            at = child;
            child = 2 * at + 1;
        }
        waiting[base + at] = op;
    }
}

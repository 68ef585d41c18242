package dev.banyan.simulate;

/**
 * For each stream the operations that wait for it, in one of the {@linkplain StreamOrder orders}. All share
 * one array, with room for every operation.
 */
final class ReadyQueues {
    private static final int NONE = -1;

    private final boolean asIssued;
    private final int[] start;
    /** A binary heap per stream of what is ready, or a line of what is issued. */
    private final int[] waiting;

    private final int[] head;
    private final int[] tail;
    private final boolean[] ready;

    /**
     * @param start where each stream's part begins, and the end of the last
     */
    ReadyQueues(StreamOrder order, int[] start) {
        asIssued = order == StreamOrder.AS_ISSUED;
        this.start = start;
        int ops = start[start.length - 1];
        waiting = new int[ops];
        head = new int[start.length - 1];
        tail = new int[start.length - 1];
        ready = new boolean[asIssued ? ops : 0];
    }

    /** The host issues an operation. */
    void issue(int stream, int op) {
        if (asIssued) {
            waiting[start[stream] + tail[stream]++] = op;
        }
    }

    /** Marks an operation as ready: only its stream holds it back. */
    void makeReady(int stream, int op) {
        if (asIssued) {
            ready[op] = true;
            return;
        }
        int base = start[stream];
        int at = tail[stream]++;
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
    int next(int stream) {
        if (head[stream] == tail[stream]) {
            return NONE;
        }
        int op = waiting[start[stream] + head[stream]];
        return !asIssued || ready[op] ? op : NONE;
    }

    /** Removes the operation that {@link #next} returned. */
    void take(int stream) {
        if (asIssued) {
            head[stream]++;
            return;
        }
        int base = start[stream];
        int size = --tail[stream];
        int op = waiting[base + size];
        int at = 0;
        int child = 1;
        while (child < size) {
            if (child + 1 < size && waiting[base + child + 1] < waiting[base + child]) {
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

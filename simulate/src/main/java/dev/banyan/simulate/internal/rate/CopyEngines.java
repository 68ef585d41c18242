package dev.banyan.simulate.internal.rate;

/**
 * Counts the free copy engines of each device. A device has a number of engines for copies that leave it and as many
 * for copies that enter it; a copy between two devices takes one of each. A copy that finds no free engine waits here.
 */
public final class CopyEngines {
    private final int engines;
    private final int[] leaving;
    private final int[] entering;
    /** A set of ranks for each rank: those to which a copy from it waits, and those from which a copy to it waits. */
    private final long[] waitingTo;

    private final long[] waitingFrom;
    private final int words;

    public CopyEngines(int ranks, int engines) {
        this.engines = engines;
        leaving = new int[ranks];
        entering = new int[ranks];
        words = (ranks + Long.SIZE - 1) / Long.SIZE;
        waitingTo = new long[ranks * words];
        waitingFrom = new long[ranks * words];
    }

    /** Receives the pairs of ranks whose waiting copies may have an engine now, because one end has become free. */
    @FunctionalInterface
    public interface Waiting {
        void canStart(int from, int to);
    }

    /** Takes an engine at both ends and returns true; if one end has none, the copy waits and the result is false. */
    public boolean take(int from, int to) {
        boolean taken = leaving[from] < engines && entering[to] < engines;
        if (taken) {
            leaving[from]++;
            entering[to]++;
            waitingTo[from * words + to / Long.SIZE] &= ~(1L << to);
            waitingFrom[to * words + from / Long.SIZE] &= ~(1L << from);
        } else {
            waitingTo[from * words + to / Long.SIZE] |= 1L << to;
            waitingFrom[to * words + from / Long.SIZE] |= 1L << from;
        }
        return taken;
    }

    /** Returns the engines of a copy, and reports each waiting copy that can start now. */
    public void free(int from, int to, Waiting waiting) {
        leaving[from]--;
        entering[to]--;
        for (int word = 0; word < words; word++) {
            for (long bits = waitingTo[from * words + word]; bits != 0; bits &= bits - 1) {
                int other = word * Long.SIZE + Long.numberOfTrailingZeros(bits);
                if (entering[other] < engines) {
                    waiting.canStart(from, other);
                }
            }
            for (long bits = waitingFrom[to * words + word]; bits != 0; bits &= bits - 1) {
                int other = word * Long.SIZE + Long.numberOfTrailingZeros(bits);
                if (leaving[other] < engines) {
                    waiting.canStart(other, to);
                }
            }
        }
    }
}

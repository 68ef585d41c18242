package dev.banyan.simulate;

/**
 * Which devices have a copy engine to spare. A device has some for what leaves it and as many for what enters it;
 * a copy between two takes one of each. Copies that find none are remembered until they get theirs.
 */
final class CopyEngines {
    private final int engines;
    private final int[] leaving;
    private final int[] entering;
    /** By rank, a set of ranks: those to which a copy from it waits, and those from which a copy to it waits. */
    private final long[] waitingTo;

    private final long[] waitingFrom;
    private final int words;

    CopyEngines(int ranks, int engines) {
        this.engines = engines;
        leaving = new int[ranks];
        entering = new int[ranks];
        words = (ranks + Long.SIZE - 1) / Long.SIZE;
        waitingTo = new long[ranks * words];
        waitingFrom = new long[ranks * words];
    }

    /** Hears of copies that can take their engines now, as far as one is concerned. */
    @FunctionalInterface
    interface Waiting {
        void canStart(int from, int to);
    }

    /** Takes an engine at both ends; if there are none, the copy waits from now on. */
    boolean take(int from, int to) {
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

    /** Gives the engines of a copy back and tells for which others that is enough. */
    void free(int from, int to, Waiting waiting) {
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

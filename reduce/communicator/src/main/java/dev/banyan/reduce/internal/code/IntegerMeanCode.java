package dev.banyan.reduce.internal.code;

import java.util.List;
import java.util.Objects;

/**
 * The mean of integers, which is exact even if their sum overflows the type: a block goes through the steps as wide
 * sums in private memory, and only the means are written back.
 */
final class IntegerMeanCode implements ChunkCode {
    /** An operation on a wide sum. */
    sealed interface Action {
        /** Reads a block of a buffer. */
        record Load(int sum, int slot, long at) implements Action {}

        /** Adds two sums. */
        record Add(int target, int a, int b) implements Action {}

        /** Writes the mean to a buffer. */
        record Store(int sum, int slot, long at) implements Action {}
    }

    private final List<Action> actions;
    private final int elementBytes;
    private final int divisor;
    private final int sums;

    IntegerMeanCode(List<Action> actions, int elementBytes, int divisor, int sums) {
        this.actions = List.copyOf(actions);
        this.elementBytes = elementBytes;
        this.divisor = divisor;
        this.sums = sums;
    }

    /** Returns the number of wide sums that a frame must hold. */
    int sums() {
        return sums;
    }

    @Override
    public long privateBytes() {
        return 0;
    }

    @Override
    public int streams() {
        return 8 * actions.size();
    }

    @Override
    public void run(Frame frame, long firstElement, int elements) {
        WideSums wide = Objects.requireNonNull(frame.sums);
        long delta = firstElement * elementBytes;
        for (int i = 0; i < actions.size(); i++) {
            switch (actions.get(i)) {
                case Action.Load(int sum, int slot, long at) ->
                    wide.load(sum, frame.buffers[slot], at + delta, elements);
                case Action.Add(int target, int a, int b) -> wide.add(target, a, b, elements);
                case Action.Store(int sum, int slot, long at) ->
                    wide.storeMean(sum, divisor, frame.buffers[slot], at + delta, elements);
            }
        }
    }
}

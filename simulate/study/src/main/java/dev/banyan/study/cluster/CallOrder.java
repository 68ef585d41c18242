package dev.banyan.study.cluster;

import java.util.stream.IntStream;

/** In which order a trainer hands its keys to a store. */
public enum CallOrder {
    /** As MXNet's trainers do: the key of the input layer first, whose gradient is the last to be ready. */
    INPUT_FIRST,
    /** In the order in which the backward pass makes gradients. */
    OUTPUT_FIRST;

    /** Indices of the keys, which are counted from the input. */
    int[] keys(int count) {
        return IntStream.range(0, count)
                .map(i -> this == INPUT_FIRST ? i : count - 1 - i)
                .toArray();
    }
}

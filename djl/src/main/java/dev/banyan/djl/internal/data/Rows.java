package dev.banyan.djl.internal.data;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.index.NDIndex;

/** Consecutive samples of a batch. */
public final class Rows {
    private Rows() {}

    /** Returns rows of all arrays along their first dimension. */
    public static NDList of(NDList arrays, long first, long count) {
        NDIndex index = new NDIndex().addSliceDim(first, first + count);
        return new NDList(arrays.stream().map(array -> array.get(index)).toArray(NDArray[]::new));
    }
}

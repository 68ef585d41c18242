package dev.banyan.djl.internal.server;

import ai.djl.ndarray.NDArray;
import ai.djl.pytorch.engine.PtNDArray;
import ai.djl.pytorch.jni.JniUtils;
import dev.banyan.djl.internal.torch.Slot;
import dev.banyan.djl.internal.torch.TorchMemory;
import java.util.Arrays;
import java.util.List;
import java.util.OptionalLong;

/**
 * Replicas whose gradients PyTorch adds up. On the CPU its threads wait for its next operation on their cores, for
 * milliseconds, so that threads of our own would get half of a core.
 *
 * @param size number of replicas, at least 2
 */
record TorchReplicas(int size) implements Replicas {
    @Override
    public void sum(List<Slot> slots) {
        for (Slot slot : slots) {
            NDArray first = slot.gradients().getFirst();
            slot.gradients().stream().skip(1).forEach(other -> add(first, other));
        }
    }

    private static void add(NDArray sum, NDArray other) {
        if (other.getDevice().equals(sum.getDevice())) {
            sum.addi(other);
        } else {
            try (NDArray moved = other.toDevice(sum.getDevice(), true)) {
                sum.addi(moved);
            }
        }
    }

    @Override
    public void spread(List<Slot> slots) {
        for (Slot slot : slots) {
            NDArray first = slot.parameters().getFirst();
            OptionalLong memory = TorchMemory.address(first);
            for (NDArray other : slot.parameters().subList(1, size)) {
                if (memory.isEmpty() || !memory.equals(TorchMemory.address(other))) {
                    // PyTorch refuses to write to an array with gradients while it collects them.
                    try (NDArray values = other.stopGradient()) {
                        set(values, first);
                    }
                }
            }
        }
    }

    /** Copies a value of the same shape to an array. */
    private static void set(NDArray array, NDArray value) {
        if (array.isScalar()) {
            // PyTorch wants at least one index.
            try (NDArray row = array.reshape(1);
                    NDArray rowOfValue = value.reshape(1)) {
                set(row, rowOfValue);
            }
            return;
        }
        long[] end = array.getShape().getShape();
        long[] step = new long[end.length];
        Arrays.fill(step, 1);
        JniUtils.indexSet((PtNDArray) array, (PtNDArray) value, new long[end.length], end, step);
    }

    @Override
    public void close() {
        // Nothing is open.
    }
}

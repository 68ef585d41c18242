package dev.banyan.djl.internal.data;

import ai.djl.Device;
import ai.djl.training.dataset.Batch;

/**
 * This process's part of a global batch. Its progress is that of all processes. It replaces the batch that it is made
 * of.
 */
final class PartialBatch extends Batch {
    private final Batch part;

    /** @param processes how many processes read a part of this size at once */
    PartialBatch(Batch part, int processes) {
        super(
                part.getManager(),
                part.getData(),
                part.getLabels(),
                part.getSize(),
                null,
                null,
                Math.min(part.getProgress() * processes, part.getProgressTotal()),
                part.getProgressTotal(),
                part.getIndices());
        this.part = part;
    }

    @Override
    public Batch[] split(Device[] devices, boolean evenSplit) {
        return part.split(devices, evenSplit);
    }
}

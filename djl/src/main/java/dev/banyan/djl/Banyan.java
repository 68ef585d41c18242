package dev.banyan.djl;

import ai.djl.engine.Engine;
import ai.djl.training.dataset.Dataset;
import dev.banyan.djl.internal.data.DjlInternals;
import dev.banyan.djl.internal.data.ShardedDataset;
import dev.banyan.djl.internal.engine.BanyanEngine;
import dev.banyan.djl.internal.processes.Launch;

/**
 * Optional calls of a training program. A program needs none of them if {@code banyan-djl} is on the class path and
 * batches come from {@link ai.djl.training.Trainer#iterateDataset}. Safe for use from any thread.
 */
public final class Banyan {
    private Banyan() {}

    /**
     * Registers Banyan's engine as DJL's engine PyTorch. DJL does that itself if it finds services on the class path.
     * Call it before the first model is created.
     *
     * @throws IllegalStateException if this version of DJL stores its engines differently
     */
    public static void install() {
        if (!(Engine.getEngine("PyTorch") instanceof BanyanEngine)) {
            DjlInternals.register(new BanyanEngineProvider());
        }
    }

    /**
     * Returns the rank of this process, 0..{@link #size}-1. Let only the first process print, but let all train,
     * evaluate and load models, as they wait for each other there. If all save a model, only the first one writes it.
     */
    public static int rank() {
        return Launch.PROCESSES.rank();
    }

    /** Returns how many processes train together; 1 if the program was not started by mpirun. */
    public static int size() {
        return Launch.PROCESSES.size();
    }

    /**
     * Returns the part of a dataset that this process trains on. The batch size of the dataset is that of the global
     * batch, of which each process reads an equal part. Trainers shard datasets themselves in {@code iterateDataset};
     * call this method if a program takes batches from {@link Dataset#getData} directly.
     *
     * <p>The sampler of a dataset with random access draws the samples in the first process. Each process reads any
     * other dataset completely, in an order that must be the same in all, and cuts its batches. The remainder of a
     * batch that cannot be divided by the number of processes is left out.
     */
    public static Dataset shard(Dataset dataset) {
        return ShardedDataset.of(dataset, Launch.PROCESSES);
    }
}

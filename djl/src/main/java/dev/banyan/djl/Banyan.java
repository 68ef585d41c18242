package dev.banyan.djl;

import ai.djl.engine.Engine;
import ai.djl.training.dataset.Dataset;

/**
 * What a training program may say to Banyan; none of it is needed where {@code banyan-djl} is on the class path and
 * batches come from {@link ai.djl.training.Trainer#iterateDataset}. Safe for use from any thread.
 */
public final class Banyan {
    private Banyan() {}

    /**
     * Makes Banyan's engine the one that DJL calls PyTorch, as it is already where services are found on the class
     * path. Call it before the first model is made.
     *
     * @throws IllegalStateException if this DJL keeps its engines otherwise
     */
    public static void install() {
        if (!(Engine.getEngine("PyTorch") instanceof BanyanEngine)) {
            DjlInternals.register(new BanyanEngineProvider());
        }
    }

    /**
     * Which of the processes this one is, 0..{@link #size}-1. Let the first one print; but let all train, evaluate and
     * load models, as they wait for each other there. Of those that save a model only the first one writes.
     */
    public static int rank() {
        return processes().rank();
    }

    /** How many processes train together; 1 where the program was not started by mpirun. */
    public static int size() {
        return processes().size();
    }

    /**
     * The part of a dataset that this process trains on, batch by batch: the global batch is that of the dataset, and
     * each process reads an equal part of it. Trainers do it by themselves in {@code iterateDataset}; call it where
     * batches are taken from {@link Dataset#getData} directly.
     *
     * <p>Datasets with random access are read by their own sampler, in the order that the first process draws. Others
     * are read whole by each process, in an order that must be the same in all, and then cut. What is left of a batch
     * that can't be divided by the number of processes is left out.
     */
    public static Dataset shard(Dataset dataset) {
        return ShardedDataset.of(dataset, processes());
    }

    static Processes processes() {
        return Launch.PROCESSES;
    }
}

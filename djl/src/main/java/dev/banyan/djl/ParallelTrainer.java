package dev.banyan.djl;

import ai.djl.Model;
import ai.djl.training.Trainer;
import ai.djl.training.TrainingConfig;
import ai.djl.training.dataset.Batch;
import ai.djl.training.dataset.Dataset;
import ai.djl.translate.TranslateException;
import java.io.IOException;

/** A trainer that reads its process's part of the data, and whose evaluators tell the means over all processes. */
final class ParallelTrainer extends Trainer {
    private final Processes processes;

    ParallelTrainer(Model model, TrainingConfig config, Processes processes) {
        super(model, new GlobalConfig(config, processes));
        this.processes = processes;
    }

    @Override
    public Iterable<Batch> iterateDataset(Dataset dataset) throws IOException, TranslateException {
        return super.iterateDataset(ShardedDataset.of(dataset, processes));
    }
}

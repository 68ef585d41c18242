package dev.banyan.djl.internal.engine;

import ai.djl.Model;
import ai.djl.training.Trainer;
import ai.djl.training.TrainingConfig;
import ai.djl.training.dataset.Batch;
import ai.djl.training.dataset.Dataset;
import ai.djl.translate.TranslateException;
import dev.banyan.djl.internal.data.ShardedDataset;
import dev.banyan.djl.internal.processes.PhaseEvent;
import dev.banyan.djl.internal.processes.Processes;
import java.io.IOException;

/**
 * A trainer that reads its process's part of the data and whose evaluators report averages over all processes. A step
 * ends with an average of the running statistics, so that the models of all processes are always the same.
 */
final class ParallelTrainer extends Trainer {
    private final Processes processes;
    private final RunningStatistics statistics;
    /** The time from the end of a step to the next one. */
    private PhaseEvent compute = PhaseEvent.begin("compute");

    ParallelTrainer(Model model, TrainingConfig config, Processes processes) {
        super(model, new GlobalConfig(config, processes));
        this.processes = processes;
        statistics = new RunningStatistics(model.getBlock(), processes);
    }

    @Override
    public Iterable<Batch> iterateDataset(Dataset dataset) throws IOException, TranslateException {
        return super.iterateDataset(ShardedDataset.of(dataset, processes));
    }

    @Override
    public void step() {
        compute.done();
        PhaseEvent update = PhaseEvent.begin("update");
        super.step();
        statistics.average();
        update.done();
        compute = PhaseEvent.begin("compute");
    }
}

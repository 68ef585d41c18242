package dev.banyan.djl.internal.engine;

import ai.djl.Device;
import ai.djl.nn.Parameter;
import ai.djl.training.TrainingConfig;
import ai.djl.training.evaluator.Evaluator;
import ai.djl.training.initializer.Initializer;
import ai.djl.training.listener.TrainingListener;
import ai.djl.training.loss.Loss;
import ai.djl.training.optimizer.Optimizer;
import ai.djl.util.PairList;
import dev.banyan.djl.internal.processes.Processes;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.function.Predicate;

/** A program's settings, with a loss and evaluators that report averages over all processes. */
record GlobalConfig(TrainingConfig own, Loss loss, List<Evaluator> evaluators) implements TrainingConfig {
    GlobalConfig(TrainingConfig own, Processes processes) {
        this(own, new GlobalEvaluators(processes));
    }

    private GlobalConfig(TrainingConfig own, GlobalEvaluators all) {
        this(
                own,
                all.add(own.getLossFunction()),
                own.getEvaluators().stream()
                        .map(evaluator -> (Evaluator) all.add(evaluator))
                        .toList());
    }

    @Override
    public Loss getLossFunction() {
        return loss;
    }

    @Override
    public List<Evaluator> getEvaluators() {
        return evaluators;
    }

    @Override
    public Device[] getDevices() {
        return own.getDevices();
    }

    @Override
    public PairList<Initializer, Predicate<Parameter>> getInitializers() {
        return own.getInitializers();
    }

    @Override
    public Optimizer getOptimizer() {
        return own.getOptimizer();
    }

    @Override
    public ExecutorService getExecutorService() {
        return own.getExecutorService();
    }

    @Override
    public List<TrainingListener> getTrainingListeners() {
        return own.getTrainingListeners();
    }
}

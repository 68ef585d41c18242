package dev.banyan.djl;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.training.evaluator.Evaluator;
import ai.djl.training.loss.Loss;

/**
 * An evaluator of this process's samples, whose accumulated values are the means over all processes. All processes ask for
 * the same values in the same order. It is a loss too, as a loss is an evaluator with nothing further.
 */
final class GlobalEvaluator extends Loss {
    private final Evaluator own;
    private final Processes processes;

    GlobalEvaluator(Evaluator own, Processes processes) {
        super(own.getName());
        this.own = own;
        this.processes = processes;
    }

    @Override
    public float getAccumulator(String key) {
        return GlobalValue.mean(own.getAccumulator(key), processes);
    }

    @Override
    public NDArray evaluate(NDList labels, NDList predictions) {
        return own.evaluate(labels, predictions);
    }

    @Override
    public void addAccumulator(String key) {
        own.addAccumulator(key);
    }

    @Override
    public void updateAccumulators(String[] keys, NDList labels, NDList predictions) {
        own.updateAccumulators(keys, labels, predictions);
    }

    @Override
    public void updateAccumulator(String key, NDList labels, NDList predictions) {
        own.updateAccumulator(key, labels, predictions);
    }

    @Override
    public void resetAccumulator(String key) {
        own.resetAccumulator(key);
    }
}

package dev.banyan.djl.internal.engine;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.training.evaluator.Evaluator;
import ai.djl.training.loss.Loss;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Objects;
import java.util.Set;

/**
 * Evaluates the samples of this process and reports accumulated values as averages over all processes. All processes
 * update and read the same accumulators in the same order. It extends Loss because it also stands for the loss, which
 * adds nothing to an evaluator.
 */
final class GlobalEvaluator extends Loss {
    private final Evaluator own;
    private final GlobalEvaluators all;
    private final Set<String> accumulators = new HashSet<>();
    /** The averages of the accumulators that have not changed since they were exchanged. */
    private final Map<String, Float> means = new HashMap<>();

    GlobalEvaluator(Evaluator own, GlobalEvaluators all) {
        super(own.getName());
        this.own = own;
        this.all = all;
    }

    /** Returns whether there is such an accumulator and its average is unknown. */
    boolean lacks(String key) {
        return accumulators.contains(key) && !means.containsKey(key);
    }

    float ownAccumulator(String key) {
        return own.getAccumulator(key);
    }

    void setMean(String key, float mean) {
        means.put(key, mean);
    }

    @Override
    public float getAccumulator(String key) {
        if (!accumulators.contains(key)) {
            // The program may have added it to its own evaluator before; if not, this call throws.
            own.getAccumulator(key);
            accumulators.add(key);
        }
        if (lacks(key)) {
            all.exchange(key);
        }
        return Objects.requireNonNull(means.get(key));
    }

    @Override
    public NDArray evaluate(NDList labels, NDList predictions) {
        return own.evaluate(labels, predictions);
    }

    @Override
    public void addAccumulator(String key) {
        own.addAccumulator(key);
        accumulators.add(key);
        means.remove(key);
    }

    @Override
    public void updateAccumulators(String[] keys, NDList labels, NDList predictions) {
        own.updateAccumulators(keys, labels, predictions);
        for (String key : keys) {
            means.remove(key);
        }
    }

    @Override
    public void updateAccumulator(String key, NDList labels, NDList predictions) {
        own.updateAccumulator(key, labels, predictions);
        means.remove(key);
    }

    @Override
    public void resetAccumulator(String key) {
        own.resetAccumulator(key);
        means.remove(key);
    }
}

package dev.banyan.page.model;

import java.util.List;

/**
 * The exchange of all gradients of a model in a training step, predicted.
 *
 * @param workload what the model is called
 * @param elements of 4 bytes, of each key in the order in which they are exchanged
 * @param ways how the algorithms carry it
 */
public record StepModel(String workload, List<Long> elements, List<Exchange> ways) {
    /**
     * The exchange by one algorithm.
     *
     * @param algorithm index of the algorithm
     * @param oneByOneMs time if each key waits for the one before
     * @param togetherMs time if all keys are in flight at once
     * @param doneMs when each key is done, if all are in flight at once
     */
    public record Exchange(int algorithm, double oneByOneMs, double togetherMs, List<Double> doneMs) {}
}

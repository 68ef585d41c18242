package dev.banyan.study.training;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * One step of training, the same on every device, as often as one likes: forward, backward, and keys that are
 * pushed as the backward pass makes them and pulled before the next forward pass needs them.
 *
 * <p>Assumed: the backward pass takes twice as long as the forward pass; both pass through the keys evenly, one
 * after another, the backward pass from the last to the first; keys nearer to the input have priority; and
 * communication takes nothing from the devices' arithmetic. A layer's forward pass waits for its own key only, as
 * MXNet's engine has it.
 *
 * @param elements elements of each key, from the input to the output
 * @param computeUs what forward and backward take on one device, in us
 */
public record TrainingStep(List<Long> elements, double computeUs) {
    private static final double FORWARD = 1.0 / 3;

    /**
     * @throws IllegalArgumentException if there are no keys, or the time is none
     */
    public TrainingStep {
        elements = List.copyOf(elements);
        if (elements.isEmpty() || !(computeUs > 0) || Double.isInfinite(computeUs)) {
            throw new IllegalArgumentException("a step of " + elements.size() + " keys and " + computeUs
                    + " us of computing; it needs keys and a time above 0");
        }
    }

    /** The same if nothing is pushed before the backward pass is done, nor a pass begun before all is pulled, in us. */
    public double withoutOverlapUs(KeyStore store) {
        double[] done = store.doneUs(
                elements.stream().map(each -> new Gradient(each, 0)).toList());
        return computeUs + Arrays.stream(done).max().orElseThrow();
    }

    /** Time from one step's backward pass to the next step's, in us. */
    public double us(KeyStore store) {
        int keys = elements.size();
        double backward = computeUs * (1 - FORWARD);
        List<Gradient> gradients = new ArrayList<>();
        for (int key = 0; key < keys; key++) {
            gradients.add(new Gradient(elements.get(key), backward * (keys - key) / keys));
        }
        double[] done = store.doneUs(gradients);
        double now = backward;
        for (int key = 0; key < keys; key++) {
            now = Math.max(now, done[key]) + computeUs * FORWARD / keys;
        }
        return now;
    }
}

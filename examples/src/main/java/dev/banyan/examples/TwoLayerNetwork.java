package dev.banyan.examples;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * A network of two layers that maps a point of the plane to one number: {@code w2 tanh(w1 x + b1) + b2}. Weights and
 * gradients lie in the memory of a device. All sums are of doubles, so that how a batch is cut hardly shows.
 */
final class TwoLayerNetwork {
    /** Numbers of an input. */
    static final int INPUTS = 2;
    /** Neurons of the hidden layer. */
    static final int HIDDEN = 16;

    /** Elements of each of the four arrays of weights: w1, b1, w2, b2. */
    static final int[] SIZES = {INPUTS * HIDDEN, HIDDEN, HIDDEN, 1};

    private TwoLayerNetwork() {}

    /**
     * Adds up half the squared errors of some samples, and their gradients.
     *
     * @param weights the four arrays
     * @param gradients overwritten by the sum over the samples; the four arrays
     * @param samples x, y and the wanted result of each
     * @param from first sample
     * @param to one past the last
     * @return the sum of half the squared errors
     */
    static double backward(MemorySegment[] weights, MemorySegment[] gradients, double[][] samples, int from, int to) {
        double[][] sums = new double[SIZES.length][];
        for (int layer = 0; layer < SIZES.length; layer++) {
            sums[layer] = new double[SIZES[layer]];
        }
        double[] activity = new double[HIDDEN];
        double loss = 0;
        for (int s = from; s < to; s++) {
            double[] sample = samples[s];
            double output = at(weights[3], 0);
            for (int h = 0; h < HIDDEN; h++) {
                double in = at(weights[1], h);
                for (int i = 0; i < INPUTS; i++) {
                    in += at(weights[0], h * INPUTS + i) * sample[i];
                }
                activity[h] = Math.tanh(in);
                output += at(weights[2], h) * activity[h];
            }
            double error = output - sample[INPUTS];
            loss += error * error / 2;
            sums[3][0] += error;
            for (int h = 0; h < HIDDEN; h++) {
                sums[2][h] += error * activity[h];
                double slope = error * at(weights[2], h) * (1 - activity[h] * activity[h]);
                sums[1][h] += slope;
                for (int i = 0; i < INPUTS; i++) {
                    sums[0][h * INPUTS + i] += slope * sample[i];
                }
            }
        }
        for (int layer = 0; layer < SIZES.length; layer++) {
            for (int i = 0; i < SIZES[layer]; i++) {
                gradients[layer].setAtIndex(ValueLayout.JAVA_DOUBLE, i, sums[layer][i]);
            }
        }
        return loss;
    }

    private static double at(MemorySegment array, int index) {
        return array.getAtIndex(ValueLayout.JAVA_DOUBLE, index);
    }
}

package dev.banyan.djl;

import java.util.ArrayList;
import java.util.List;

/** The parameters of PyTorch's ResNet-50. */
final class ResNet50 {
    private ResNet50() {}

    /**
     * Returns the elements of its 161 parameters, 25,557,032 together, from the first layer to the last: convolutions,
     * scales and shifts of the normalisations, one dense layer.
     */
    static List<Long> counts() {
        List<Long> counts = new ArrayList<>(List.of(64L * 3 * 7 * 7, 64L, 64L));
        int[] blocks = {3, 4, 6, 3};
        long in = 64;
        for (int stage = 0; stage < blocks.length; stage++) {
            long width = 64L << stage;
            long out = 4 * width;
            for (int block = 0; block < blocks[stage]; block++) {
                counts.addAll(
                        List.of(in * width, width, width, 9 * width * width, width, width, width * out, out, out));
                if (block == 0) {
                    counts.addAll(List.of(in * out, out, out));
                }
                in = out;
            }
        }
        counts.addAll(List.of(in * 1000, 1000L));
        return counts;
    }
}

package dev.banyan.study.cluster;

import java.util.Map;
import java.util.Objects;

/**
 * Training on so many GPUs.
 *
 * @param machines how many
 * @param gpus of all machines
 * @param stepUs time of a step by design
 * @param keysUs time of all keys' allreduces, one after another
 */
public record ScalePoint(int machines, long gpus, Map<Design, Double> stepUs, double keysUs) {
    /** Images of ImageNet's ILSVRC 2012, for training. */
    private static final double IMAGES = 1_281_167;

    public double stepUs(Design design) {
        return Objects.requireNonNull(stepUs.get(design));
    }

    /** Time of an epoch in s. */
    public double epochSeconds(Design design, int batch) {
        return steps(batch) * stepUs(design) / 1e6;
    }

    /** Steps of an epoch, not rounded. */
    public double steps(int batch) {
        return IMAGES / ((double) batch * gpus);
    }
}

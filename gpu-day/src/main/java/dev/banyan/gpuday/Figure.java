package dev.banyan.gpuday;

import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;

/**
 * The measurement in one setting.
 *
 * @param name what was measured, e.g. {@code graph launch, host}
 * @param of the setting, e.g. {@code nodes} to {@code 16}, in the order in which people read it
 * @param unit e.g. {@code us} or {@code GB/s}
 * @param median of the samples; of an even number of samples the greater of the middle two
 * @param least smallest sample
 * @param greatest largest sample
 * @param samples number of samples, at least 1
 */
public record Figure(
        String name, Map<String, String> of, String unit, double median, double least, double greatest, int samples) {
    public Figure {
        Objects.requireNonNull(name, "name");
        of.values().forEach(value -> Objects.requireNonNull(value, "of"));
        Objects.requireNonNull(unit, "unit");
    }

    /**
     * A figure of samples.
     *
     * @throws IllegalArgumentException if there is no sample
     */
    public static Figure of(String name, Map<String, String> of, String unit, double... samples) {
        if (samples.length == 0) {
            throw new IllegalArgumentException(name + " has no samples");
        }
        double[] sorted = samples.clone();
        Arrays.sort(sorted);
        return new Figure(
                name,
                new LinkedHashMap<>(of),
                unit,
                sorted[sorted.length / 2],
                sorted[0],
                sorted[sorted.length - 1],
                sorted.length);
    }
}

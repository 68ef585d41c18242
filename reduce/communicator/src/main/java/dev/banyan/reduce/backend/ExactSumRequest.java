package dev.banyan.reduce.backend;

import dev.banyan.schedule.type.Collective;
import dev.banyan.schedule.type.DataType;

/**
 * A reduction of floating-point numbers whose every element is summed without rounding in between and rounded once.
 *
 * @param collective one that reduces
 * @param root rank of the root, or -1 where the collective has none
 * @param count elements, as {@link Collective} counts them, at least 0
 * @param type a floating-point type
 * @param mean whether sums are divided by the number of ranks before they are rounded
 * @param inPlace whether inputs and outputs are the same buffers
 */
public record ExactSumRequest(
        Collective collective, int root, long count, DataType type, boolean mean, boolean inPlace) {
    public ExactSumRequest {
        if (!collective.reduces() || !type.isFloating()) {
            throw new IllegalArgumentException(
                    "an exact sum of " + type + " by " + collective.label() + "; give floats, and a reduction");
        }
    }
}

package dev.banyan.reduce.internal.sum;

import dev.banyan.schedule.type.Collective;
import dev.banyan.schedule.type.DataType;

/**
 * A reduction of floating-point numbers by {@linkplain ReproducibleSum reproducible sums}.
 *
 * @param collective one that reduces
 * @param root rank of the root, or -1 where the collective has none
 * @param count elements, as {@link Collective} counts them, at least 0
 * @param type a floating-point type
 * @param mean whether sums are divided by the number of ranks
 * @param inPlace whether inputs and outputs are the same buffers
 */
public record SumRequest(Collective collective, int root, long count, DataType type, boolean mean, boolean inPlace) {
    public SumRequest {
        if (!collective.reduces() || !type.isFloating()) {
            throw new IllegalArgumentException(
                    "a reproducible sum of " + type + " by " + collective.label() + "; give floats, and a reduction");
        }
    }
}

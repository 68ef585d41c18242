package dev.banyan.study.workload;

import dev.banyan.simulate.RangedCosts.TimeRange;
import org.jspecify.annotations.Nullable;

/**
 * A predicted call.
 *
 * @param us time in us
 * @param choice the algorithm and its settings, as reports name them
 * @param range times that it could have, as far as constants are not known; null if nothing is known
 */
public record PredictedCall(
        double us, String choice, @Nullable TimeRange range) {}

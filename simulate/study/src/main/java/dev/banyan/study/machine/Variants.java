package dev.banyan.study.machine;

import dev.banyan.schedule.plan.AlgorithmChoice;
import dev.banyan.schedule.plan.AlgorithmConfig;
import dev.banyan.schedule.plan.TreeGenerator;
import org.jspecify.annotations.Nullable;

/**
 * The variants of algorithms that a user asks for.
 *
 * @param trees generator of single trees and multi-trees; null for that of the configuration
 * @param rings greatest number of rings, each one way around; {@link Integer#MAX_VALUE} for as many as carry most
 */
public record Variants(@Nullable TreeGenerator trees, int rings) {
    /** Returns an algorithm in its variant. */
    public AlgorithmConfig of(AlgorithmChoice algorithm) {
        return of(AlgorithmConfig.of(algorithm));
    }

    /** Returns an algorithm in its variant, as far as it leaves that open. */
    public AlgorithmConfig of(AlgorithmConfig named) {
        if (named.choosesTrees()) {
            return named;
        }
        return named.algorithm().generatesTrees()
                ? named.withTrees(trees)
                : named.algorithm() == AlgorithmChoice.RING ? named.withMaxTrees(rings) : named;
    }
}

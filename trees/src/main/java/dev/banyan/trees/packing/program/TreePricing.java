package dev.banyan.trees.packing.program;

import org.jspecify.annotations.Nullable;

/** Finds the cheapest of the trees that a packing may use. */
interface TreePricing {
    /** One of the cheapest trees under the prices that these paths were found for, or null if it knows none. */
    @Nullable
    TreeShape cheapest(PricedPaths paths);

    /** Elementary operations that finding it takes, roughly. */
    long operations(int ranks);
}

package dev.banyan.trees.packing;

/** Finds the cheapest of the trees that a packing may use. */
interface TreePricing {
    /** One of the cheapest trees under the prices that these paths were found for. */
    TreeShape cheapest(PricedPaths paths);
}

package dev.banyan.study.compare;

import dev.banyan.trees.packing.TreePacking;
import org.apache.commons.numbers.fraction.BigFraction;
import org.jspecify.annotations.Nullable;

/**
 * Rate, depth and number of trees of one algorithm.
 *
 * @param rateGbs algbw in GB/s, latencies apart
 * @param depth greatest number of hops between two ranks from a root to a leaf
 * @param trees number of trees, or of rings; null where there is none
 * @param overOthers whether it goes over links that are neither NVLink nor xGMI
 */
record WayFigures(BigFraction rateGbs, int depth, @Nullable Integer trees, boolean overOthers) {
    static WayFigures of(TreePacking packing) {
        return new WayFigures(
                packing.rateGbs(),
                packing.depth(),
                packing.trees().size(),
                !packing.network().takesFastLinksAlone());
    }
}

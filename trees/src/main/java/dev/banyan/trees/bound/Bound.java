package dev.banyan.trees.bound;

import org.apache.commons.numbers.fraction.BigFraction;

/**
 * The greatest rate of a collective, with its proof.
 *
 * @param gbs algbw in GB/s, exact, as nccl-tests define it: bytes of the whole buffer (for all_gather and
 *     reduce_scatter: of all ranks' blocks together) per time
 * @param certificate why it can't be more
 */
public record Bound(BigFraction gbs, Certificate certificate) {}

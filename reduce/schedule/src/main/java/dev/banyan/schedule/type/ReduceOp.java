package dev.banyan.schedule.type;

/** The operation that makes one element of the result out of every rank's element. */
public enum ReduceOp {
    /** Sum. */
    SUM,
    /** Product. */
    PROD,
    /** Smallest element; NaN if one is NaN. */
    MIN,
    /** Greatest element; NaN if one is NaN. */
    MAX,
    /** Sum divided by the number of ranks; of integers the exact mean, rounded toward zero. */
    AVG
}

package dev.banyan.schedule.type;

/** Operation that makes one element out of every rank's element. */
public enum ReduceOp {
    /** Sum. */
    SUM,
    /** Product. */
    PROD,
    /** Least element; NaN if one is NaN. */
    MIN,
    /** Greatest element; NaN if one is NaN. */
    MAX,
    /** Sum divided by the number of ranks; of integers the exact mean, rounded toward zero. */
    AVG
}

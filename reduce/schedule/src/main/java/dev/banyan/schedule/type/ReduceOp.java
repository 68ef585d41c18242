package dev.banyan.schedule.type;

/** The operation that makes one element of the result out of every rank's element. */
public enum ReduceOp {
    /** Sum. */
    SUM,
    /** Product. */
    PROD,
    /** Smallest element, of which -0 is less than +0; if a float is NaN, the NaN with all bits set but the sign. */
    MIN,
    /** Greatest element; zeros and NaN are as for {@link #MIN}. */
    MAX,
    /** Sum divided by the number of ranks; of integers the exact mean, rounded toward zero. */
    AVG
}

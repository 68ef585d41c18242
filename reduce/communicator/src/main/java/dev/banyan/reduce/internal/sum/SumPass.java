package dev.banyan.reduce.internal.sum;

import java.lang.foreign.MemorySegment;

/**
 * A pass of {@linkplain ReproducibleSum reproducible sums} over the memory of one rank's device.
 *
 * @param stage what it does
 * @param sum the definition
 * @param rank whose device runs it
 * @param values the numbers; the first stages read them and the last one writes them
 * @param codes a byte for each number
 * @param integers an integer for each number, of the type that the sum has
 * @param count how many numbers
 */
public record SumPass(
        Stage stage,
        ReproducibleSum sum,
        int rank,
        MemorySegment values,
        MemorySegment codes,
        MemorySegment integers,
        long count) {
    /** Passes in their order; between the first two the greatest codes are found, and then the integers are summed. */
    public enum Stage {
        /** Writes the codes of the numbers. */
        CODES,
        /** Writes the integers of the numbers, for the greatest codes. */
        INTEGERS,
        /** Writes the results, for the greatest codes and the sums of integers. */
        RESULTS
    }
}

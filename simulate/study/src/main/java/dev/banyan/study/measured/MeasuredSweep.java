package dev.banyan.study.measured;

import java.util.List;
import java.util.Objects;

/**
 * The measurement of a program of nccl-tests: one time per size, out of place. Immutable.
 *
 * @param source what it was read from
 * @param rows at least one, in the order of the source; sizes are above 0
 */
public record MeasuredSweep(String source, List<Row> rows) {
    /**
     * One size.
     *
     * @param bytes size as nccl-tests print it
     * @param us time of one call in us, above 0
     */
    public record Row(long bytes, double us) {}

    /**
     * @throws IllegalArgumentException if there is no row
     */
    public MeasuredSweep {
        Objects.requireNonNull(source, "source");
        rows = List.copyOf(rows);
        if (rows.isEmpty()) {
            throw new IllegalArgumentException("a sweep without a row");
        }
    }
}

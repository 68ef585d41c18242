package dev.banyan.study.measured.sweep;

import java.util.List;
import java.util.Objects;

/**
 * The measurement of a program of nccl-tests: one time per size, out of place where that was measured. Immutable.
 *
 * @param source what it was read from
 * @param line of its heading, from 1
 * @param isAlone whether the source has no other sweep
 * @param rows at least one, in the order of the source; sizes are above 0
 * @param run what the source states about the run
 */
public record MeasuredSweep(String source, int line, boolean isAlone, List<Row> rows, SweepRun run) {
    /**
     * One size.
     *
     * @param bytes size as nccl-tests print it
     * @param us time of one call in us, above 0
     */
    public record Row(long bytes, double us) {}

    /** Returns the same beside other sweeps of its source. */
    MeasuredSweep besideOthers() {
        return new MeasuredSweep(source, line, false, rows, run);
    }

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

package dev.banyan.study.measured;

import dev.banyan.schedule.type.Collective;
import dev.banyan.simulate.internal.nccl.NcclRings;
import dev.banyan.study.measured.sweep.MeasuredSweep;
import java.util.List;

/**
 * A measured sweep beside a predicted one, row by row. Immutable.
 *
 * @param rows at least one, in the order of the sweep
 */
public record SweepComparison(List<Row> rows) {
    /**
     * One size.
     *
     * @param bytes size as nccl-tests print it
     * @param measuredUs time of one call in us
     * @param predicted the same as predicted
     */
    public record Row(long bytes, double measuredUs, NcclRings.Timing predicted) {
        /** Error of the predicted time as a fraction of the measured one; negative where it is less. */
        public double error() {
            return predicted.us() / measuredUs - 1;
        }
    }

    /**
     * @throws IllegalArgumentException if there is no row
     */
    public SweepComparison {
        rows = List.copyOf(rows);
        if (rows.isEmpty()) {
            throw new IllegalArgumentException("no row to compare");
        }
    }

    /**
     * Predicts every row of a sweep.
     *
     * @param rings what predicts
     * @param devicesPerProcess as {@link NcclRings#time} takes it
     */
    public static SweepComparison of(
            MeasuredSweep sweep, NcclRings rings, Collective collective, int devicesPerProcess) {
        return new SweepComparison(sweep.rows().stream()
                .map(row -> new Row(row.bytes(), row.us(), rings.time(collective, row.bytes(), devicesPerProcess)))
                .toList());
    }

    /**
     * The rows of some sizes.
     *
     * @param least in bytes, included
     * @param most in bytes, included
     * @throws IllegalArgumentException if there is none
     */
    public SweepComparison between(long least, long most) {
        return new SweepComparison(rows.stream()
                .filter(row -> row.bytes() >= least && row.bytes() <= most)
                .toList());
    }

    /** Median of the errors without their signs; the greater of the middle two where their number is even. */
    public double medianError() {
        double[] sorted =
                rows.stream().mapToDouble(row -> Math.abs(row.error())).sorted().toArray();
        return sorted[sorted.length / 2];
    }

    /** The greatest error without its sign. */
    public double worstError() {
        return rows.stream().mapToDouble(row -> Math.abs(row.error())).max().orElseThrow();
    }
}

package dev.banyan.study.measured.sweep;

import java.util.Locale;
import java.util.Optional;

/**
 * The number of ranks that the figures of a sweep show: busbw is bytes over time, times a factor of the number of
 * ranks, and some collectives print the count of one rank beside the size of all.
 *
 * @param factor busbw over bytes over time, in the row where that is greatest; NaN if it is not known
 * @param tolerance by which rounding may have changed the factor
 * @param parts size over the bytes of the printed count; 0 if it is not known
 */
public record SweepRates(double factor, double tolerance, int parts) {
    static final SweepRates UNKNOWN = new SweepRates(Double.NaN, 0, 0);
    /** Figures have two digits after the point; less than this leaves the factor open. */
    private static final double LEAST_GBS = 0.5;

    private static final double ROUNDING = 0.006;
    private static final double LEAST_TOLERANCE = 0.003;

    static SweepRates of(double algorithmGbs, double busGbs, int parts) {
        return algorithmGbs < LEAST_GBS || !Double.isFinite(algorithmGbs) || !Double.isFinite(busGbs)
                ? new SweepRates(Double.NaN, 0, parts)
                : new SweepRates(
                        busGbs / algorithmGbs,
                        LEAST_TOLERANCE + ROUNDING * (1 + busGbs / algorithmGbs) / algorithmGbs,
                        parts);
    }

    public boolean isKnown() {
        return !Double.isNaN(factor);
    }

    /** Returns whether the factor is another one than this, beyond rounding. */
    boolean isUnlike(double expected) {
        return isKnown() && Math.abs(factor - expected) > tolerance;
    }

    /** Returns the sentence part that contradicts a number of ranks; empty if nothing does. */
    public Optional<String> against(String collective, int ranks) {
        double expected = factor(collective, ranks);
        if (parts > 1 && (collective.equals("all_gather") || collective.equals("reduce_scatter")) && parts != ranks) {
            return Optional.of("sizes are " + parts + " times their counts, as between " + parts + " ranks");
        }
        if (Double.isNaN(expected) || !isUnlike(expected)) {
            return Optional.empty();
        }
        long fitting = Math.round(2 / (2 - factor));
        return Optional.of(
                "busbw is " + String.format(Locale.ROOT, "%.3f", factor) + " times bytes over time, and " + collective
                        + " between " + ranks + " ranks has " + String.format(Locale.ROOT, "%.3f", expected)
                        + (collective.equals("all_reduce") && factor > 0.99 && factor < 2
                                ? " (" + fitting + " ranks fit)"
                                : ""));
    }

    private static double factor(String collective, int ranks) {
        return switch (collective) {
            case "all_reduce" -> 2.0 * (ranks - 1) / ranks;
            case "all_gather", "reduce_scatter" -> (ranks - 1.0) / ranks;
            case "broadcast", "reduce" -> 1;
            default -> Double.NaN;
        };
    }
}

package dev.banyan.cli.gpuday;

import java.time.Duration;
import java.util.List;
import java.util.Map;

/**
 * Divides time among parts: each gets its share of what is left, so that time which a part did not need goes to the
 * later ones.
 */
final class Budget {
    private final long begun = System.nanoTime();
    private final Duration whole;
    private final Map<String, Duration> fixed;

    /**
     * @param whole for all parts
     * @param fixed deadlines of parts that have their own, by name
     */
    Budget(Duration whole, Map<String, Duration> fixed) {
        this.whole = whole;
        this.fixed = Map.copyOf(fixed);
    }

    /**
     * How long the first of some parts may run.
     *
     * @param left the parts that have not run, the next one first
     */
    Duration of(List<Part> left) {
        Part next = left.getFirst();
        Duration own = fixed.get(next.name());
        if (own != null) {
            return own;
        }
        int shares = left.stream().mapToInt(Part::share).sum();
        Duration remaining = whole.minus(spent());
        return remaining.isNegative()
                ? Duration.ZERO
                : remaining.multipliedBy(next.share()).dividedBy(shares);
    }

    /** Whether a part has a deadline of its own. */
    boolean isFixed(Part part) {
        return fixed.containsKey(part.name());
    }

    Duration spent() {
        return Duration.ofNanos(System.nanoTime() - begun);
    }

    Duration whole() {
        return whole;
    }
}

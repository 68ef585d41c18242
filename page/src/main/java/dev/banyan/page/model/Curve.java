package dev.banyan.page.model;

import com.fasterxml.jackson.annotation.JsonInclude;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Times of an allreduce by its size.
 *
 * @param name what the curve is called; an algorithm's own name for its predictions
 * @param measured whether the times were measured, not predicted
 * @param points by ascending size
 */
public record Curve(String name, boolean measured, List<Point> points) {
    /**
     * One size.
     *
     * @param bytes of one buffer
     * @param us time of a call
     * @param least least time by constants that nobody measured; null without such constants
     * @param most the greatest, else as {@code least}
     * @param choice what carried the call out, if that depends on the size
     */
    @JsonInclude(JsonInclude.Include.NON_NULL)
    public record Point(
            long bytes,
            double us,
            @Nullable Double least,
            @Nullable Double most,
            @Nullable String choice) {
        /** A time without a range. */
        public Point(long bytes, double us) {
            this(bytes, us, null, null, null);
        }
    }

    public Curve {
        points = List.copyOf(points);
        if (points.isEmpty()) {
            throw new IllegalArgumentException("the curve " + name + " has no point; give at least one size");
        }
    }
}

package dev.banyan.page.chart;

import java.util.Collection;
import java.util.List;
import java.util.function.ToDoubleFunction;

/**
 * A line of a chart.
 *
 * @param name what the legend calls it
 * @param points from left to right, at least one
 */
public record ChartCurve(String name, List<Point> points) {
    /** A point, in the units of the axes. */
    public record Point(double x, double y) {}

    public ChartCurve {
        points = List.copyOf(points);
        if (points.isEmpty()) {
            throw new IllegalArgumentException("curve " + name + " has no points");
        }
    }

    /** A curve with a point for each row of a table. */
    public static <T> ChartCurve of(String name, Collection<T> rows, ToDoubleFunction<T> x, ToDoubleFunction<T> y) {
        return new ChartCurve(
                name,
                rows.stream()
                        .map(row -> new Point(x.applyAsDouble(row), y.applyAsDouble(row)))
                        .toList());
    }
}

package dev.banyan.cli.plot;

import java.util.List;

/**
 * A line of a chart.
 *
 * @param name what the legend calls it
 * @param points from left to right, at least one
 */
public record Curve(String name, List<Point> points) {
    /** A point, in the units of the axes. */
    public record Point(double x, double y) {}

    public Curve {
        points = List.copyOf(points);
        if (points.isEmpty()) {
            throw new IllegalArgumentException("curve " + name + " has no points");
        }
    }
}

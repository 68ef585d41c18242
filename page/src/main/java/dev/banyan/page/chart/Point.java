package dev.banyan.page.chart;

/** A place in a drawing. */
record Point(double x, double y) {
    Point plus(double dx, double dy) {
        return new Point(x + dx, y + dy);
    }

    double distance(Point other) {
        return Math.hypot(x - other.x, y - other.y);
    }
}

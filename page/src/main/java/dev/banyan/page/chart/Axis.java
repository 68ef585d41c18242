package dev.banyan.page.chart;

import java.util.Objects;

/**
 * An axis of a chart.
 *
 * @param title what it is, with its unit
 * @param scale how values are placed and written
 */
public record Axis(String title, Scale scale) {
    public Axis {
        Objects.requireNonNull(title, "title");
        Objects.requireNonNull(scale, "scale");
    }
}

package dev.banyan.page.chart;

import java.util.List;
import java.util.stream.Collectors;

/**
 * Charts below one another, so that a page shows them at full width. The same charts make the same file.
 *
 * @param charts from top to bottom, at least one
 */
public record Picture(List<LineChart> charts) {
    public Picture {
        charts = List.copyOf(charts);
        if (charts.isEmpty()) {
            throw new IllegalArgumentException("a picture of no charts");
        }
    }

    /** Draws it. */
    public String svg() {
        SvgWriter svg = new SvgWriter(
                LineChart.WIDTH,
                charts.size() * LineChart.HEIGHT,
                charts.getFirst().title(),
                description());
        for (int chart = 0; chart < charts.size(); chart++) {
            svg.add("<g transform='translate(0 %s)'>", chart * LineChart.HEIGHT);
            charts.get(chart).draw(svg);
            svg.add("</g>");
        }
        return svg.finish();
    }

    private String description() {
        return charts.stream()
                .map(chart -> chart.title() + ": " + chart.y().title() + " over "
                        + chart.x().title() + "; "
                        + chart.curves().stream().map(ChartCurve::name).collect(Collectors.joining(", ")))
                .collect(Collectors.joining(". "));
    }
}

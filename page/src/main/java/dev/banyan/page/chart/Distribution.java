package dev.banyan.page.chart;

import dev.banyan.study.text.Numbers;
import java.util.ArrayList;
import java.util.List;
import java.util.LongSummaryStatistics;
import java.util.Map;
import java.util.Optional;

/** Distributions of values: for each value the share of those that are at most as great. */
public final class Distribution {
    private static final int MOST_STEPS = 500;
    private static final Axis SHARE = new Axis("share that is at most that (%)", Scale.LINEAR);

    private Distribution() {}

    /** A chart of all that have values, sorted; none where there is no value above 0, which alone the axis has. */
    public static Optional<LineChart> of(String title, Axis x, Map<String, List<Long>> sorted) {
        LongSummaryStatistics positive = sorted.values().stream()
                .flatMap(List::stream)
                .mapToLong(Long::longValue)
                .filter(value -> value > 0)
                .summaryStatistics();
        if (positive.getCount() == 0) {
            return Optional.empty();
        }
        List<ChartCurve> curves = sorted.entrySet().stream()
                .filter(entry -> !entry.getValue().isEmpty())
                .map(entry -> curve(entry.getKey(), entry.getValue(), positive.getMin(), positive.getMax()))
                .toList();
        return Optional.of(new LineChart(title, x, SHARE, curves));
    }

    /**
     * A curve that rises at every value, of some hundred steps at most. Values of 0 have no place on the axis: the
     * curve begins at the axis' least value with their share, which its name says.
     *
     * @param least the least value above 0 of the chart
     * @param most the greatest value of the chart
     */
    static ChartCurve curve(String name, List<Long> sorted, long least, long most) {
        int zeros = (int) sorted.stream().takeWhile(value -> value <= 0).count();
        int positive = sorted.size() - zeros;
        List<ChartCurve.Point> points = new ArrayList<>();
        double before = 100.0 * zeros / sorted.size();
        if (zeros > 0) {
            points.add(new ChartCurve.Point(least, before));
        }
        int steps = Math.min(positive, MOST_STEPS);
        for (int step = 1; step <= steps; step++) {
            int count = zeros + (int) ((long) positive * step / steps);
            double at = sorted.get(count - 1);
            double share = 100.0 * count / sorted.size();
            points.add(new ChartCurve.Point(at, before));
            points.add(new ChartCurve.Point(at, share));
            before = share;
        }
        if (positive == 0) {
            points.add(new ChartCurve.Point(most, before));
        }
        String title = zeros == 0 ? name : Numbers.format("%s (%.0f%% are 0)", name, 100.0 * zeros / sorted.size());
        return new ChartCurve(title, points);
    }
}

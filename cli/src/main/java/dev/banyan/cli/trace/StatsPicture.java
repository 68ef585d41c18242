package dev.banyan.cli.trace;

import dev.banyan.dlc.internal.statistics.DlcStatistics;
import dev.banyan.dlc.internal.statistics.Overhead;
import dev.banyan.page.chart.Axis;
import dev.banyan.page.chart.ChartCurve;
import dev.banyan.page.chart.LineChart;
import dev.banyan.page.chart.Picture;
import dev.banyan.page.chart.Scale;
import dev.banyan.study.text.Numbers;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.LongSummaryStatistics;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;

/** Distributions of a traced run: lengths of messages, and overheads, each over the share that is at most as great. */
final class StatsPicture {
    private static final int MOST_STEPS = 500;
    private static final Axis SHARE = new Axis("share that is at most that (%)", Scale.LINEAR);

    private StatsPicture() {}

    /** @throws IllegalArgumentException if there are no messages but those of the initialisation */
    static Picture of(DlcStatistics statistics) {
        Map<String, List<Long>> lengths = new LinkedHashMap<>();
        for (int message = 0; message < StatsReport.MESSAGES.size(); message++) {
            lengths.put(StatsReport.MESSAGES.get(message), statistics.lengths(message));
        }
        Map<String, List<Long>> times = new LinkedHashMap<>();
        for (Overhead overhead : Overhead.values()) {
            times.put(overhead.label(), statistics.times(overhead));
        }
        List<LineChart> charts = Stream.of(
                        chart("Lengths of messages", new Axis("length (bytes)", Scale.BYTES), lengths),
                        chart("Overheads", new Axis("time", Scale.MICROSECONDS), times))
                .flatMap(Optional::stream)
                .toList();
        if (charts.isEmpty()) {
            throw new IllegalArgumentException(
                    "these traces have no whole push or pull but the initialisation's, so there is nothing to draw;"
                            + " leave --plot out");
        }
        return new Picture(charts);
    }

    /** A chart of all that have values, sorted; none where there is no value above 0, which alone the axis has. */
    private static Optional<LineChart> chart(String title, Axis x, Map<String, List<Long>> sorted) {
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

package dev.banyan.cli.trace;

import dev.banyan.cli.plot.Axis;
import dev.banyan.cli.plot.Curve;
import dev.banyan.cli.plot.LineChart;
import dev.banyan.cli.plot.Picture;
import dev.banyan.cli.plot.Scale;
import dev.banyan.dlc.DlcStatistics;
import dev.banyan.dlc.Overhead;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/** Distributions of a traced run: lengths of messages, and overheads, each over the share that is at most as great. */
final class StatsPicture {
    private static final int MOST_STEPS = 500;
    private static final Axis SHARE = new Axis("share that is at most that (%)", Scale.LINEAR);

    private StatsPicture() {}

    /** @throws IllegalArgumentException if there are no messages but those of the initialisation */
    static Picture of(DlcStatistics statistics) {
        List<LineChart> charts = Stream.of(
                        chart(
                                "Lengths of messages",
                                new Axis("length (bytes)", Scale.BYTES),
                                IntStream.range(0, StatsReport.MESSAGES.size())
                                        .mapToObj(message ->
                                                curve(StatsReport.MESSAGES.get(message), statistics.lengths(message)))),
                        chart(
                                "Overheads",
                                new Axis("time", Scale.MICROSECONDS),
                                Arrays.stream(Overhead.values())
                                        .map(overhead -> curve(overhead.label(), statistics.times(overhead)))))
                .flatMap(Optional::stream)
                .toList();
        if (charts.isEmpty()) {
            throw new IllegalArgumentException(
                    "these traces have no whole push or pull but the initialisation's, so there is nothing to draw;"
                            + " leave --plot out");
        }
        return new Picture(charts);
    }

    private static Optional<LineChart> chart(String title, Axis x, Stream<Optional<Curve>> curves) {
        List<Curve> known = curves.flatMap(Optional::stream).toList();
        return known.isEmpty() ? Optional.empty() : Optional.of(new LineChart(title, x, SHARE, known));
    }

    /**
     * A curve that rises at every value, of some hundred steps at most. Values of 0, which have no place on the axis,
     * are drawn at 1.
     */
    private static Optional<Curve> curve(String name, List<Long> sorted) {
        if (sorted.isEmpty()) {
            return Optional.empty();
        }
        int steps = Math.min(sorted.size(), MOST_STEPS);
        List<Curve.Point> points = new ArrayList<>();
        double before = 0;
        for (int step = 1; step <= steps; step++) {
            int count = (int) ((long) sorted.size() * step / steps);
            double at = Math.max(1, sorted.get(count - 1));
            double share = 100.0 * count / sorted.size();
            points.add(new Curve.Point(at, before));
            points.add(new Curve.Point(at, share));
            before = share;
        }
        return Optional.of(new Curve(name, points));
    }
}

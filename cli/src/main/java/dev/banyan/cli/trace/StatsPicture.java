package dev.banyan.cli.trace;

import dev.banyan.dlc.internal.statistics.DlcStatistics;
import dev.banyan.dlc.internal.statistics.Overhead;
import dev.banyan.page.chart.Axis;
import dev.banyan.page.chart.Distribution;
import dev.banyan.page.chart.LineChart;
import dev.banyan.page.chart.Picture;
import dev.banyan.page.chart.Scale;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;

/** Distributions of a traced run: lengths of messages, and overheads, each over the share that is at most as great. */
final class StatsPicture {
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
                        Distribution.of("Lengths of messages", new Axis("length (bytes)", Scale.BYTES), lengths),
                        Distribution.of("Overheads", new Axis("time", Scale.MICROSECONDS), times))
                .flatMap(Optional::stream)
                .toList();
        if (charts.isEmpty()) {
            throw new IllegalArgumentException(
                    "these traces have no whole push or pull but the initialisation's, so there is nothing to draw;"
                            + " leave --plot out");
        }
        return new Picture(charts);
    }
}

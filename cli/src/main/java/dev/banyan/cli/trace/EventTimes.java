package dev.banyan.cli.trace;

import dev.banyan.simulate.internal.trace.Recording;
import dev.banyan.study.text.Numbers;
import dev.banyan.study.text.TextTable;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;

/** The times of a run's events, for each kind and name: the sum of a process, the median and the greatest. */
final class EventTimes {
    private EventTimes() {}

    /** @param recordings those of all processes of the run, at least one */
    static TextTable table(List<Recording> recordings) {
        Map<String, double[]> sortedMs = recordings.stream()
                .flatMap(recording -> recording.slices().stream())
                .collect(Collectors.groupingBy(
                        EventTimes::label,
                        TreeMap::new,
                        Collectors.collectingAndThen(Collectors.toList(), EventTimes::sortedMs)));
        TextTable table = new TextTable(
                "event", "events\n(per process)", "sum\n(ms per process)", "median\n(ms)", "greatest\n(ms)");
        sortedMs.forEach((label, ms) -> table.row(
                label,
                Numbers.format("%.1f", (double) ms.length / recordings.size()),
                Numbers.format("%.1f", Arrays.stream(ms).sum() / recordings.size()),
                Numbers.format("%.3f", ms[ms.length / 2]),
                Numbers.format("%.3f", ms[ms.length - 1])));
        return table;
    }

    private static String label(Recording.Slice slice) {
        return slice.name().equals(slice.kind()) ? slice.kind() : slice.kind() + ": " + slice.name();
    }

    private static double[] sortedMs(List<Recording.Slice> slices) {
        return slices.stream()
                .mapToDouble(
                        slice -> Duration.between(slice.start(), slice.end()).toNanos() / 1e6)
                .sorted()
                .toArray();
    }
}

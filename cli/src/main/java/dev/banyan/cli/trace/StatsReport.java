package dev.banyan.cli.trace;

import com.fasterxml.jackson.annotation.JsonProperty;
import dev.banyan.dlc.internal.statistics.DlcStatistics;
import dev.banyan.dlc.internal.statistics.DlcStatistics.KeyTraffic;
import dev.banyan.dlc.internal.statistics.DlcStatistics.Phases;
import dev.banyan.dlc.internal.statistics.DlcStatistics.Spread;
import dev.banyan.dlc.internal.statistics.Overhead;
import dev.banyan.study.text.Numbers;
import dev.banyan.study.text.TextTable;
import java.io.PrintWriter;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.SortedMap;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * The report of {@code banyan trace stats}, in the order of its JSON. Times are in us.
 *
 * @param records records of all files
 * @param setupRecords setup messages among them
 * @param workers workers whose messages were recorded
 * @param servers servers whose messages were recorded
 * @param keys number of keys
 * @param iterations iterations, initialisation apart
 * @param pushedBytesPerIteration bytes pushed
 * @param pulledBytesPerIteration bytes pulled
 * @param bytesPerIteration bytes of all messages
 * @param overlapRatio share of the communication that is hidden, or null where no iteration is whole
 * @param phases means over iterations, or null where no iteration is whole
 * @param messages how long each of the four kinds of messages are
 * @param traffic the same by key
 * @param overheads where the time goes, as far as it is known
 */
record StatsReport(
        int records,
        int setupRecords,
        int workers,
        int servers,
        int keys,
        int iterations,
        double pushedBytesPerIteration,
        double pulledBytesPerIteration,
        double bytesPerIteration,
        @Nullable Double overlapRatio,
        @Nullable Phases phases,
        Map<String, Lengths> messages,
        @JsonProperty("rows") List<KeyTraffic> traffic,
        Map<String, Times> overheads) {
    /** The names of the four messages of a push and a pull. */
    static final List<String> MESSAGES = List.of("push", "acknowledgement", "request", "pull");

    /**
     * Lengths of messages in bytes.
     *
     * @param count how many there are
     * @param total sum
     * @param min the shortest
     * @param median the middle one
     * @param max the longest
     */
    record Lengths(int count, long total, long min, long median, long max) {
        static Lengths of(List<Long> sorted) {
            return new Lengths(
                    sorted.size(),
                    sorted.stream().mapToLong(Long::longValue).sum(),
                    sorted.getFirst(),
                    sorted.get(sorted.size() / 2),
                    sorted.getLast());
        }
    }

    /**
     * An overhead.
     *
     * @param overall over all keys
     * @param keys by key
     */
    record Times(Spread overall, SortedMap<Integer, Spread> keys) {}

    static StatsReport of(DlcStatistics statistics) {
        Map<String, Lengths> messages = new LinkedHashMap<>();
        IntStream.range(0, MESSAGES.size())
                .filter(message -> !statistics.lengths(message).isEmpty())
                .forEach(message -> messages.put(MESSAGES.get(message), Lengths.of(statistics.lengths(message))));
        Map<String, Times> overheads = new LinkedHashMap<>();
        for (Overhead overhead : Overhead.values()) {
            statistics
                    .overhead(overhead)
                    .ifPresent(overall ->
                            overheads.put(overhead.label(), new Times(overall, statistics.overheadByKey(overhead))));
        }
        Phases phases = statistics.phases().orElse(null);
        return new StatsReport(
                statistics.records(),
                statistics.setupRecords(),
                statistics.workers(),
                statistics.servers(),
                statistics.keys().size(),
                statistics.iterations(),
                statistics.pushedBytesPerIteration(),
                statistics.pulledBytesPerIteration(),
                statistics.bytesPerIteration(),
                phases == null ? null : phases.overlapRatio(),
                phases,
                messages,
                statistics.traffic(),
                overheads);
    }

    void print(PrintWriter out) {
        out.printf(
                Locale.ROOT,
                "# %s, %d of them setup; %s, %s, %s, %s%n",
                Numbers.count(records, "record"),
                setupRecords,
                Numbers.count(workers, "worker"),
                Numbers.count(servers, "server"),
                Numbers.count(keys, "key"),
                Numbers.count(iterations, "iteration"));
        out.printf(
                Locale.ROOT,
                "# per iteration: %s pushed, %s pulled, %s in all messages%n",
                megabytes(pushedBytesPerIteration),
                megabytes(pulledBytesPerIteration),
                megabytes(bytesPerIteration));
        if (phases != null) {
            out.printf(
                    Locale.ROOT,
                    "# phases of an iteration of %s ms: computation %s ms, both %s ms, communication %s ms%n",
                    ms(phases.iterationUs()),
                    ms(phases.computationUs()),
                    ms(phases.overlapUs()),
                    ms(phases.communicationUs()));
            out.println(
                    "# overlap ratio " + (overlapRatio == null ? "-" : Numbers.format("%.1f%%", 100 * overlapRatio)));
        }
        out.println("#");
        TextTable lengths =
                new TextTable("message", "count", "min\nbytes", "median\nbytes", "max\nbytes", "total\nbytes");
        messages.forEach((name, length) -> lengths.row(
                name,
                Integer.toString(length.count()),
                Long.toString(length.min()),
                Long.toString(length.median()),
                Long.toString(length.max()),
                Long.toString(length.total())));
        lengths.lines().forEach(out::println);
        out.println("#");
        TextTable times = new TextTable("overhead", "key", "count", "mean\nus", "min\nus", "max\nus");
        overheads.forEach((name, overhead) -> {
            times.row(cells(name, "all", overhead.overall()));
            overhead.keys().forEach((key, spread) -> times.row(cells("", key.toString(), spread)));
        });
        times.lines().forEach(out::println);
    }

    private static List<String> cells(String name, String key, Spread spread) {
        return List.of(
                name,
                key,
                Long.toString(spread.count()),
                Numbers.format("%.1f", spread.mean()),
                Long.toString(spread.min()),
                Long.toString(spread.max()));
    }

    private static String megabytes(double bytes) {
        return bytes < 1e5 ? Numbers.plain(bytes / 1e3) + " kB" : Numbers.format("%.2f MB", bytes / 1e6);
    }

    private static String ms(double us) {
        return Numbers.format("%.3f", us / 1e3);
    }
}

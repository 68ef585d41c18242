package dev.banyan.simulate.internal.trace;

import java.io.IOException;
import java.io.Writer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;

/**
 * Recordings of several processes as {@link TraceEvents}, which Perfetto (ui.perfetto.dev) and chrome://tracing show:
 * a group of rows per process, in the order of their ranks. Begins with the first event of all; times in us.
 */
public final class RecordedTimeline {
    private final List<Recording> recordings;
    private final Instant begin;

    /**
     * @param recordings at least one; each has an event
     * @throws IllegalArgumentException if two are of the same rank
     */
    public RecordedTimeline(List<Recording> recordings) {
        this.recordings = recordings.stream()
                .sorted(Comparator.comparingInt(recording -> recording.rank().orElse(Integer.MAX_VALUE)))
                .toList();
        Map<Integer, Recording> ranks = new HashMap<>();
        for (Recording recording : recordings) {
            if (recording.rank().isPresent()) {
                Recording other = ranks.put(recording.rank().getAsInt(), recording);
                if (other != null) {
                    throw new IllegalArgumentException(
                            "recordings of several runs: there is '" + other.process() + "' and '" + recording.process()
                                    + "'; give those of one run, and remove what older ones left");
                }
            }
        }
        begin = recordings.stream()
                .flatMap(recording -> recording.slices().stream())
                .map(Recording.Slice::start)
                .min(Comparator.naturalOrder())
                .orElseThrow();
    }

    /**
     * Writes the timeline to a file.
     *
     * @throws IOException if the file can't be written
     */
    public void write(Path file) throws IOException {
        try (Writer writer = Files.newBufferedWriter(file);
                TraceEvents events = new TraceEvents(writer, "ms")) {
            for (int i = 0; i < recordings.size(); i++) {
                write(events, i, recordings.get(i));
            }
        }
    }

    private void write(TraceEvents events, int process, Recording recording) throws IOException {
        events.nameGroup(process, recording.process());
        Map<String, List<Recording.Slice>> kinds = recording.slices().stream()
                .collect(Collectors.groupingBy(Recording.Slice::kind, TreeMap::new, Collectors.toList()));
        int row = 1;
        for (Map.Entry<String, List<Recording.Slice>> kind : kinds.entrySet()) {
            List<Recording.Slice> slices = new ArrayList<>(kind.getValue());
            // The longest of those that begin together is first, because the others are its parts.
            slices.sort(Comparator.comparing(Recording.Slice::start)
                    .thenComparing(Recording.Slice::end, Comparator.reverseOrder()));
            List<Row> rows = new ArrayList<>();
            for (Recording.Slice slice : slices) {
                int at = 0;
                while (at < rows.size() && !rows.get(at).takes(slice)) {
                    at++;
                }
                if (at == rows.size()) {
                    rows.add(new Row());
                    events.nameRow(process, row + at, kind.getKey() + (at == 0 ? "" : " (" + (at + 1) + ")"));
                }
                rows.get(at).add(slice);
                write(events, process, row + at, slice);
            }
            row += rows.size();
        }
    }

    /** A row of slices each of which is after, or inside, those before it. */
    private static final class Row {
        private final List<Instant> open = new ArrayList<>();

        boolean takes(Recording.Slice slice) {
            while (!open.isEmpty() && !open.getLast().isAfter(slice.start())) {
                open.removeLast();
            }
            return open.isEmpty() || !slice.end().isAfter(open.getLast());
        }

        void add(Recording.Slice slice) {
            open.add(slice.end());
        }
    }

    private void write(TraceEvents events, int process, int row, Recording.Slice slice) throws IOException {
        events.slice(
                process,
                row,
                slice.name(),
                Duration.between(begin, slice.start()).toNanos() / 1e3,
                Duration.between(slice.start(), slice.end()).toNanos() / 1e3,
                slice.details());
    }
}

package dev.banyan.cli.trace;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
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
 * Recordings of several processes as trace-event JSON, which Perfetto (ui.perfetto.dev) and chrome://tracing show:
 * a group of rows per process, in the order of their ranks. Begins with the first event of all; times in us.
 */
final class RecordedTimeline {
    private final List<Recording> recordings;
    private final Instant begin;

    /**
     * @param recordings at least one; each has an event
     * @throws IllegalArgumentException if two are of the same rank
     */
    RecordedTimeline(List<Recording> recordings) {
        this.recordings = recordings.stream()
                .sorted(Comparator.comparingInt(recording -> recording.rank().orElse(Integer.MAX_VALUE)))
                .toList();
        Map<Integer, Recording> ranks = new HashMap<>();
        for (Recording recording : recordings) {
            if (recording.rank().isPresent()) {
                Recording other = ranks.put(recording.rank().getAsInt(), recording);
                if (other != null) {
                    throw new IllegalArgumentException("recordings of several runs: there is '" + other.process() + "' and '"
                            + recording.process() + "'; give those of one run, and remove what older ones left");
                }
            }
        }
        begin = recordings.stream()
                .flatMap(recording -> recording.slices().stream())
                .map(Recording.Slice::start)
                .min(Comparator.naturalOrder())
                .orElseThrow();
    }

    /** @throws IOException if the file can't be written */
    void write(Path file) throws IOException {
        try (Writer writer = Files.newBufferedWriter(file);
                JsonGenerator json = new JsonFactory().createGenerator(writer)) {
            json.writeStartObject();
            json.writeStringField("displayTimeUnit", "ms");
            json.writeArrayFieldStart("traceEvents");
            for (int i = 0; i < recordings.size(); i++) {
                write(json, i, recordings.get(i));
            }
            json.writeEndArray();
            json.writeEndObject();
        }
    }

    private void write(JsonGenerator json, int process, Recording recording) throws IOException {
        name(json, "process_name", process, 0, recording.process());
        Map<String, List<Recording.Slice>> kinds = recording.slices().stream()
                .collect(Collectors.groupingBy(Recording.Slice::kind, TreeMap::new, Collectors.toList()));
        int row = 1;
        for (Map.Entry<String, List<Recording.Slice>> kind : kinds.entrySet()) {
            List<Recording.Slice> slices = new ArrayList<>(kind.getValue());
            // Of those that begin together the longest first: it is what the others are parts of.
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
                    name(json, "thread_name", process, row + at, kind.getKey() + (at == 0 ? "" : " (" + (at + 1) + ")"));
                }
                rows.get(at).add(slice);
                write(json, process, row + at, slice);
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

    private static void name(JsonGenerator json, String what, int process, int row, String name) throws IOException {
        json.writeStartObject();
        json.writeStringField("name", what);
        json.writeStringField("ph", "M");
        json.writeNumberField("pid", process);
        json.writeNumberField("tid", row);
        json.writeObjectFieldStart("args");
        json.writeStringField("name", name);
        json.writeEndObject();
        json.writeEndObject();
    }

    private void write(JsonGenerator json, int process, int row, Recording.Slice slice) throws IOException {
        json.writeStartObject();
        json.writeStringField("name", slice.name());
        json.writeStringField("ph", "X");
        json.writeNumberField("pid", process);
        json.writeNumberField("tid", row);
        json.writeNumberField("ts", Duration.between(begin, slice.start()).toNanos() / 1e3);
        json.writeNumberField("dur", Duration.between(slice.start(), slice.end()).toNanos() / 1e3);
        json.writeObjectFieldStart("args");
        for (Map.Entry<String, Object> detail : slice.details().entrySet()) {
            json.writeFieldName(detail.getKey());
            json.writePOJO(detail.getValue());
        }
        json.writeEndObject();
        json.writeEndObject();
    }
}

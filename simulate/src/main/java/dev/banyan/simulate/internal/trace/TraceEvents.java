package dev.banyan.simulate.internal.trace;

import dev.banyan.config.internal.json.JsonPieces;
import jakarta.json.JsonObjectBuilder;
import java.io.IOException;
import java.io.Writer;
import java.util.Map;

/**
 * Writes a timeline as trace-event JSON, which Perfetto (ui.perfetto.dev) and chrome://tracing show: slices in rows,
 * rows in groups, which the format calls threads and processes.
 *
 * <p>Format: "Trace Event Format", complete events ({@code ph X}) in us. Not safe for use from several threads at once.
 */
public final class TraceEvents implements AutoCloseable {
    private final Writer writer;
    private String separator = "\n";

    /**
     * A timeline without events.
     *
     * @param writer stays open
     * @param unit in which times are shown, {@code ms} or {@code ns}
     * @throws IOException if that can't be written
     */
    public TraceEvents(Writer writer, String unit) throws IOException {
        this.writer = writer;
        writer.write("{\"displayTimeUnit\":" + JsonPieces.of(unit) + ",\"traceEvents\":[");
    }

    /**
     * Names a group of rows.
     *
     * @param group its number
     * @throws IOException if that can't be written
     */
    public void nameGroup(int group, String name) throws IOException {
        name("process_name", group, 0, name);
    }

    /**
     * Names a row.
     *
     * @param group the number of its group
     * @param row its number, at least 1
     * @throws IOException if that can't be written
     */
    public void nameRow(int group, int row, String name) throws IOException {
        name("thread_name", group, row, name);
    }

    private void name(String what, int group, int row, String name) throws IOException {
        write(JsonPieces.object()
                .add("name", what)
                .add("ph", "M")
                .add("pid", group)
                .add("tid", row)
                .add("args", JsonPieces.object().add("name", name)));
    }

    private void write(JsonObjectBuilder event) throws IOException {
        writer.write(separator);
        writer.write(event.build().toString());
        separator = ",\n";
    }

    /**
     * Puts a slice into a row.
     *
     * @param startUs its begin in us
     * @param durationUs its length in us
     * @param details strings, numbers and booleans, by name
     * @throws IOException if that can't be written
     */
    public void slice(int group, int row, String name, double startUs, double durationUs, Map<String, Object> details)
            throws IOException {
        JsonObjectBuilder arguments = JsonPieces.object();
        details.forEach((key, value) -> {
            switch (value) {
                case Boolean truth -> arguments.add(key, truth);
                case Integer number -> arguments.add(key, number);
                case Long number -> arguments.add(key, number);
                case Number number -> arguments.add(key, number.doubleValue());
                default -> arguments.add(key, value.toString());
            }
        });
        write(JsonPieces.object()
                .add("name", name)
                .add("ph", "X")
                .add("pid", group)
                .add("tid", row)
                .add("ts", startUs)
                .add("dur", durationUs)
                .add("args", arguments));
    }

    /**
     * Ends the timeline; nothing more is put into it.
     *
     * @throws IOException if that can't be written
     */
    @Override
    public void close() throws IOException {
        writer.write("\n]}");
        writer.flush();
    }
}

package dev.banyan.simulate.internal.trace;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
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
    private final JsonGenerator json;

    /**
     * A timeline without events.
     *
     * @param writer stays open
     * @param unit in which times are shown, {@code ms} or {@code ns}
     * @throws IOException if that can't be written
     */
    public TraceEvents(Writer writer, String unit) throws IOException {
        json = new JsonFactory().createGenerator(writer).disable(JsonGenerator.Feature.AUTO_CLOSE_TARGET);
        json.writeStartObject();
        json.writeStringField("displayTimeUnit", unit);
        json.writeArrayFieldStart("traceEvents");
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
        json.writeStartObject();
        json.writeStringField("name", what);
        json.writeStringField("ph", "M");
        json.writeNumberField("pid", group);
        json.writeNumberField("tid", row);
        json.writeObjectFieldStart("args");
        json.writeStringField("name", name);
        json.writeEndObject();
        json.writeEndObject();
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
        json.writeStartObject();
        json.writeStringField("name", name);
        json.writeStringField("ph", "X");
        json.writeNumberField("pid", group);
        json.writeNumberField("tid", row);
        json.writeNumberField("ts", startUs);
        json.writeNumberField("dur", durationUs);
        json.writeObjectFieldStart("args");
        for (Map.Entry<String, Object> detail : details.entrySet()) {
            json.writeFieldName(detail.getKey());
            json.writePOJO(detail.getValue());
        }
        json.writeEndObject();
        json.writeEndObject();
    }

    /**
     * Ends the timeline; nothing more is put into it.
     *
     * @throws IOException if that can't be written
     */
    @Override
    public void close() throws IOException {
        // Ends what is open, too.
        json.close();
    }
}

package dev.banyan.cli.gpuday;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.banyan.gpuday.Figure;
import dev.banyan.gpuday.Recorder;
import java.io.PrintWriter;
import java.io.UncheckedIOException;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The lines by which a measuring process reports: a JSON value each, printed at once, so that what came before a
 * failure is kept.
 */
final class RecordLines implements Recorder {
    private static final ObjectMapper MAPPER = new ObjectMapper();

    private final PrintWriter out;

    RecordLines(PrintWriter out) {
        this.out = out;
    }

    /** One line: one of the fields is there. */
    private record Line(
            @Nullable Figure figure,
            @Nullable Fact fact,
            @Nullable String note,
            @Nullable String skipped) {}

    @Override
    public void figure(Figure figure) {
        print(new Line(figure, null, null, null));
    }

    @Override
    public void fact(String name, Map<String, String> of, String value) {
        print(new Line(null, new Fact(name, of, value), null, null));
    }

    @Override
    public void note(String sentence) {
        print(new Line(null, null, sentence, null));
    }

    /** Reports that the measurement has no meaning on this machine. */
    void skipped(String reason) {
        print(new Line(null, null, null, reason));
    }

    private void print(Line line) {
        try {
            out.println(MAPPER.writeValueAsString(line));
            out.flush();
        } catch (JsonProcessingException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Reads all whole lines of that kind. Others are for people, and the last one may be cut off. */
    static void read(String text, PartOutput output) {
        for (String line : text.lines().toList()) {
            if (line.startsWith("{") && line.endsWith("}")) {
                try {
                    add(MAPPER.readValue(line, Line.class), output);
                } catch (JsonProcessingException e) {
                    output.notes.add("a line of the output can't be read: " + e.getOriginalMessage());
                }
            }
        }
    }

    private static void add(Line line, PartOutput output) {
        if (line.figure() != null) {
            output.figures.add(line.figure());
        }
        if (line.fact() != null) {
            output.facts.add(line.fact());
        }
        if (line.note() != null) {
            output.notes.add(line.note());
        }
        if (line.skipped() != null) {
            output.skipped = line.skipped();
        }
    }
}

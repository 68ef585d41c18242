package dev.banyan.gpuday;

import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.PrintWriter;
import java.io.UncheckedIOException;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The lines by which a measurement reports: a JSON object each, printed at once, so that the lines before a failure are
 * kept.
 */
public final class RecordLines implements Recorder {
    /** Name of the fact that a measurement took the smallest arrays. */
    public static final String QUICK = "quick";

    private static final ObjectMapper MAPPER =
            new ObjectMapper().setDefaultPropertyInclusion(JsonInclude.Include.NON_NULL);

    private final PrintWriter out;

    public RecordLines(PrintWriter out) {
        this.out = out;
    }

    /** One line: one of the fields is there. */
    public record Line(
            @Nullable Figure figure,
            @Nullable Fact fact,
            @Nullable String note) {}

    /**
     * A property of the machine or of the measurement.
     *
     * @param of what has it, e.g. {@code GPU} to {@code 0}
     */
    public record Fact(String name, Map<String, String> of, String value) {}

    @Override
    public void figure(Figure figure) {
        print(new Line(figure, null, null));
    }

    @Override
    public void fact(String name, Map<String, String> of, String value) {
        print(new Line(null, new Fact(name, of, value), null));
    }

    @Override
    public void note(String sentence) {
        print(new Line(null, null, sentence));
    }

    private void print(Line line) {
        try {
            out.println(MAPPER.writeValueAsString(line));
            out.flush();
        } catch (JsonProcessingException e) {
            throw new UncheckedIOException(e);
        }
    }

    public static Line read(String line) throws JsonProcessingException {
        return MAPPER.readValue(line, Line.class);
    }
}

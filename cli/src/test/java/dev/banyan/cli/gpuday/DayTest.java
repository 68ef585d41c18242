package dev.banyan.cli.gpuday;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Parts are commands of the shell: none of them measures anything. */
class DayTest {
    @TempDir
    Path folder;

    @Test
    void aReaderThatThrowsFailsItsPartAlone() throws IOException {
        Day day = day(
                part("before", "true", OutputReader.RECORDS),
                part("throws", "true", (out, err, output) -> Double.parseDouble("-")),
                part("fails", "echo banyan: no GPU >&2; exit 1", (out, err, output) -> Double.parseDouble("-")),
                part("after", "true", OutputReader.RECORDS));
        List<String> progress = new ArrayList<>();
        day.run(progress::add);
        assertThat(progress).hasSize(4);
        assertThat(day.entries())
                .extracting(DaySummary.Entry::status)
                .containsExactly(
                        PartResult.Status.DONE,
                        PartResult.Status.FAILED,
                        PartResult.Status.FAILED,
                        PartResult.Status.DONE);
        assertThat(json("before").get("status").asText()).isEqualTo("done");
        assertThat(json("throws").get("status").asText()).isEqualTo("failed");
        assertThat(json("throws").get("reason").asText())
                .isEqualTo("its output can't be read: java.lang.NumberFormatException: For input string: \"-\"");
        assertThat(json("fails").get("reason").asText()).isEqualTo("no GPU");
        assertThat(json("after").get("status").asText()).isEqualTo("done");
    }

    @Test
    void aTrainingThatDivergesFails() throws IOException {
        Day day = day(part("trainer", "printf 'step,loss\\n1,2.5\\n2,NaN\\n'", OutputReader.TRAINER));
        day.run(line -> {});
        assertThat(json("trainer").get("status").asText()).isEqualTo("failed");
        assertThat(json("trainer").get("reason").asText())
                .isEqualTo("the training diverged: the loss of step 2 is NaN");
    }

    private Day day(Part... parts) {
        Budget budget = new Budget(Duration.ofMinutes(10), Map.of());
        return new Day(folder, List.of(parts), name -> true, budget, true);
    }

    private static Part part(String name, String script, Plan.Reader reader) {
        return new Part(
                name, "runs a script", 1, (gpus, deadline) -> new Plan.Run(List.of("sh", "-c", script), reader));
    }

    private JsonNode json(String part) throws IOException {
        return new ObjectMapper().readTree(Files.readString(folder.resolve(DayFolder.jsonFile(part))));
    }
}

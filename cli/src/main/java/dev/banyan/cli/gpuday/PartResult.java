package dev.banyan.cli.gpuday;

import com.fasterxml.jackson.annotation.JsonProperty;
import dev.banyan.gpuday.Figure;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What came of one part, as its JSON file has it.
 *
 * @param part its name
 * @param what it measures, in words
 * @param status how it ended
 * @param reason why it failed or was skipped, in one sentence; null if it is done
 * @param seconds how long its process ran
 * @param deadlineSeconds how long it might have run
 * @param command what was run; empty if nothing was
 * @param facts properties of the machine
 * @param figures what was measured; of a part that failed those before the failure
 * @param notes what was left out within the part, and why
 * @param files other files of the folder that belong to it
 */
public record PartResult(
        String part,
        String what,
        Status status,
        @Nullable String reason,
        double seconds,
        double deadlineSeconds,
        List<String> command,
        List<Fact> facts,
        List<Figure> figures,
        List<String> notes,
        List<String> files) {
    /** How a part ended. */
    public enum Status {
        @JsonProperty("done")
        DONE,
        @JsonProperty("failed")
        FAILED,
        @JsonProperty("skipped")
        SKIPPED;

        String label() {
            return switch (this) {
                case DONE -> "done";
                case FAILED -> "failed";
                case SKIPPED -> "skipped";
            };
        }
    }

    static PartResult skipped(Part part, String reason) {
        return new PartResult(
                part.name(),
                part.what(),
                Status.SKIPPED,
                reason,
                0,
                0,
                List.of(),
                List.of(),
                List.of(),
                List.of(),
                List.of());
    }

    boolean isDone() {
        return status == Status.DONE;
    }
}

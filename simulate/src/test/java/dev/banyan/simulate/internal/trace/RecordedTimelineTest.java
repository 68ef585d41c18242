package dev.banyan.simulate.internal.trace;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import org.junit.jupiter.api.Test;

class RecordedTimelineTest {
    @Test
    void recordingsOfSeveralRunsAreRefused() {
        List<Recording> recordings =
                List.of(recording(0, "process 1"), recording(1, "process 2"), recording(0, "process 3"));
        assertThatThrownBy(() -> new RecordedTimeline(recordings))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage(
                        "recordings of several runs: there is 'rank 0, process 1' and 'rank 0, process 3'; give those"
                                + " of one run, and remove what older ones left");
    }

    private static Recording recording(int rank, String process) {
        Recording.Slice slice =
                new Recording.Slice("Training Phase", "compute", Instant.EPOCH, Instant.EPOCH.plusMillis(1), Map.of());
        return new Recording("rank " + rank + ", " + process, OptionalInt.of(rank), List.of(slice));
    }
}

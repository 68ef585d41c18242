package dev.banyan.reduce;

import static org.assertj.core.api.Assertions.assertThat;

import dev.banyan.config.Config;
import dev.banyan.schedule.plan.AlgorithmChoice;
import dev.banyan.schedule.plan.Planner;
import dev.banyan.schedule.plan.SizeRules;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import dev.banyan.topology.Machine;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Comparator;
import java.util.List;
import java.util.stream.IntStream;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingFile;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class CollectiveEventTest {
    @TempDir
    private Path folder;

    @Test
    void aFlightRecordingHasEveryCollective() throws IOException {
        Path file = folder.resolve("flight.jfr");
        Config config = Config.builder()
                .set(Planner.ALGORITHM, SizeRules.always(AlgorithmChoice.RING))
                .build();
        try (Recording recording = new Recording();
                Communicator communicator = Communicator.onHost(Machine.preset("pcie-4"), config)) {
            List<MemorySegment> buffers = IntStream.range(0, 4)
                    .mapToObj(rank -> communicator.allocate(rank, 4096))
                    .toList();
            recording.enable("dev.banyan.Collective");
            recording.start();
            communicator.allReduce(buffers, 1024, DataType.F32, ReduceOp.SUM);
            communicator
                    .runAsync(CollectiveCall.broadcast(buffers, 1000, DataType.F16)
                            .root(2))
                    .join();
            communicator.run(CollectiveCall.reduce(buffers, 0, DataType.F64, ReduceOp.MAX)
                    .into(List.of(buffers.getFirst().asSlice(0, 0))));
            recording.stop();
            recording.dump(file);
        }
        // A file has the events of a thread together.
        List<RecordedEvent> events = RecordingFile.readAllEvents(file).stream()
                .sorted(Comparator.comparing(RecordedEvent::getStartTime))
                .toList();
        assertThat(events).hasSize(3).allSatisfy(event -> {
            assertThat(event.getEventType().getName()).isEqualTo("dev.banyan.Collective");
            assertThat(event.getInt("ranks")).isEqualTo(4);
            assertThat(event.getString("algorithm")).startsWith("ring");
            assertThat(event.getBoolean("succeeded")).isTrue();
            assertThat(event.getDuration()).isGreaterThan(Duration.ZERO);
        });
        assertThat(events)
                .extracting(event -> event.getString("collective"))
                .containsExactly("all_reduce", "broadcast", "reduce");
        assertThat(events).extracting(event -> event.getLong("bytes")).containsExactly(4096L, 2000L, 0L);
        assertThat(events).extracting(event -> event.getString("type")).containsExactly("F32", "F16", "F64");
        assertThat(events).extracting(event -> event.getBoolean("inPlace")).containsExactly(true, true, false);
        assertThat(events.getFirst().getString("operation")).isEqualTo("SUM");
    }
}

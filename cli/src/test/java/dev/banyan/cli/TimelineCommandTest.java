package dev.banyan.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.stream.StreamSupport;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.Recording;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Isolated;

@Isolated("It records the steps of all backends of the JVM.")
class TimelineCommandTest {
    private static final long SEED = 20_261_125;
    private static final int DAMAGED = 60;

    @TempDir
    private Path folder;

    @Name("dev.banyan.test.Phase")
    @Label("Test Phase")
    static final class Phase extends Event {
        String phase = "";
        long bytes;
    }

    @Test
    void partsStandBelowTheWholeAndOthersInAnotherRow() throws IOException {
        Path file = folder.resolve("steps.jfr");
        try (Recording recording = new Recording()) {
            recording.enable(Phase.class);
            recording.enable("jdk.JVMInformation");
            recording.start();
            Phase whole = begun("whole");
            Phase part = begun("part");
            part.bytes = 12;
            end(part);
            Phase across = begun("across");
            end(whole);
            end(across);
            recording.stop();
            recording.dump(file);
        }
        Path json = folder.resolve("steps.json");
        CommandRun run = CommandRun.of("trace timeline " + file + " --output " + json);
        assertThat(run.status()).as(run.err()).isZero();
        assertThat(run.out()).startsWith("# 3 events of 1 process: " + json).contains("# event", "(ms per process)");
        assertThat(run.out().lines().skip(4))
                .satisfiesExactly(
                        line -> assertThat(line).startsWith("  Test Phase: across  "),
                        line -> assertThat(line).startsWith("  Test Phase: part "),
                        line -> assertThat(line).matches("  Test Phase: whole +1[.]0( +[0-9]+[.][0-9]+){3}"));
        JsonNode events = new ObjectMapper().readTree(json.toFile()).get("traceEvents");
        JsonNode wholeSlice = slice(events, "whole");
        JsonNode partSlice = slice(events, "part");
        assertThat(wholeSlice.get("ts").doubleValue()).isZero();
        assertThat(partSlice.get("tid")).isEqualTo(wholeSlice.get("tid"));
        assertThat(partSlice.at("/args/bytes").intValue()).isEqualTo(12);
        assertThat(partSlice.get("ts").doubleValue() + partSlice.get("dur").doubleValue())
                .isLessThanOrEqualTo(wholeSlice.get("dur").doubleValue());
        assertThat(slice(events, "across").get("tid").intValue())
                .isEqualTo(wholeSlice.get("tid").intValue() + 1);
        List<String> rows = StreamSupport.stream(events.spliterator(), false)
                .filter(event -> event.get("ph").textValue().equals("M"))
                .map(event -> event.at("/args/name").textValue())
                .toList();
        assertThat(rows).containsExactly("process " + ProcessHandle.current().pid(), "Test Phase", "Test Phase (2)");
    }

    @Test
    void whatIsNoRecordingIsRefused() throws IOException {
        Path file = Files.writeString(folder.resolve("no.jfr"), "nothing of that kind");
        CommandRun run = CommandRun.of("trace timeline " + file + " -o " + folder.resolve("x.json"));
        assertThat(run.status()).isEqualTo(1);
        assertThat(run.err())
                .startsWith("banyan: can't read " + file + " as a recording of JDK Flight Recorder")
                .hasLineCount(1);
        assertThat(CommandRun.of("trace timeline missing.jfr -o x.json").status())
                .isEqualTo(2);
    }

    @Test
    void aRecordingWithoutBanyanIsRefused() throws IOException {
        Path file = folder.resolve("other.jfr");
        try (Recording recording = new Recording()) {
            recording.enable("jdk.JVMInformation");
            recording.start();
            recording.stop();
            recording.dump(file);
        }
        CommandRun run = CommandRun.of("trace timeline " + file + " -o " + folder.resolve("x.json"));
        assertThat(run.status()).isEqualTo(1);
        assertThat(run.err()).contains("has no event of Banyan").hasLineCount(1);
    }

    @Test
    void aDamagedRecordingIsReadOrRefused() throws IOException {
        Path whole = folder.resolve("whole.jfr");
        try (Recording recording = new Recording()) {
            recording.enable(Phase.class);
            recording.start();
            end(begun("whole"));
            recording.stop();
            recording.dump(whole);
        }
        byte[] bytes = Files.readAllBytes(whole);
        Path damaged = folder.resolve("damaged.jfr");
        Random random = new Random(SEED);
        for (int round = 0; round < DAMAGED; round++) {
            byte[] mutated = Arrays.copyOf(bytes, round % 4 == 0 ? random.nextInt(bytes.length) : bytes.length);
            for (int i = 0; i < 1 + round % 3 && mutated.length > 0; i++) {
                mutated[random.nextInt(mutated.length)] = (byte) random.nextInt(256);
            }
            Files.write(damaged, mutated);
            CommandRun run = CommandRun.of("trace timeline " + damaged + " -o " + folder.resolve("x.json"));
            assertThat(run.err()).as("round %d of seed %d", round, SEED).doesNotContain("internal error", "\tat ");
        }
    }

    private static Phase begun(String name) {
        Phase phase = new Phase();
        phase.phase = name;
        phase.begin();
        return phase;
    }

    private static void end(Phase phase) {
        phase.end();
        phase.commit();
    }

    private static JsonNode slice(JsonNode events, String name) {
        return StreamSupport.stream(events.spliterator(), false)
                .filter(event -> event.get("name").textValue().equals(name))
                .findFirst()
                .orElseThrow();
    }
}

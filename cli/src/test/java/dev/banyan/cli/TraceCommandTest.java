package dev.banyan.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.banyan.dlc.DlcTrace;
import dev.banyan.dlc.internal.format.DlcMessage;
import dev.banyan.dlc.internal.read.DlcReader;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class TraceCommandTest {
    private static final String TRACE = """
        == num_workers:= 2
        num_servers:= 1
        worker_hostname:= box
        Worker_ID:= 0,1, Server_ID:= 2,
        id src dst length num_pp operation op_id dep_type d_time time_sec time_usec id_dep
        0 0 2 25 0 OP:= SendCom_TO_Servers
        1 0 2 2000 3 OP:= Push_Send_Worker 0-4-s0 4 500 9 600 (3-s0.)
        2 2 0 19 3 OP:= Push_Recv_Worker 0-5-s0 1 100 9 700 0-4-s0
        3 0 2 28 4 OP:= Pull_Send_Worker 0-6-s0 2 100 9 800 0-5-s0
        4 2 0 2000 4 OP:= Pull_Recv_Worker 0-7-s0 3 200 9 1000 0-6-s0
        """;

    @TempDir
    private Path folder;

    private Path file = Path.of("");

    @BeforeEach
    void writeTrace() throws IOException {
        file = Files.writeString(folder.resolve("worker-0.txt"), TRACE);
    }

    @Test
    void statisticsForPeople() {
        CommandRun run = CommandRun.of("trace stats " + file);
        assertThat(run.status()).isZero();
        assertThat(run.out())
                .startsWith("# 5 records, 1 of them setup; 1 worker, 1 server, 1 key, 1 iteration")
                .contains("# per iteration: 2 kB pushed, 2 kB pulled, 4.047 kB in all messages")
                .contains("computation 0.500 ms, both 0.000 ms, communication 0.400 ms")
                .contains("# overlap ratio 0.0%")
                .contains("computation  all      1  500.0");
    }

    @Test
    void statisticsForPrograms() throws IOException {
        JsonNode json = CommandRun.of("trace stats --format json " + file).json();
        assertThat(json.get("records").intValue()).isEqualTo(5);
        assertThat(json.get("keys").intValue()).isEqualTo(1);
        assertThat(json.get("iterations").intValue()).isEqualTo(1);
        assertThat(json.get("pushedBytesPerIteration").doubleValue()).isEqualTo(2000);
        assertThat(json.get("overlapRatio").doubleValue()).isZero();
        assertThat(json.at("/overheads/pull/overall/mean").doubleValue()).isEqualTo(200);
        assertThat(json.at("/overheads/pull/keys/0/count").intValue()).isEqualTo(1);
        assertThat(json.at("/messages/push/max").intValue()).isEqualTo(2000);
        assertThat(json.has("search")).isFalse();
    }

    @Test
    void aReplayComparesKeys() throws IOException {
        JsonNode json = CommandRun.of("trace replay --machine p3.16xlarge --format json " + file)
                .json();
        assertThat(json.get("messages").intValue()).isEqualTo(4);
        assertThat(json.get("tracedUs").doubleValue()).isEqualTo(900);
        assertThat(json.get("predictedUs").doubleValue()).isBetween(600.0, 900.0);
        assertThat(json.at("/rows/0/tracedUs").doubleValue()).isEqualTo(400);
        CommandRun run = CommandRun.of("trace replay --machine pcie-4 --profile pcie " + file);
        assertThat(run.status()).isZero();
        assertThat(run.out())
                .contains("# 4 messages of 1 iteration on pcie-4, profile pcie, servers on devices of their own")
                .contains("all iterations");
    }

    @Test
    void errorsNameThePlace() throws IOException {
        assertThat(CommandRun.of("trace").err())
                .startsWith("banyan: which of them? replay or run or stats or timeline");
        assertThat(CommandRun.of("trace").status()).isEqualTo(2);
        assertThat(CommandRun.of("trace stats no-such-file").err()).contains("no file is called 'no-such-file'");
        assertThat(CommandRun.of("trace stats " + file + " " + file).err()).contains("are both of worker 0");
        Path broken = Files.writeString(folder.resolve("broken.txt"), TRACE.replace("0-5-s0 1 100", "0-5-s0 9 100"));
        CommandRun run = CommandRun.of("trace stats " + broken);
        assertThat(run.status()).isEqualTo(1);
        assertThat(run.err()).startsWith("banyan: " + broken + ":8:").contains("dep_type is '9'");
        assertThat(CommandRun.of("trace replay --profile no " + file).err())
                .contains("no profile and no file is called 'no'");
    }

    @Test
    void aRunHasTheStructureOfThePublishedTrace() throws IOException {
        Path traces = folder.resolve("traces");
        Path timeline = folder.resolve("steps.json");
        JsonNode told = CommandRun.of("trace run --workload lenet-5 --machine pcie-4 --devices 0,1 --iterations 3"
                        + " --compute-ms 1 --format json --output " + traces + " --timeline " + timeline)
                .json();
        assertThat(told.get("keys").intValue()).isEqualTo(8);
        assertThat(told.get("rows")).hasSize(3);
        assertThat(told.get("files")).hasSize(4);
        DlcTrace worker;
        try (InputStream in = Files.newInputStream(traces.resolve("worker-1.txt"))) {
            worker = DlcReader.read("worker-1", in);
        }
        assertThat(worker.messages()
                        .filter(message -> !message.initialises())
                        .collect(Collectors.groupingBy(DlcMessage::iteration, Collectors.counting())))
                .hasSize(3)
                .allSatisfy((iteration, records) -> assertThat(records).isEqualTo(32));
        StringBuilder all = new StringBuilder();
        told.get("files").forEach(name -> all.append(' ').append(name.asText()));
        Path picture = folder.resolve("distributions.svg");
        JsonNode json = CommandRun.of("trace stats --format json --plot " + picture + all)
                .json();
        assertThat(json.get("records").intValue()).isEqualTo(told.get("records").intValue());
        assertThat(json.get("keys").intValue()).isEqualTo(8);
        assertThat(json.get("iterations").intValue()).isEqualTo(3);
        assertThat(json.get("workers").intValue()).isEqualTo(2);
        assertThat(json.get("pushedBytesPerIteration").doubleValue()).isEqualTo(2 * 4 * 431_080);
        assertThat(json.at("/overheads/update/overall/count").intValue()).isEqualTo(3 * 8);
        assertThat(Files.readString(picture)).contains("Lengths of messages", "push, acknowledgement", "Overheads");
        JsonNode events = new ObjectMapper().readTree(timeline.toFile()).get("traceEvents");
        assertThat(events.findValuesAsText("ph")).contains("M", "X");
        List<String> rows = new ArrayList<>();
        events.forEach(event -> {
            if (event.get("name").asText().equals("thread_name")) {
                rows.add(event.at("/args/name").asText());
            }
        });
        assertThat(rows).contains("GPU0", "GPU1").anyMatch(row -> row.contains(" -> "));
        CommandRun again = CommandRun.of("trace run --output " + traces);
        assertThat(again.status()).isEqualTo(2);
        assertThat(again.err()).contains("not an empty folder");
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
        --workload lenet-5                     | Missing required option: '--output=FOLDER'
        --output X --iterations 0                 | it must be at least 1
        --output X --compute-ms -1                | it must be at least 0
        --output X --workload lenet-55            | did you mean lenet-5 or
        --output X --timeline no-such/steps.json  | there is no folder
        --output X --kvstore two                  | no type of store is called 'two'
        """)
    void runsThatMakeNoSenseAreRefused(String options, String why) {
        CommandRun run = CommandRun.of(
                "trace run " + options.replace("X", folder.resolve("new").toString()));
        assertThat(run.status()).isEqualTo(2);
        assertThat(run.err()).contains(why);
        assertThat(folder.resolve("new")).doesNotExist();
    }

    @Test
    void thePublishedTraceIsToldAsPublished() throws IOException {
        Path published = Path.of(System.getProperty("banyan.shared", ""), "figures", "dlc_lenet5_fragment.txt");
        assumeTrue(Files.exists(published), () -> "no published trace at " + published);
        JsonNode json = CommandRun.of("trace stats --format json " + published).json();
        assertThat(json.get("records").intValue()).isEqualTo(68);
        assertThat(json.get("keys").intValue()).isEqualTo(8);
        assertThat(json.get("iterations").intValue()).isEqualTo(1);
        assertThat(json.get("pushedBytesPerIteration").doubleValue()).isEqualTo(1_724_584);
        assertThat(CommandRun.of("trace stats " + published).out()).contains("1.72 MB pushed");
    }
}

package dev.banyan.cli.bench;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;
import static org.assertj.core.data.Percentage.withPercentage;

import com.fasterxml.jackson.databind.JsonNode;
import dev.banyan.cli.CommandRun;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class BenchTest {
    @Test
    void rowsHaveTheFieldsOfNcclTests() throws Exception {
        JsonNode rows = CommandRun.of(
                        "bench --machine p3.16xlarge -b 100 -e 10K -f 10 -n 3 -w 0 --algorithm all --format json")
                .rows();
        assertThat(rows).hasSize(6 * 3);
        for (JsonNode row : rows) {
            List<String> names = new ArrayList<>();
            row.fieldNames().forEachRemaining(names::add);
            assertThat(names)
                    .startsWith(
                            "algorithm",
                            "collective",
                            "bytes",
                            "count",
                            "type",
                            "op",
                            "timeUs",
                            "algbwGBs",
                            "busbwGBs",
                            "wrong");
            assertThat(row.get("bytes").asLong()).isEqualTo(4 * row.get("count").asLong());
            assertThat(row.get("wrong").asLong()).isZero();
            assertThat(row.get("inPlace").get("wrong").asLong()).isZero();
            double algbw = row.get("bytes").asDouble() / row.get("timeUs").asDouble() / 1e3;
            assertThat(row.get("algbwGBs").asDouble()).isCloseTo(algbw, withPercentage(0.1));
            assertThat(row.get("busbwGBs").asDouble()).isCloseTo(algbw * 1.75, withPercentage(0.1));
        }
        assertThat(rows.findValuesAsText("algorithm"))
                .containsOnly("single-tree", "multi-tree", "packing", "ring", "star", "one-shot");
        assertThat(rows.get(0).get("op").asText()).isEqualTo("sum");
        assertThat(rows.get(0).get("type").asText()).isEqualTo("float");
    }

    @ParameterizedTest
    @CsvSource({
        "all_reduce, half, sum, 1000",
        "all_reduce, bf16, avg, 1000",
        "all_reduce, int8, avg, 999",
        "all_reduce, int64, avg, 4096",
        "all_reduce, uint8, max, 17",
        "reduce, int32, prod, 5000",
        "reduce, double, min, 8",
        "broadcast, int64, sum, 3000",
        "reduce_scatter, float, sum, 7000",
        "reduce_scatter, half, max, 7000",
        "all_gather, bfloat16, sum, 100",
        "allgather, i32, sum, 64000"
    })
    void everyCollectiveIsCheckedAndRight(String collective, String type, String op, String bytes) {
        CommandRun run = CommandRun.of(("bench --machine p3.16xlarge --devices 0-4 -n 1 -w 0 --algorithm auto,all"
                        + " --collective %s -d %s -o %s -b %s -e %s")
                .formatted(collective, type, op, bytes, bytes));
        assertThat(run.status()).as(run.out() + run.err()).isZero();
        assertThat(run.out()).contains("# Out of bounds values : 0 OK", "what to expect");
        assertThat(run.out().lines().filter(line -> !line.startsWith("#"))).hasSize(7);
    }

    @Test
    @EnabledOnOs(OS.LINUX)
    void processesJoinAndAreChecked() throws Exception {
        checkJoined(2, "all_reduce");
    }

    @ParameterizedTest
    @Tag("soak")
    @EnabledOnOs(OS.LINUX)
    @ValueSource(strings = {"reduce_scatter", "broadcast -r 2"})
    void processesJoinForOtherCollectives(String collective) throws Exception {
        checkJoined(3, collective);
    }

    private static void checkJoined(int processes, String collective) throws Exception {
        JsonNode rows = CommandRun.of("bench --processes " + processes + " --collective " + collective
                        + " -b 96 -e 300K -f 1000 -n 3 -w 1 --algorithm auto,ring --format json")
                .rows();
        assertThat(rows).hasSize(4);
        for (JsonNode row : rows) {
            assertThat(row.get("ranks").asInt()).isEqualTo(processes);
            assertThat(row.get("wrong").asInt()).isZero();
            assertThat(row.get("inPlace").get("wrong").asInt()).isZero();
            assertThat(row.get("runs").asInt()).isEqualTo(3);
        }
    }

    @Test
    void allTypesAndOperationsAreSweptInTurn() throws Exception {
        String command = "predict -m dgx-1v -g 3 -b 24 -e 24 -a star -d all -o ";
        assertThat(kinds(command + "all")).hasSize(8 * 5).contains("int8 sum", "half avg", "double prod");
        assertThat(CommandRun.of(command + "max").out())
                .contains(", 3 devices")
                .contains("# half, max\n", "# double, max\n");
        assertThat(kinds(command + "all --collective broadcast"))
                .as("a broadcast has no operation")
                .hasSize(8);
        assertThat(kinds("bench -m dgx-1v -g 2 -b 24 -e 24 -n 1 -w 0 -o all"))
                .containsExactly("float sum", "float prod", "float min", "float max", "float avg");
    }

    private static List<String> kinds(String command) throws Exception {
        List<String> kinds = new ArrayList<>();
        CommandRun.of(command + " --format json")
                .rows()
                .forEach(row ->
                        kinds.add(row.get("type").asText() + " " + row.get("op").asText()));
        return kinds;
    }

    @Test
    void processesWithoutSenseAreRefused() {
        assertThat(CommandRun.of("bench --processes 1").err()).contains("--processes is 1; give at least 2");
        assertThat(CommandRun.of("bench --processes 9").err()).contains("needs at least 9 devices");
        assertThat(CommandRun.of("bench --processes 2 --workload lenet-5").err())
                .contains("leave --workload out");
        assertThat(CommandRun.of("bench --processes 2 --backend cuda --algorithm nccl")
                        .err())
                .contains("--algorithm nccl runs in one process");
        assertThat(CommandRun.of("bench --processes 2 --devices 5").err())
                .contains("--devices names 1 device for 2 processes; name one for each");
    }

    @Test
    void rootsAndKindsAreShown() {
        CommandRun run = CommandRun.of(
                "bench --machine dgx-2 --devices 3,1,2 --collective broadcast -r 2 -b 64 -e 64 -n 1 -w 0");
        String row = run.out()
                .lines()
                .filter(line -> !line.startsWith("#"))
                .findFirst()
                .orElseThrow();
        assertThat(row.strip().split("\\s+", -1)).startsWith("64", "16", "float", "none", "2");
    }

    @Test
    void withoutChecksNothingIsCalledRight() throws Exception {
        JsonNode row = CommandRun.of("bench --machine pcie-4 -b 64 -e 64 -n 1 -w 0 -c 0 --format json")
                .rows()
                .get(0);
        assertThat(row.get("wrong").isNull()).isTrue();
        assertThat(row.get("algorithm").asText()).isEqualTo("auto");
    }

    @Test
    void workloadsArePushedInThreeDepths(@TempDir Path folder) throws Exception {
        String keys =
                IntStream.range(0, 60).mapToObj(key -> "k" + key + ",100\n").collect(Collectors.joining());
        JsonNode rows = CommandRun.of(
                        "bench --machine dgx-1v --devices 0,1 --algorithm star -n 1 --format json --workload "
                                + Files.writeString(folder.resolve("keys.csv"), keys))
                .rows();
        assertThat(rows.findValuesAsText("inFlight")).containsExactly("1", "50", "60");
        for (JsonNode row : rows) {
            List<String> names = new ArrayList<>();
            row.fieldNames().forEachRemaining(names::add);
            assertThat(names).startsWith("workload", "keys", "bytes", "inFlight", "algorithm", "timeMs");
            assertThat(row.get("keys").asInt()).isEqualTo(60);
            assertThat(row.get("bytes").asLong()).isEqualTo(4L * 60 * 100);
            assertThat(row.get("wrong").asLong()).isZero();
        }
    }

    @Test
    void aBackwardPassIsComparedWithServerAndRing() throws Exception {
        String command = "bench --machine dgx-1v --devices 0,1 --workload lenet-5 --compute-ms 4 --kvstore tree -n 1";
        JsonNode rows = CommandRun.of(command + " --format json").rows();
        assertThat(rows.findValuesAsText("kvstore")).containsExactly("tree", "device", "ring");
        for (JsonNode row : rows) {
            assertThat(row.get("keys").asInt()).isEqualTo(8);
            assertThat(row.get("bytes").asLong()).isEqualTo(4L * 431_080);
            assertThat(row.get("wrong").asLong()).isZero();
            assertThat(row.get("computeMs").asDouble()).isEqualTo(4);
            assertThat(row.get("stepMs").asDouble()).isGreaterThanOrEqualTo(4);
            assertThat(row.get("communicationMs").asDouble()).isPositive();
            assertThat(row.get("exposedMs").asDouble())
                    .isCloseTo(row.get("stepMs").asDouble() - 4, within(1e-9));
            assertThat(row.get("overlapRatio").asDouble()).isBetween(0.0, 1.0);
        }
        CommandRun run = CommandRun.of(command.replace("tree", "ring"));
        assertThat(run.status()).as(run.err()).isZero();
        assertThat(run.out())
                .contains("lenet-5: 8 keys, 1724320 bytes on each of 2 devices, released over 4.0 ms")
                .containsPattern(
                        "# exposed communication of ring is .* ms (less|more) than that of device \\(medians of [0-9]+"
                                + " rounds\\)")
                .doesNotContain("to that of ring");
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
        --kvstore ring                                            | add --compute-ms
        --compute-ms 5                                            | add --workload
        --workload lenet-5 --compute-ms 0                         | it must be above 0
        --workload lenet-5 --compute-ms -1                        | it must be above 0
        --workload lenet-5 --compute-ms NaN                       | it must be above 0
        --workload lenet-5 --compute-ms 1e9                       | at most 60000
        --workload lenet-5 --compute-ms soon                      | 'soon'
        --workload lenet-5 --compute-ms 5 --kvstore rign          | did you mean ring?
        --workload lenet-5 --compute-ms 5 --backend cuda          | leave --backend cuda out
        --workload lenet-5 --compute-ms 5 --algorithm ring        | leave --algorithm, --trees and --rings out
        --workload lenet-5 --compute-ms 5 --local-devices 2       | add --kvstore funnel
        --workload lenet-5 --compute-ms 5 --kvstore depcha --local-devices 0 | it must be at least 1
        """)
    void backwardPassesThatMakeNoSenseAreRefused(String options, String why) {
        CommandRun run = CommandRun.of("bench " + options);
        assertThat(run.status()).isEqualTo(2);
        assertThat(run.out()).isEmpty();
        assertThat(run.err()).contains(why);
    }

    @Test
    void moreThanTheMemoryHoldsIsRefused() {
        CommandRun run = CommandRun.of("bench --machine p3.16xlarge -b 100T -e 100T");
        assertThat(run.status()).isEqualTo(1);
        assertThat(run.out().lines()).allMatch(line -> line.startsWith("#"));
        assertThat(run.err()).contains("the buffers need").contains("--devices").hasLineCount(1);
    }
}

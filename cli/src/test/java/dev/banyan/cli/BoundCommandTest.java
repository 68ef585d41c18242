package dev.banyan.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.Locale;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** {@code banyan bound}: it must be what the packings are measured by. */
@Timeout(60)
class BoundCommandTest {
    private static JsonNode json(String arguments) throws Exception {
        CommandRun run = CommandRun.of(arguments + " --format json");
        assertThat(run.status()).as(run.err()).isZero();
        return new ObjectMapper().readTree(run.out());
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
        --machine p3.16xlarge                                         | 600/7 | 150 | 1200/7
        --machine dgx-2                                               | 80    | 150 | 160
        --machine pcie-8                                              | 48/7  | 10  | 96/7
        --machine p3.16xlarge --devices 0,1,2,4 --relays others       | 100   | 150 | 200
        """)
    void isExactAndExplained(String arguments, String allReduce, String rooted, String gathered) throws Exception {
        JsonNode rows = json("bound " + arguments).get("rows");
        for (JsonNode row : rows) {
            String collective = row.get("collective").asText();
            assertThat(row.get("bound").asText())
                    .as(collective)
                    .isEqualTo(
                            switch (collective) {
                                case "all_reduce" -> allReduce;
                                case "reduce", "broadcast" -> rooted;
                                default -> gathered;
                            });
            assertThat(row.get("certificate").get("sentence").asText()).contains("GB/s");
            JsonNode packed = json("trees -a packing " + arguments + " --collective " + collective);
            assertThat(packed.get("bound").asText())
                    .as(collective)
                    .isEqualTo(row.get("bound").asText());
        }
        assertThat(rows).hasSize(5);
    }

    @Test
    void busbwIsThatOfNcclTests() throws Exception {
        JsonNode row = json("bound --machine dgx-h100").get("rows").get(0);
        assertThat(row.get("busbwGBs").asDouble()).isCloseTo(450, within(1e-9));
    }

    @Test
    void tableNamesEveryCollectiveAndItsReason() {
        CommandRun run = CommandRun.of("bound --machine p3.16xlarge --root 3");
        assertThat(run.status()).as(run.err()).isZero();
        assertThat(run.out())
                .contains("# p3.16xlarge: what no schedule between its 8 devices can exceed")
                .contains("# broadcast: all data must leave {3} over links of 150 GB/s in all");
        assertThat(run.out().toLowerCase(Locale.ROOT)).contains("busbw");
    }

    @Test
    void switchesThatReduceCouldExceedTheBoundOfLinks() throws Exception {
        JsonNode h100 = json("bound --machine dgx-h100");
        assertThat(h100.get("multicast").asText())
                .contains("no more than 450 GB/s, 1.75 times the bound of links", "which Banyan does not use");
        assertThat(CommandRun.of("bound --machine dgx-h100 --format markdown").out())
                .contains("- all_reduce by reductions in the NVSwitches");
        assertThat(json("bound --machine dgx-h100 --devices 0,1,2,3")
                        .get("multicast")
                        .asText())
                .contains("450 GB/s, 1.50 times");
        assertThat(json("bound --machine dgx-a100").has("multicast")).isFalse();
        assertThat(json("bound --machine p3.16xlarge").has("multicast")).isFalse();
    }

    @Test
    void rootMustBeARank() {
        CommandRun run = CommandRun.of("bound --machine p3.8xlarge --root 4");
        assertThat(run.status()).isEqualTo(2);
        assertThat(run.err()).contains("--root is 4; the ranks are 0..3");
    }
}

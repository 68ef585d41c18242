package dev.banyan.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import com.fasterxml.jackson.databind.JsonNode;
import dev.banyan.msccl.MscclReader;
import dev.banyan.schedule.Schedule;
import dev.banyan.schedule.type.Collective;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Schedules go out as MSCCL files and come back. */
class MscclCommandTest {
    @TempDir
    private Path folder = Path.of("replaced by JUnit");

    @Test
    void packingComesBackAtTheBound() throws Exception {
        Path file = export("-m p3.16xlarge -a packing", "");
        CommandRun run = CommandRun.of("compare -m p3.16xlarge --schedule " + file);
        assertThat(run.status()).as(run.err()).isZero();
        assertThat(run.out().lines())
                .anyMatch(line -> line.matches("  p3.16xlarge-packing +85\\.714 +1\\.000 +\\d+ +- +-"))
                .contains("# p3.16xlarge-packing: all_reduce, from " + file);
        JsonNode row = onlyImported(json("-m p3.16xlarge --schedule " + file));
        assertThat(row.get("ratio").asDouble()).isEqualTo(1);
        assertThat(row.has("trees")).isFalse();
        assertThat(row.has("generationMs")).isFalse();
        JsonNode origin = row.get("schedule");
        assertThat(origin.get("file").asText()).isEqualTo(file.toString());
        assertThat(origin.get("bound").asText()).isEqualTo("600/7");
        assertThat(origin.get("allLinks").asBoolean()).isFalse();
        assertThat(origin.has("root")).isFalse();
    }

    /** The rate that {@code trees} states is that of the file, against the bound of its own collective. */
    @ParameterizedTest
    @EnumSource
    void packingsOfAllCollectivesComeBack(Collective collective) throws Exception {
        String options = "-m p3.8xlarge -a packing --collective " + collective.label()
                + (collective.hasRoot() ? " --root 2" : "");
        JsonNode row = onlyImported(json("-m p3.8xlarge --schedule " + export(options, "")));
        JsonNode trees = CommandRun.of("trees --format json " + options).json();
        assertThat(row.get("rateGBs").asDouble()).isCloseTo(trees.get("rateGBs").asDouble(), within(1e-9));
        assertThat(row.get("schedule").get("bound")).isEqualTo(trees.get("bound"));
        assertThat(row.get("schedule").get("collective").asText()).isEqualTo(collective.label());
        if (collective.hasRoot()) {
            assertThat(row.get("schedule").get("root").asInt()).isEqualTo(2);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"kernighan-lin", "exact", "exhaustive"})
    void treesByWeightComeBackWithTheirRate(String algorithm) throws Exception {
        String options = "-m p3.8xlarge --algorithm " + algorithm;
        JsonNode row = onlyImported(json("-m p3.8xlarge --schedule " + export(options, "")));
        JsonNode trees = CommandRun.of("trees --format json " + options).json();
        assertThat(row.get("name").asText()).isEqualTo("p3.8xlarge-" + algorithm);
        assertThat(row.get("ratio").asDouble()).isCloseTo(trees.get("ratio").asDouble(), within(1e-9));
    }

    @ParameterizedTest
    @EnumSource
    void treesByWeightCarryAllCollectives(Collective collective) throws Exception {
        Schedule schedule = read(export("-m dgx-1p -a exact --collective " + collective.label(), ""));
        assertThat(schedule.collective()).isEqualTo(collective);
        assertThat(schedule.root()).isEqualTo(collective.hasRoot() ? 0 : -1);
        assertThat(schedule.count()).isEqualTo(8);
    }

    @Test
    void rootOfTreesByWeightIsThatOfTheCollective() throws Exception {
        Schedule schedule = read(export("-m dgx-1p --collective broadcast --root 5", ""));
        assertThat(schedule.root()).isEqualTo(5);
        assertThat(schedule.count()).isEqualTo(1);
        assertThat(schedule.algorithm()).isEqualTo("dgx-1p-kernighan-lin-broadcast-5");
    }

    /** The stated loss by rounding is the one that a comparison finds. */
    @ParameterizedTest
    @CsvSource({"10, 83.333, 10 equal chunks", "1, 25, 1 chunk"})
    void sharesAreRoundedToChunksWithAWarning(int chunks, double rate, String cut) throws Exception {
        String rounded = rate == 25 ? "25" : "83.333";
        Path file = export(
                "-m p3.16xlarge -a packing --chunks " + chunks,
                "warning: shares are rounded to " + cut + ": " + rounded + " GB/s instead of 85.714 GB/s");
        assertThat(read(file).count()).isEqualTo(chunks);
        JsonNode row = onlyImported(json("-m p3.16xlarge --schedule " + file));
        assertThat(row.get("rateGBs").asDouble()).isCloseTo(rate, within(1e-3));
    }

    @Test
    void chunksThatTheSharesNeedAnywayCostNothing() throws Exception {
        assertThat(read(export("-m p3.16xlarge -a kernighan-lin --chunks 16", ""))
                        .stepCount())
                .isPositive();
    }

    @Test
    void machineThatWasAssumedIsToldAside() {
        CommandRun run = CommandRun.of("trees -a packing --devices 0-3 --format msccl");
        assertThat(run.status()).as(run.err()).isZero();
        assertThat(run.out()).startsWith("<algo ").endsWith("</algo>\n");
        assertThat(run.err())
                .startsWith("note: ")
                .contains("taking the preset p3.16xlarge")
                .hasLineCount(1);
        assertThat(CommandRun.of("trees --format svg").err())
                .startsWith("note: ")
                .hasLineCount(1);
    }

    @Test
    void sharesThatNeedTooManyChunksAreRefusedWithTheRemedy() {
        CommandRun run = CommandRun.of("trees -m p2.16xlarge -a packing --max-trees 15 --format msccl");
        assertThat(run.status()).isEqualTo(1);
        assertThat(run.out()).isEmpty();
        assertThat(run.err())
                .startsWith("banyan: the shares of ")
                .contains("choose a number of chunks")
                .hasLineCount(1);
    }

    @Test
    void everyScheduleHasARowAndANameOfItsOwn() throws Exception {
        Path first = export("-m p3.8xlarge -a packing", "");
        Path second = Files.copy(first, folder.resolve("second.xml"));
        CommandRun run =
                CommandRun.of("compare -m p3.8xlarge --format markdown --schedule " + first + " --schedule " + second);
        assertThat(run.status()).as(run.err()).isZero();
        assertThat(run.out().lines())
                .anyMatch(line -> line.matches("\\| p3.8xlarge-packing \\| .* \\| - \\| - \\|"))
                .anyMatch(line -> line.startsWith("| p3.8xlarge-packing (2) |"))
                .contains("- p3.8xlarge-packing (2): all_reduce, from " + second);
    }

    @Test
    void otherCollectivesHaveTheirOwnBound() throws Exception {
        Path file = export("-m p3.16xlarge -a packing --collective broadcast --root 3", "");
        CommandRun run = CommandRun.of("compare -m p3.16xlarge --schedule " + file);
        assertThat(run.out().lines())
                .anyMatch(line -> line.matches("  p3.16xlarge-packing-broadcast-3 +150\\.000 +1\\.000 .*"))
                .contains("# p3.16xlarge-packing-broadcast-3: broadcast from rank 3, from " + file
                        + "; its bound: all data must leave {3} over links of 150 GB/s in all");
    }

    /** Made for a switch: each of the 8 devices talks to all, which the NVLinks of p3.16xlarge do not allow. */
    @Test
    void scheduleForAnotherMachineGoesOverAllLinks() throws Exception {
        Path file = export("-m dgx-2 --devices 0-7 -a packing", "");
        JsonNode row = onlyImported(json("-m p3.16xlarge --schedule " + file));
        assertThat(row.get("schedule").get("allLinks").asBoolean()).isTrue();
        assertThat(row.get("ratio").asDouble()).isBetween(0.01, 0.9);
        assertThat(CommandRun.of("compare -m p3.16xlarge --schedule " + file).out())
                .contains("; goes between devices that the links of the bound do not join, so rated on all links");
    }

    @Test
    void ranksMustBeTheDevices() throws Exception {
        Path file = export("-m p3.8xlarge -a packing", "");
        CommandRun run = CommandRun.of("compare -m p3.16xlarge --schedule " + file);
        assertThat(run.status()).isEqualTo(2);
        assertThat(run.out()).isEmpty();
        assertThat(run.err())
                .startsWith("banyan: --schedule " + file
                        + " is for 4 ranks, and 8 devices are compared; name 4 by --devices");
        assertThat(CommandRun.of("compare -m p3.16xlarge --devices 0-3 --schedule " + file)
                        .status())
                .isZero();
        assertThat(CommandRun.of("compare -m p3.16xlarge --devices 0,1 --schedule " + file)
                        .status())
                .isEqualTo(2);
    }

    @Test
    void fileThatIsNoScheduleIsRefusedInOneSentence() throws Exception {
        Path notes = Files.writeString(folder.resolve("notes.xml"), "<notes><milk/></notes>");
        CommandRun run = CommandRun.of("compare -m p3.8xlarge --schedule " + notes);
        assertThat(run.status()).isEqualTo(1);
        assertThat(run.out()).isEmpty();
        assertThat(run.err())
                .startsWith("banyan: " + notes + ":1:1: is not an MSCCL algorithm")
                .hasLineCount(1);
        Path whole = export("-m p3.8xlarge -a packing", "");
        Path cut = Files.writeString(
                folder.resolve("cut.xml"), Files.readString(whole).replaceFirst("type=\"rrc\"", "type=\"r\""));
        CommandRun wrong = CommandRun.of("compare -m p3.8xlarge --schedule " + cut);
        assertThat(wrong.status()).isEqualTo(1);
        assertThat(wrong.err()).startsWith("banyan: " + cut).hasLineCount(1);
    }

    /** Writes a schedule to a file. */
    private Path export(String options, String warning) throws IOException {
        CommandRun run = CommandRun.of("trees --format msccl " + options);
        assertThat(run.status()).as(run.err()).isZero();
        assertThat(run.err().strip()).isEqualTo(warning);
        return Files.writeString(folder.resolve("schedule.xml"), run.out());
    }

    private static Schedule read(Path file) throws IOException {
        return MscclReader.read(
                "file", new ByteArrayInputStream(Files.readString(file).getBytes(StandardCharsets.UTF_8)));
    }

    private static JsonNode json(String options) throws IOException {
        CommandRun run = CommandRun.of("compare --format json " + options);
        assertThat(run.status()).as(run.err()).isZero();
        return run.json();
    }

    private static JsonNode onlyImported(JsonNode report) {
        JsonNode rows = report.get("rows");
        assertThat(rows).hasSize(7);
        assertThat(rows.get(5).has("schedule")).isFalse();
        return rows.get(6);
    }
}

package dev.banyan.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import com.fasterxml.jackson.databind.JsonNode;
import dev.banyan.config.Config;
import dev.banyan.cuda.CudaBackendProvider;
import dev.banyan.page.model.PageModel;
import dev.banyan.page.model.Playback;
import dev.banyan.page.model.SetModel;
import dev.banyan.page.study.PageStudy;
import dev.banyan.schedule.plan.AlgorithmChoice;
import dev.banyan.schedule.plan.AlgorithmConfig;
import dev.banyan.schedule.plan.TreeGenerator;
import dev.banyan.simulate.Profiles;
import dev.banyan.study.machine.ChosenMachine;
import dev.banyan.study.machine.Variants;
import dev.banyan.study.text.ChoiceText;
import dev.banyan.topology.Machine;
import dev.banyan.topology.Presets;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The commands and the page give one number for one question. */
class OneNumberTest {
    private static final long LARGE = 64L << 20;
    private static final int MOST_PAGE_DEVICES = 16;
    private static final Variants VARIANTS = new Variants(TreeGenerator.KERNIGHAN_LIN, Integer.MAX_VALUE);

    @TempDir
    Path folder;

    /** A size of an algorithm. */
    private record Question(String algorithm, long bytes) {}

    @Test
    void aSmallPresetGivesEqualNumbers() throws Exception {
        givesEqualNumbers("pcie-4", " -b 16M -e 64M");
    }

    static Stream<String> presets() {
        return Presets.all().stream()
                .filter(machine -> machine.size() <= MOST_PAGE_DEVICES)
                .map(Machine::name);
    }

    @Tag("soak")
    @ParameterizedTest
    @MethodSource("presets")
    void everyPresetGivesEqualNumbers(String machine) throws Exception {
        givesEqualNumbers(machine, "");
    }

    private void givesEqualNumbers(String machine, String tunedSizes) throws Exception {
        Map<Question, Double> predicted = predicted(machine);
        assertThat(predicted)
                .hasSize(PageStudy.sizes().size() * AlgorithmChoice.scheduled().size());
        PageModel page = page(machine, VARIANTS);
        Map<Question, Double> curves = curves(page);
        Map<Question, Double> tuned = tuned(machine + tunedSizes);
        predicted.forEach((question, us) -> {
            assertThat(curves.get(question)).as("curve of %s", question).isCloseTo(us, within(1e-6 * us));
        });
        assertThat(tuned.keySet())
                .extracting(Question::algorithm)
                .containsAll(
                        predicted.keySet().stream().map(Question::algorithm).toList());
        tuned.forEach((question, us) -> assertThat(us)
                .as("tune's best of %s, which may limit trees and chunks", question)
                .isLessThanOrEqualTo(1.0001 * predicted.getOrDefault(question, Double.POSITIVE_INFINITY)));
        Map<String, Double> rates = new HashMap<>();
        CommandRun.of("compare --machine " + machine + " --format json")
                .rows()
                .forEach(row ->
                        rates.put(row.get("name").asText(), row.path("rateGBs").asDouble()));
        SetModel whole = page.sets().sets().stream()
                .filter(set -> set.devices().size() == page.machine().devices())
                .findFirst()
                .orElseThrow();
        assertThat(whole.ways()).hasSize(AlgorithmChoice.scheduled().size());
        whole.ways().forEach(way -> {
            String algorithm = page.algorithms().get(way.algorithm());
            assertThat(rates.get(algorithm))
                    .as("compare's rate of %s", algorithm)
                    .isEqualTo(way.rate());
        });
        // A switch that reduces does so for the star and others, too.
        double inSwitch = rates.getOrDefault("packing in the switch", 0.0);
        assertThat(rates).as("links alone are never slower than a prediction").allSatisfy((algorithm, gbs) -> {
            double us = predicted.getOrDefault(new Question(algorithm, LARGE), Double.POSITIVE_INFINITY);
            assertThat(LARGE / us / 1e3).as(algorithm).isLessThanOrEqualTo(1.0001 * Math.max(gbs, inSwitch));
        });
        for (Playback playback : page.playbacks()) {
            Question question = new Question(page.algorithms().get(playback.algorithm()), playback.bytes());
            double us = predicted.getOrDefault(question, Double.NaN);
            assertThat(playback.us()).as("schedule of %s", question).isCloseTo(us, within(1e-6 * us));
        }
    }

    @Test
    void aVariantHasEqualNumbersInAllCommands() throws Exception {
        String variant = " --machine p3.8xlarge --trees shallow --rings 1 --format json";
        Map<String, Double> us = new HashMap<>();
        CommandRun.of("predict --algorithm single-tree,multi-tree,ring -b 64M -e 64M" + variant)
                .rows()
                .forEach(row -> us.put(
                        row.get("inPlace").get("choice").asText().replaceFirst("@.*", ""),
                        row.get("inPlace").get("timeUs").asDouble()));
        assertThat(us).containsOnlyKeys("single-tree/shallow", "multi-tree/shallow", "ring/1");
        JsonNode best = CommandRun.of("tune --predict -b 64M -e 64M --output " + folder.resolve("t.ini") + variant)
                .rows()
                .get(0)
                .get("best");
        for (String algorithm : us.keySet()) {
            JsonNode tuned = best.get(algorithm.replaceFirst("/.*", ""));
            assertThat(tuned.get("choice").asText()).startsWith(algorithm);
            assertThat(tuned.get("timeUs").asDouble()).isLessThanOrEqualTo(us.get(algorithm) * 1.0001);
        }
        assertThat(CommandRun.of("compare" + variant).rows())
                .extracting(row -> row.get("name").asText())
                .contains("single-tree (shallow)", "multi-tree (shallow)", "ring/1")
                .doesNotContain("multi-tree (kernighan-lin)", "ring");
        PageModel page = page("p3.8xlarge", new Variants(TreeGenerator.SHALLOW, 1));
        assertThat(page.algorithms()).contains("single-tree (shallow)", "multi-tree (shallow)", "ring/1");
        Map<Question, Double> curves = curves(page);
        us.forEach((algorithm, time) -> {
            String name = ChoiceText.name(AlgorithmConfig.parse(algorithm));
            assertThat(curves.get(new Question(name, LARGE))).as(name).isCloseTo(time, within(1e-6 * time));
        });
    }

    private static Map<Question, Double> predicted(String machine) throws Exception {
        Map<Question, Double> found = new HashMap<>();
        JsonNode rows = CommandRun.of(
                        "predict --machine " + machine + " -b 1K -e 1G -f 4 --algorithm all --format json")
                .rows();
        rows.forEach(row -> found.put(
                new Question(
                        name(row.get("algorithm").asText()), row.get("bytes").asLong()),
                row.get("inPlace").get("timeUs").asDouble()));
        return found;
    }

    /** Returns the name that tables give an algorithm by its label. */
    private static String name(String label) {
        return AlgorithmChoice.scheduled().stream()
                .filter(algorithm -> algorithm.label().equals(label))
                .map(algorithm -> ChoiceText.name(VARIANTS.of(algorithm)))
                .findFirst()
                .orElse(label);
    }

    private static PageModel page(String name, Variants variants) {
        Machine machine = Machine.preset(name);
        Config config = Config.defaults();
        PageStudy study = new PageStudy(
                ChosenMachine.whole(machine, null),
                variants,
                config,
                Profiles.of(machine),
                CudaBackendProvider.execution(config));
        int[] parts = new int[1];
        PageModel page = study.run("", "", List.of(), List.of(), () -> parts[0]++);
        assertThat(parts[0]).as("parts of progress").isEqualTo(study.parts(0));
        return page;
    }

    private static Map<Question, Double> curves(PageModel page) {
        Map<Question, Double> found = new HashMap<>();
        page.curves()
                .forEach(curve -> curve.points()
                        .forEach(point -> found.put(new Question(curve.name(), point.bytes()), point.us())));
        return found;
    }

    private Map<Question, Double> tuned(String machine) throws Exception {
        Map<Question, Double> found = new HashMap<>();
        JsonNode rows = CommandRun.of(
                        "tune --predict --machine " + machine + " --format json --output " + folder.resolve("t.ini"))
                .rows();
        for (JsonNode row : rows) {
            row.get("best")
                    .properties()
                    .forEach(best -> found.put(
                            new Question(name(best.getKey()), row.get("bytes").asLong()),
                            best.getValue().get("timeUs").asDouble()));
        }
        return found;
    }
}

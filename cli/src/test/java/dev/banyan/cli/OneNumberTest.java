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
import dev.banyan.simulate.Profiles;
import dev.banyan.study.machine.ChosenMachine;
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
    private static final List<Long> SIZES = List.of(64L << 10, LARGE);
    private static final int MOST_PAGE_DEVICES = 16;

    @TempDir
    Path folder;

    /** A size of an algorithm. */
    private record Question(String algorithm, long bytes) {}

    @Test
    void aPresetGivesEqualNumbers() throws Exception {
        givesEqualNumbers("pcie-4");
    }

    static Stream<String> presets() {
        return Presets.all().stream()
                .filter(machine -> machine.size() <= MOST_PAGE_DEVICES)
                .map(Machine::name);
    }

    @Tag("soak")
    @ParameterizedTest
    @MethodSource("presets")
    void givesEqualNumbers(String machine) throws Exception {
        Map<Question, Double> predicted = predicted(machine);
        assertThat(predicted).hasSize(SIZES.size() * AlgorithmChoice.scheduled().size());
        PageModel page = page(machine);
        Map<Question, Double> curves = curves(page);
        Map<Question, Double> tuned = tuned(machine);
        predicted.forEach((question, us) -> {
            assertThat(curves.get(question)).as("curve of %s", question).isCloseTo(us, within(1e-6 * us));
            if (question.bytes() == LARGE) {
                assertThat(tuned.get(question))
                        .as("tune's best of %s, which may limit trees and chunks", question)
                        .isLessThanOrEqualTo(us * 1.0001);
            }
        });
        Map<String, Double> rates = new HashMap<>();
        CommandRun.of("compare --machine " + machine + " --format json")
                .rows()
                .forEach(row -> rates.put(
                        row.get("name").asText().replace(" (kernighan-lin)", ""),
                        row.path("rateGBs").asDouble()));
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
        assertThat(rates).as("links alone are never slower than a prediction").allSatisfy((algorithm, gbs) -> {
            double us = predicted.getOrDefault(new Question(algorithm, LARGE), Double.POSITIVE_INFINITY);
            assertThat(LARGE / us / 1e3).as(algorithm).isLessThanOrEqualTo(1.0001 * gbs);
        });
        for (Playback playback : page.playbacks()) {
            Question question = new Question(page.algorithms().get(playback.algorithm()), playback.bytes());
            double us = predicted.getOrDefault(question, Double.NaN);
            assertThat(playback.us()).as("schedule of %s", question).isCloseTo(us, within(0.01 * us));
        }
    }

    private static Map<Question, Double> predicted(String machine) throws Exception {
        Map<Question, Double> found = new HashMap<>();
        JsonNode rows = CommandRun.of(
                        "predict --machine " + machine + " -b 64K -e 64M -f 1024 --algorithm all --format json")
                .rows();
        rows.forEach(row -> found.put(
                new Question(row.get("algorithm").asText(), row.get("bytes").asLong()),
                row.get("inPlace").get("timeUs").asDouble()));
        return found;
    }

    private static PageModel page(String name) {
        Machine machine = Machine.preset(name);
        Config config = Config.defaults();
        return new PageStudy(
                        ChosenMachine.whole(machine, null),
                        config,
                        Profiles.of(machine),
                        CudaBackendProvider.execution(config))
                .run("", List.of(), List.of(), () -> {});
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
        JsonNode rows = CommandRun.of("tune --predict --machine " + machine + " -b 64M -e 64M --format json --output "
                        + folder.resolve("t.ini"))
                .rows();
        for (JsonNode row : rows) {
            row.get("best")
                    .properties()
                    .forEach(best -> found.put(
                            new Question(best.getKey(), row.get("bytes").asLong()),
                            best.getValue().get("timeUs").asDouble()));
        }
        return found;
    }
}

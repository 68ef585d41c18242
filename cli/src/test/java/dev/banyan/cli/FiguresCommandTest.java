package dev.banyan.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class FiguresCommandTest {
    @TempDir
    private Path folder;

    /** Pictures are left out of the comparison: fonts differ between machines. */
    @Test
    void whatTheDocumentsShowIsWhatIsWritten() throws IOException {
        Path written = folder.resolve("deep/figures");
        JsonNode answer = CommandRun.of("study figures --format json --output " + written + " --profile V100-nvlink")
                .json();
        assertThat(answer.get("command").asText()).isEqualTo("study figures");
        assertThat(answer.at("/machine/name").asText()).isEqualTo("p3.16xlarge");
        assertThat(answer.get("profile").asText()).isEqualTo("v100-nvlink");
        assertThat(answer.get("rows")).isNotEmpty();
        try (var files = Files.list(written)) {
            assertThat(files.map(file -> file.getFileName().toString()))
                    .containsExactlyInAnyOrder(
                            "array-bound.csv",
                            "array-bound.svg",
                            "figures.md",
                            "in-flight.csv",
                            "in-flight.svg",
                            "speed-ups.csv");
        }
        for (String name : List.of("figures.md", "in-flight.csv", "array-bound.csv", "speed-ups.csv")) {
            assertThat(written.resolve(name))
                    .as("%s; ./banyan study figures --output docs/figures writes it anew", name)
                    .hasSameTextualContentAs(Path.of("../docs/figures", name));
        }
        assertThat(written.resolve("in-flight.svg")).content().contains("<svg", "NCCL ring");
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
        study figures                                  | --out
        study figures --output pom.xml                    | pom.xml is not a folder
        study figures --output /tmp/none --profile warp9  | no profile and no file is called 'warp9'
        bench --plot sweep.pdf                   | ends in .svg, not 'sweep.pdf'
        bench --plot no/such/sweep.svg           | make it first
        bench --plot a.svg --workload vgg-16     | --plot draws a sweep
        """)
    void nonsenseIsRefused(String arguments, String message) {
        CommandRun run = CommandRun.of(arguments);
        assertThat(run.err()).contains(message);
        assertThat(run.status()).isEqualTo(2);
    }

    @Test
    void anEmptyFolderNameIsRefused() {
        CommandRun run = CommandRun.of("study figures --output ");
        assertThat(run.err()).contains("--output needs the name of a folder");
        assertThat(run.status()).isEqualTo(2);
    }

    @Test
    void benchDrawsItsSweep() {
        Path file = folder.resolve("sweep.svg");
        CommandRun run = CommandRun.of(
                "bench --machine p3.8xlarge --backend host -b 1K -e 4K -n 1 -w 0 -a ring,star --plot " + file);
        assertThat(run.status()).isZero();
        assertThat(file)
                .content()
                .contains("all_reduce on 4 virtual devices in host memory: time", "ring, star", "busbw");
    }
}

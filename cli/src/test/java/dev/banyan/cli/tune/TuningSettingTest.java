package dev.banyan.cli.tune;

import static org.assertj.core.api.Assertions.assertThat;

import dev.banyan.cli.CommandRun;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Isolated;

/** Commands that follow the file which BANYAN_TUNING names. */
@Isolated("It changes what all tests of the JVM see.")
class TuningSettingTest {
    private static final String TUNING = "BANYAN_TUNING";

    @TempDir
    private Path folder;

    @AfterEach
    void clear() {
        System.clearProperty(TUNING);
    }

    @Test
    void theNextCommandFollowsTheSection() throws IOException {
        Path keys = Files.writeString(folder.resolve("keys.csv"), "name,elements\nfc,400000\nconv,9408\n");
        Path file = folder.resolve("t.ini");
        CommandRun tuned = CommandRun.of(
                "tune --predict --machine p3.8xlarge -b 64K -e 1M --workload " + keys + " --output " + file);
        assertThat(tuned.status()).as(tuned.err()).isZero();
        System.setProperty(TUNING, file.toString());
        assertThat(CommandRun.of("predict --machine p3.8xlarge --workload " + keys)
                        .err())
                .isEmpty();
        String line = "# auto follows a section of " + file;
        assertThat(CommandRun.of("predict --machine p3.8xlarge -a auto -b 1M -e 1M")
                        .out())
                .contains(line);
        for (String other : List.of("p3.16xlarge", "p3.8xlarge --collective broadcast")) {
            assertThat(CommandRun.of("predict -a auto -b 1M -e 1M --machine " + other)
                            .out())
                    .contains("# auto takes")
                    .doesNotContain("# auto follows");
        }
    }

    @Test
    void aFileThatIsNotThereIsWrongUsage() {
        Path missing = folder.resolve("missing");
        System.setProperty(TUNING, missing.toString());
        CommandRun run = CommandRun.of("predict --machine p3.8xlarge -b 1K -e 1K");
        assertThat(run.status()).isEqualTo(2);
        assertThat(run.err()).contains(missing.toString());
    }
}

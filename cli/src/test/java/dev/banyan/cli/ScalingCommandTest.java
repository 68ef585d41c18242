package dev.banyan.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ScalingCommandTest {
    @TempDir
    private Path folder;

    /** The picture is left out of the comparison: fonts differ between machines. */
    @Test
    void thePageIsWhatIsWritten() {
        Path page = folder.resolve("scaling.md");
        CommandRun run = CommandRun.of("study scaling --output " + page);
        assertThat(run.status()).as(run.err()).isZero();
        assertThat(page)
                .as("./banyan study scaling --output docs/scaling.md writes it anew")
                .hasSameTextualContentAs(Path.of("../docs/scaling.md"));
        assertThat(folder.resolve("scaling.svg")).content().contains("<svg", "depcha", "resnet-50");
        assertThat(Path.of("../docs/scaling.svg")).exists();
    }

    @Test
    void optionsMakeAnotherPage() throws IOException {
        Path page = folder.resolve("not/there/yet/mine.md");
        CommandRun run =
                CommandRun.of("study scaling --output " + page + " --machine P3.8xlarge --machines 8,1,8 --nics 2"
                        + " --nic-gbs 3.125 --latency-us 10 --leaf 4 --oversubscription 2 --workload alexnet --batch 64"
                        + " --images-per-second 1000");
        assertThat(run.status()).as(run.err()).isZero();
        assertThat(Files.readString(page))
                .contains(
                        "`banyan study scaling --output FOLDER/mine.md --machine P3.8xlarge --machines 8,1,8 --nics 2")
                .contains("| NIC | 3.125 GB/s |")
                .contains("One GPU trains 1000.00 images/s, 64.0 ms per step. Source: option")
                .containsPattern("(?m)^\\| 4 \\| 1 \\|.*\n\\| 32 \\| 8 \\|")
                .doesNotContain("inception-bn", "Beside what is published");
        assertThat(page.resolveSibling("mine.svg")).exists();
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
        ''                                      | --output
        --output page.txt                          | a page's name ends in .md, not 'page.txt'
        --output x.md --machine minski             | did you mean minsky
        --output x.md --machines 4,many            | 'many'
        --output x.md --machines 0                 | a cluster of 0 machines; it must have from 1 to 1048576
        --output x.md --nic-gbs -3                 | a NIC has -3.0 GB/s; it must be above 0
        --output x.md --nics 5                     | minsky has 4 devices for 5 NICs
        --output x.md --latency-us NaN             | a message takes NaN us
        --output x.md --leaf 0                     | a leaf has 0 machines
        --output x.md --oversubscription 0.5       | leaves are oversubscribed 0.5 times
        --output x.md --workload resnet-51         | did you mean resnet-50
        --output x.md --workload vgg-16            | of what one GPU of minsky trains of vgg-16 with 32 images per step
        --output x.md --batch 0                    | --batch is 0
        --output x.md --images-per-second 100      | of one model; name it with --workload
        --output x.md --workload vgg-16 --images-per-second 0 | --images-per-second is 0.0
        """)
    void nonsenseIsRefused(String arguments, String message) {
        CommandRun run = CommandRun.of(("study scaling " + arguments).strip());
        assertThat(run.err()).contains(message);
        assertThat(run.status()).isEqualTo(2);
    }
}

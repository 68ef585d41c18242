package dev.banyan.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.banyan.simulate.Constant;
import dev.banyan.simulate.Profile;
import dev.banyan.simulate.ProfileJson;
import dev.banyan.simulate.Profiles;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** {@code banyan calibrate}, from a file to a profile that the other commands take. */
class CalibrateCommandTest {
    /** Two devices over two NVLinks. */
    private static final String MEASURED = """
        Unidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)
           D\\D     0      1
             0 780.00  45.00
             1  45.00 780.00
        """;

    @TempDir
    private Path folder = Path.of(""); // replaced by JUnit

    private Path from = Path.of("");

    @BeforeEach
    void write() throws IOException {
        from = folder.resolve("p2p.txt");
        Files.writeString(from, MEASURED);
    }

    private CommandRun calibrate(String more) {
        return CommandRun.of("calibrate --from " + from + more);
    }

    @Test
    void aProfileIsWrittenAndExplained() {
        Path output = folder.resolve("profile.json");
        CommandRun run = calibrate(" --machine p3.8xlarge --devices 0,3 --name ours --output " + output);
        assertThat(run.status()).as(run.err()).isZero();
        assertThat(run.out())
                .contains("# profile ours: 2 constants from ")
                .containsPattern("nvlink\\.efficiency +0\\.9 +0\\.97 +yes")
                .containsPattern("pcie\\.efficiency +0\\.92 +0\\.92 +no")
                .contains("median of 2 figures from 780.0 to 780.0");
        Profile profile = ProfileJson.read(output);
        assertThat(profile.name()).isEqualTo("ours");
        assertThat(profile.get(Constant.NVLINK_EFFICIENCY)).isEqualTo(0.9);
    }

    @Test
    void peerAccessThatTheReportDeniesIsAskedFor() throws IOException {
        Files.writeString(from, "P2P Connectivity Matrix\n D\\D 0 1\n 0 1 0\n 1 0 1\n" + MEASURED);
        String warning = "warning: " + from + " says that no pair of GPUs has peer access, and dgx-2 does not say"
                + " so; add --peer-access no here and wherever the profile is used";
        assertThat(calibrate(" --machine dgx-2 --devices 0,1").err()).contains(warning);
        assertThat(calibrate(" --machine dgx-2 --devices 0,1 --peer-access no").err())
                .doesNotContain("warning");
    }

    @Test
    void anotherProfilesConstantsCanBeTheBase() throws IOException {
        Path base = folder.resolve("base.json");
        Files.writeString(
                base,
                ProfileJson.write(Profiles.find("v100-nvlink").orElseThrow().with(Constant.COLLECTIVE_US, 77, "test")));
        CommandRun run = calibrate(" --machine p3.8xlarge --devices 0,3 --base " + base);
        assertThat(run.status()).as(run.err()).isZero();
        assertThat(run.out()).containsPattern("collectiveUs +77 +77 +no").contains("# profile p3.8xlarge-measured");
    }

    @Test
    void theMachineMustBeTheMeasuredOne() {
        CommandRun run = calibrate(" --machine dgx-2");
        assertThat(run.status()).isEqualTo(1);
        assertThat(run.err())
                .isEqualTo("banyan: " + from + " is of 2 devices but dgx-2 has 16; name the machine that was measured"
                        + System.lineSeparator());
    }

    @Test
    void nonsenseIsRefusedWithItsPlace() throws IOException {
        Files.writeString(from, MEASURED.replace("780.00  45.00", "780.00  fast"));
        CommandRun run = calibrate(" --machine p3.8xlarge --devices 0,3");
        assertThat(run.status()).isEqualTo(1);
        assertThat(run.err()).contains(from + ":3:").contains("'fast' is no figure of devices 0 and 1");
        Files.writeString(from, "some text\n");
        assertThat(calibrate(" --machine p3.8xlarge").err()).contains("holds no matrix of p2pBandwidthLatencyTest");
        Files.write(from, new byte[] {(byte) 0xff, (byte) 0xff, 0});
        assertThat(calibrate(" --machine p3.8xlarge").err()).contains("is not text in UTF-8");
        Files.delete(from);
        assertThat(calibrate(" --machine p3.8xlarge").err()).contains("no file is called");
    }

    @Test
    void anInvalidBaseIsOneSentence() throws IOException {
        Path base = folder.resolve("base.json");
        String good = ProfileJson.write(Profiles.find("v100-nvlink").orElseThrow());
        Files.writeString(base, good.replace("\"nccl.llFraction\"", "\"nccl.fraction\""));
        CommandRun run = calibrate(" --machine p3.8xlarge --base " + base);
        assertThat(run.status()).isEqualTo(2);
        assertThat(run.err()).contains("key \"nccl.fraction\" of \"constants\" is not known");
        assertThat(calibrate(" --machine p3.8xlarge --base v100-nvlnk").err())
                .contains("no profile and no file is called 'v100-nvlnk' (did you mean v100-nvlink or p100-nvlink?)");
    }

    @Test
    void whatCantBeWrittenIsSaid() {
        CommandRun run =
                calibrate(" --machine p3.8xlarge --devices 0,3 --output " + folder.resolve("none/profile.json"));
        assertThat(run.status()).isEqualTo(2);
        assertThat(run.err()).contains("there is no folder " + folder.resolve("none"));
    }
}

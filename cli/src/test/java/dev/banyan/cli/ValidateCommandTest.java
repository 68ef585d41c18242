package dev.banyan.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.fasterxml.jackson.databind.JsonNode;
import dev.banyan.simulate.Constant;
import dev.banyan.simulate.ProfileJson;
import dev.banyan.simulate.Profiles;
import dev.banyan.study.measured.PublishedSweeps;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** {@code banyan validate} on own files, on files with the names of published ones, and on those themselves. */
class ValidateCommandTest {
    private static final String V100 = "hybridcube_8xV100-SXM2-16GB_allreduce.csv";
    private static final String ROWS = "size_bytes,oop_time_us\n8,48.46\n4194304,147.4\n134217728,1818.8\n";

    @TempDir
    private Path folder = Path.of(""); // replaced by JUnit

    private Path file(String name, String text) throws IOException {
        return Files.writeString(folder.resolve(name), text);
    }

    @Test
    void aPublishedSweepIsKnownByItsName() throws Exception {
        CommandRun run = CommandRun.of("validate --format json --sweeps " + file(V100, ROWS));
        assertThat(run.status()).as(run.err()).isZero();
        JsonNode sweep = run.json().get("rows").get(0);
        assertThat(sweep.get("machine").asText()).isEqualTo("p3.16xlarge");
        assertThat(sweep.get("seenByCalibration").asBoolean()).isTrue();
        assertThat(sweep.get("rows")).hasSize(3);
        assertThat(sweep.get("worstError").asDouble()).isLessThan(0.05);
        JsonNode row = sweep.get("rows").get(1);
        assertThat(row.get("error").asDouble())
                .isEqualTo(row.get("simulatedUs").asDouble()
                                / row.get("measuredUs").asDouble()
                        - 1);
    }

    @Test
    void anOwnSweepNeedsItsMachine() throws IOException {
        Path own = file("mine.txt", """
            #       size         count      type   redop    root     time   algbw   busbw #wrong
                67108864      16777216     float     sum      -1    993.0   67.60  118.30      0
            """);
        CommandRun alone = CommandRun.of("validate --sweeps " + own);
        assertThat(alone.status()).isEqualTo(2);
        assertThat(alone.err()).contains("is no published sweep that is known; say by --machine");
        CommandRun absent = CommandRun.of("validate --sweeps no/such.txt");
        assertThat(absent.status()).isEqualTo(2);
        assertThat(absent.err()).contains("there is no file or folder 'no/such.txt'");
        CommandRun run = CommandRun.of("validate --machine p3.16xlarge --devices-per-process 1 --sweeps " + own);
        assertThat(run.status()).as(run.err()).isZero();
        assertThat(run.out())
                .contains("all_reduce on 8 devices of p3.16xlarge, profile v100-nvlink")
                .contains("Simple");
        assertThat(CommandRun.of("validate --machine p3.16xlarge --devices-per-process 9 --sweeps " + own)
                        .err())
                .contains("--devices-per-process is 9; p3.16xlarge has 8 devices");
        assertThat(CommandRun.of("validate --devices 0-3 --sweeps " + own).err())
                .contains("--devices, -g and --unit need --machine");
    }

    @Test
    void anotherProfileGivesOtherTimes() throws Exception {
        Path profile = folder.resolve("slow.json");
        Files.writeString(
                profile,
                ProfileJson.write(
                        Profiles.find("v100-nvlink").orElseThrow().with(Constant.NVLINK_EFFICIENCY, 0.5, "test")));
        String command = "validate --format json --sweeps " + file(V100, ROWS);
        double usual =
                CommandRun.of(command).json().at("/rows/0/rows/2/simulatedUs").asDouble();
        double slow = CommandRun.of(command + " --profile " + profile)
                .json()
                .at("/rows/0/rows/2/simulatedUs")
                .asDouble();
        assertThat(slow).isGreaterThan(1.5 * usual);
    }

    @Test
    void theReportIsWrittenWhole() throws IOException {
        file(V100, ROWS);
        file("superbench_8xA100_alltoall.csv", "anything");
        file("notes.txt", "anything");
        Path reports = Files.createDirectory(folder.resolve("reports"));
        Path report = reports.resolve("report.md");
        String command = "validate --sweeps " + folder + " --report " + report;
        CommandRun run = CommandRun.of(command);
        assertThat(run.status()).as(run.err()).isZero();
        String written = Files.readString(report);
        assertThat(written)
                .contains("## The model")
                .contains("| " + V100 + " | 8 | v100-nvlink | 2 | ")
                .contains("Not compared: ")
                .contains("superbench_8xA100_alltoall.csv: alltoall is no collective of Banyan")
                .contains("notes.txt: not known; say by --machine");
        assertThat(reports.resolve("report-sweeps.csv"))
                .content()
                .contains("\n" + V100 + ",all_reduce,8,p3.16xlarge,8,peer to peer,");
        assertThat(reports.resolve("report-rows.csv"))
                .content()
                .startsWith("sweep,size_bytes,measured_us,simulated_us,error,bound_by\n")
                .contains("\n" + V100 + ",134217728,1819,");
        assertThat(reports.resolve("report-constants.csv"))
                .content()
                .startsWith("profile,constant,value,low,high,source\n")
                .contains("\nmi250x-xgmi,")
                .contains("\nv100-nvlink,nccl.simpleFraction,0.935,0.935,0.935,");
        Files.delete(report);
        assertThat(CommandRun.of(command).status()).isZero();
        assertThat(Files.readString(report)).as("the same input twice").isEqualTo(written);
    }

    @Test
    void nonsenseIsRefusedWithItsPlace() throws IOException {
        CommandRun run = CommandRun.of("validate --sweeps " + file(V100, "size_bytes,oop_time_us\n8,soon\n"));
        assertThat(run.status()).isEqualTo(1);
        assertThat(run.err()).contains(V100 + ":2:3: 'soon' is no time in us");
        assertThat(CommandRun.of("validate --sweeps " + file(V100, "no table")).err())
                .contains("holds no sweep");
        assertThat(CommandRun.of("validate --machine dgx-2 --sweeps " + folder.resolve("none"))
                        .err())
                .contains("there is no such file");
        Path empty = Files.createDirectory(folder.resolve("empty"));
        assertThat(CommandRun.of("validate --sweeps " + empty).err()).contains("nothing to compare");
    }

    /** The page in the documents is what the command writes today. */
    @Test
    void thePageIsUpToDate() throws IOException {
        Path sweeps = Path.of(System.getProperty("banyan.shared", ""), "figures", "nccl_tests");
        assumeTrue(Files.isDirectory(sweeps), () -> sweeps + " is not there");
        Path page = Path.of("..", "docs", "simulator.md");
        assumeTrue(Files.exists(page), () -> page + " is not there");
        Path report = folder.resolve("report.md");
        Path cases = sweeps.resolveSibling(Path.of("..", "cases")).normalize();
        String others = PublishedSweeps.all().stream()
                .map(sweep -> cases.resolve(sweep.file()))
                .filter(Files::exists)
                .map(file -> " " + file)
                .collect(Collectors.joining());
        CommandRun run = CommandRun.of("validate --sweeps " + sweeps + others + " --report " + report);
        assertThat(run.status()).as(run.err()).isZero();
        for (String name : List.of(".md", "-sweeps.csv", "-rows.csv", "-constants.csv", "-programs.csv")) {
            assertThat(folder.resolve("report" + name))
                    .content()
                    .isEqualTo(Files.readString(page.resolveSibling("simulator" + name))
                            .replace("simulator-", "report-"));
        }
    }
}

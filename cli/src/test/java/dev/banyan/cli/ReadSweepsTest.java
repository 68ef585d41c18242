package dev.banyan.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Sweeps that say on what they were measured: the header and the footer decide, options fill what they leave open. */
class ReadSweepsTest {
    private static final String HEADING = """
        #       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
        #        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
        """;
    /** Eight ranks. */
    private static final String ROWS = """
             1048576        262144     float     sum      -1    28.00   37.45   65.54      0    28.00   37.45   65.54      0
          1073741824     268435456     float     sum      -1   4300.0  249.71  436.99      0   4300.0  249.71  436.99      0
        """;

    private static final String FOOTER = "# Out of bounds values : 0 OK\n";

    @TempDir
    private Path folder = Path.of(""); // replaced by JUnit

    private Path file(String text) throws IOException {
        return Files.writeString(folder.resolve("sweep.txt"), text);
    }

    private static String rank(int rank, int pid, String host, int device, String model) {
        return "#  Rank %2d Group  0 Pid %6d on %10s device %2d [0000:%02x:00] %s\n"
                .formatted(rank, pid, host, device, 16 + device, model);
    }

    private static String ranks(int count, int perProcess, int perHost) {
        return "# Using devices\n"
                + IntStream.range(0, count)
                        .mapToObj(i -> rank(
                                i, 100 + i / perProcess, "node" + i / perHost, i % perHost, "NVIDIA H100 80GB HBM3"))
                        .collect(Collectors.joining());
    }

    private static String diagnosed(Path sweep, String arguments) {
        CommandRun run = CommandRun.of("diagnose --sweeps " + sweep + " " + arguments);
        assertThat(run.status()).as(run.err()).isZero();
        return run.out();
    }

    /** Reports no predictions of Banyan, and so is quick. */
    private static String validated(Path sweep, String arguments) {
        CommandRun run = CommandRun.of("validate --sweeps " + sweep + " " + arguments);
        assertThat(run.status()).as(run.err()).isZero();
        return run.out();
    }

    private static String refused(Path sweep, String arguments) {
        CommandRun run = CommandRun.of("validate --sweeps " + sweep + " " + arguments);
        assertThat(run.status()).as(run.out()).isNotZero();
        assertThat(run.out()).isEmpty();
        return run.err();
    }

    @Test
    void aMachineThatDoesWhatCanBeExpectedIsHealthy() throws IOException {
        String out = diagnosed(file(ranks(8, 1, 8) + HEADING + ROWS + FOOTER), "--machine dgx-h100");
        assertThat(out.lines().skip(1)).first().asString().startsWith("The machine is healthy: ");
        assertThat(out).doesNotContain("Assumed").contains("No setting of NCCL is likely to help.");
    }

    @Test
    void sweepsOfSeveralHostsOrOfMoreRanksAreRefused() throws IOException {
        assertThat(refused(file(ranks(16, 1, 8) + HEADING + ROWS), "--machine dgx-h100"))
                .contains("the header names 2 hosts (node0, node1), but dgx-h100 is one machine of 8 devices");
        assertThat(refused(file(ranks(8, 1, 8) + HEADING + ROWS), "--machine gb200-tray"))
                .contains("the header names 8 ranks, but gb200-tray has");
        assertThat(refused(file(HEADING + ROWS.replace("436.99", "478.61")), "--machine dgx-h100"))
                .contains("busbw is 1.917 times bytes over time")
                .contains("(24 ranks fit)");
        assertThat(refused(
                        file(ranks(8, 1, 8).replaceAll("H100 80GB HBM3", "A100-SXM4-80GB") + HEADING + ROWS),
                        "--machine dgx-h100"))
                .contains("the header names NVIDIA A100-SXM4-80GB, but GPU0 of dgx-h100 is");
    }

    @Test
    void aSweepOfSomeDevicesIsJudgedByThese() throws IOException {
        String rows = "  1073741824     268435456     float     sum      -1   5000.0  214.75  214.75      0   5000.0"
                + "  214.75  214.75      0\n";
        String two = "# Using devices\n"
                + rank(0, 7, "node", 2, "NVIDIA H100 80GB HBM3")
                + rank(1, 7, "node", 5, "NVIDIA H100 80GB HBM3");
        assertThat(validated(file(two + HEADING + rows), "--machine dgx-h100"))
                .contains("all_reduce on 2 devices")
                .contains("The header names 2 ranks: GPU2, GPU5 of dgx-h100");
        assertThat(refused(file(two + HEADING + rows), "--machine dgx-h100 --devices 0-3"))
                .contains("--devices or -g names 4 devices, but the header names 2 ranks");
    }

    @Test
    void processesFollowFromPids() throws IOException {
        Path one = file(ranks(8, 8, 8) + HEADING + ROWS);
        assertThat(CommandRun.of("validate --format json --machine dgx-h100 --sweeps " + one)
                        .out())
                .contains("\"devicesPerProcess\" : 8");
        assertThat(refused(one, "--machine dgx-h100 --devices-per-process 1"))
                .contains("--devices-per-process is 1, but the header names 8 devices of each process");
        assertThat(validated(file(HEADING + ROWS), "--machine dgx-h100"))
                .contains("Assumed: a process for each GPU, since the file names no ranks");
    }

    @Test
    void wrongResultsComeBeforeAnySpeed() throws IOException {
        String wrong = ROWS.replaceFirst("65\\.54      0", "65.54   1742");
        for (String text : new String[] {wrong + FOOTER, ROWS + "# Out of bounds values : 3 FAILED\n"}) {
            String out = diagnosed(file(ranks(8, 1, 8) + HEADING + text), "--machine dgx-h100");
            assertThat(out.lines().skip(1)).first().asString().startsWith("The results of this run are wrong: ");
            assertThat(out)
                    .doesNotContain("healthy")
                    .doesNotContain("NCCL_PROTO")
                    .doesNotContain("reaches");
        }
        assertThat(CommandRun.of("validate --machine dgx-h100 --sweeps " + file(HEADING + wrong))
                        .out())
                .contains("# The results of this run are wrong: nccl-tests report up to 1742 wrong elements of a call,"
                        + " in 1 row");
        assertThat(diagnosed(
                                file(ranks(8, 1, 8) + HEADING + ROWS.replaceAll("     0(?=\\s)", "   N/A")),
                                "--machine dgx-h100")
                        .lines()
                        .skip(1))
                .first()
                .asString()
                .startsWith("The results of this run were not checked (#wrong is N/A)");
    }

    @Test
    void processesThatMpiDoesNotJoinAreNamed() throws IOException {
        String alone = IntStream.range(0, 8)
                .mapToObj(i -> rank(0, 100 + i, "node", 0, "NVIDIA H100 80GB HBM3"))
                .collect(Collectors.joining());
        String rows = ROWS.replace("65.54", "0.00").replace("436.99", "0.00");
        assertThat(refused(file(alone + HEADING + rows), "--machine dgx-h100"))
                .contains("the header names rank 0 8 times")
                .contains("make MPI=1");
        assertThat(refused(file(HEADING + rows), "--machine dgx-h100")).contains("busbw is 0");
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
        sum  | -1 | 2147483648 | 536870912 | 437.50 | all_reduce
        sum  | -1 | 2147483648 |  67108864 | 218.75 | reduce_scatter
        sum  |  0 | 2147483648 | 536870912 | 250.00 | reduce
        none | -1 | 2147483648 |  67108864 | 218.75 | all_gather
        none |  0 | 2147483648 | 536870912 | 250.00 | broadcast
        """)
    void columnsSayTheCollective(String redop, int root, long bytes, long count, double busGbs, String collective)
            throws IOException {
        String row = "%d %d float %s %d 8589.9 250.00 %.2f 0 8589.9 250.00 %.2f 0\n"
                .formatted(bytes, count, redop, root, busGbs, busGbs);
        Path sweep = file(ranks(8, 1, 8) + HEADING + row);
        assertThat(validated(sweep, "--machine dgx-h100"))
                .contains(": " + collective + " on 8 devices")
                .contains("Read from columns and rates: the collective is " + collective);
        String other = collective.equals("reduce") ? "broadcast" : "reduce";
        assertThat(refused(sweep, "--machine dgx-h100 --collective " + other))
                .contains("--collective is " + other + ", but columns and rates are those of " + collective);
    }

    @Test
    void theHeaderNamesTheCollective() throws IOException {
        String row = " 2147483648 67108864 float none -1 8589.9 250.00 218.75 0 8589.9 250.00 218.75 N/A\n";
        assertThat(validated(
                        file("# Collective test starting: all_gather_perf\n" + ranks(8, 1, 8) + HEADING
                                + row.replace("N/A", "0")),
                        "--machine dgx-h100"))
                .contains(": all_gather on 8 devices");
        assertThat(refused(
                        file("# Collective test starting: all_gather_perf\n" + HEADING + ROWS), "--machine dgx-h100"))
                .contains("the header names all_gather, but columns and rates are those of all_reduce");
        assertThat(refused(file(ranks(8, 1, 8) + HEADING + row), "--machine dgx-h100"))
                .contains("alltoall is no collective of Banyan");
    }

    /** Older versions print an operation for sendrecv, whose results in place they do not check. */
    @Test
    void sendrecvWithAnOperationIsNoAllReduce() throws IOException {
        String row = " 134217728 33554432 float sum -1 876.8 153.08 153.08 0 829.1 161.89 161.89 N/A\n";
        assertThat(refused(file(ranks(2, 2, 2) + HEADING + row), "--machine dgx-h100"))
                .contains("sendrecv or alltoall is no collective of Banyan");
        assertThat(validated(file(ranks(2, 2, 2) + HEADING + row.replace("N/A", "0")), "--machine dgx-h100"))
                .contains(": all_reduce on 2 devices");
    }

    @Test
    void ranksOnOneDeviceMeasureNoLink() throws IOException {
        String row = " 134217728 33554432 float sum -1 876.8 153.08 153.08 0 829.1 161.89 161.89 0\n";
        String shared =
                rank(0, 100, "lab", 0, "NVIDIA H100 80GB HBM3") + rank(1, 101, "lab", 0, "NVIDIA H100 80GB HBM3");
        assertThat(refused(file(shared + HEADING + row), "--machine dgx-h100 --devices 0,1"))
                .contains("the header names ranks 0 and 1 on one device, 0 [0000:10:00] of lab, so that no link");
    }

    /** Old nccl-tests print another algbw for all_gather, and no column of operations. */
    @Test
    void oldLayoutsWithoutOperationsAreOfAllGather() throws IOException {
        assertThat(validated(file("""
            #   Rank  0 Pid   3167 on       host device  0 [0x01] Tesla V100
            #   Rank  1 Pid   3167 on       host device  1 [0x02] Tesla V100
            #       size         count    type     time   algbw   busbw  error     time   algbw   busbw  error
               134217728      16777216   float   1500.0   44.74   44.74  0e+00   1500.0   44.74   44.74  0e+00
            """), "--machine p3.16xlarge")).contains(": all_gather on 2 devices");
    }

    @Test
    void runsAndOperationsOfAFileAreSweepsOfTheirOwn() throws IOException {
        String max = ROWS.replace("sum", "max")
                .replace("4300.0", "4400.0")
                .replace("249.71", "244.03")
                .replace("436.99", "427.05");
        String broadcast = " 1073741824 268435456 float none 0 4000.0 268.44 268.44 0 4000.0 268.44 268.44 0\n";
        Path sweep = file(ranks(8, 1, 8) + HEADING + ROWS + max + FOOTER + ranks(8, 1, 8) + HEADING + broadcast);
        String out = validated(sweep, "--machine dgx-h100");
        assertThat(out)
                .contains("# sweep.txt:10: all_reduce on 8 devices")
                .contains("This sweep has the rows of float sum -1 alone, of 2 kinds under the same heading")
                .contains("This sweep has the rows of float max -1 alone")
                .contains("# sweep.txt:26: broadcast on 8 devices");
    }

    @ParameterizedTest
    @CsvSource(quoteCharacter = '"', textBlock = """
        "[1,0]<stdout>:"
        "[1,0]<stdout>: "
        "[0] "
        "0: "
        " 0: "
        "node-17: "
        "node-17.example.org: "
        "2026-08-14T12:11:24.123Z "
        "2026-08-14 12:11:24,123 "
        "[2026-08-14 12:11:24] "
        "Aug 14 12:11:24 node17 slurmd[812]: "
        "nccl-1  | "
        "2026-08-14T12:11:24.123456789Z stdout F "
        "> "
        "> > "
        "(RayTask pid=812) "
        "[node17:0] "
        "12:11:24 "
        "run(), common.cu:1084, "
        "\u001b[0m"
        """)
    void prefixesOfLaunchersAreSkipped(String prefix) throws IOException {
        String plain = ranks(8, 1, 8) + HEADING + ROWS + FOOTER;
        assertThat(validated(file(plain.replaceAll("(?m)^", prefix)), "--machine dgx-h100"))
                .isEqualTo(validated(file(plain), "--machine dgx-h100"));
    }

    @Test
    void tagsInsideOfLinesFencesAndTablesAreSkipped() throws IOException {
        String plain = ranks(8, 1, 8) + HEADING + ROWS + FOOTER;
        String expected = validated(file(plain), "--machine dgx-h100");
        assertThat(validated(file("```\n" + plain + "```\n"), "--machine dgx-h100"))
                .isEqualTo(expected.replace(":9:", ":10:"));
        assertThat(validated(file(plain.replaceAll("-1 ", "-1[0]")), "--machine dgx-h100"))
                .isEqualTo(expected);
    }

    @Test
    void timestampsAndFiguresOfIterationsAreSkipped() throws IOException {
        String expected = validated(file(ranks(8, 1, 8) + HEADING + ROWS), "--machine dgx-h100");
        String stamped = HEADING.replaceFirst("#wrong\\n", "#wrong           timestamp\n")
                + ROWS.replaceAll("(?m)$(?=\\n)", "  2026-08-14 12:11:24");
        assertThat(validated(file(ranks(8, 1, 8) + stamped), "--machine dgx-h100"))
                .isEqualTo(expected);
        String iterations = HEADING.replaceAll("#wrong", "#wrong i_min i_max i_p99 i_cv%")
                + ROWS.replaceAll("     0(?=\\s)", "     0 1.0 2.0 2.0 1.7");
        assertThat(validated(file(ranks(8, 1, 8) + iterations), "--machine dgx-h100"))
                .isEqualTo(expected);
    }

    @Test
    void timesOfTheCpuAreRefused() throws IOException {
        assertThat(refused(file(HEADING.replaceAll("  time", "cputime") + ROWS), "--machine dgx-h100"))
                .contains("the columns hold CPU times of launches (-C 1)");
    }

    @Test
    void timesOfOnePlaceAreRead() throws IOException {
        String inPlace = ROWS.replaceAll("28\\.00   37\\.45   65\\.54      0    28", " ".repeat(34) + "28")
                .replaceAll("4300\\.0  249\\.71  436\\.99      0   4300", " ".repeat(34) + "4300");
        assertThat(validated(file(ranks(8, 1, 8) + HEADING + inPlace), "--machine dgx-h100"))
                .containsPattern("1073741824 +4300")
                .contains("Times in place are taken where the file has none out of place");
        String outOfPlace = ROWS.replaceAll("(?m)    28\\.00   37\\.45   65\\.54      0$", "")
                .replaceAll("(?m)(436\\.99      0) .*$", "$1");
        assertThat(validated(file(ranks(8, 1, 8) + HEADING + outOfPlace), "--machine dgx-h100"))
                .containsPattern("1073741824 +4300")
                .doesNotContain("in place");
    }

    @Test
    void theJsonOfNcclTestsIsRead() throws IOException {
        String devices = IntStream.range(0, 8)
                .mapToObj(i -> "{\"rank\": " + i + ", \"group\": 0, \"pid\": " + (7 + i)
                        + ", \"hostname\": \"n\", \"device\": " + i
                        + ", \"device_hex\": \"0000:1" + i + ":00\", \"device_info\": \"NVIDIA H100 80GB HBM3\"}")
                .collect(Collectors.joining(","));
        String json = """
            {"args": ["./build/all_reduce_perf"], "config": {"nthreads": 1, "ngpus": 1, "devices": [%s]},
             "results": [{"size": 1073741824, "count": 268435456, "type": "float", "redop": "sum", "root": "  -1",
              "out_of_place": {"%s": 4300.0, "alg_bw": 249.71, "bus_bw": 436.99, "nwrong": %s},
              "in_place": null}], "out_of_bounds": {"count": 0, "okay": true}}
            """;
        assertThat(validated(file(json.formatted(devices, "time", "0")), "--machine dgx-h100"))
                .contains("all_reduce on 8 devices of dgx-h100")
                .containsPattern("1073741824 +4300")
                .doesNotContain("Assumed");
        assertThat(validated(file(json.formatted(devices, "time", "5.0")), "--machine dgx-h100"))
                .contains("The results of this run are wrong: nccl-tests report up to 5 wrong elements of a call, in 1"
                        + " row");
        assertThat(refused(file(json.formatted(devices, "cpu_time", "0")), "--machine dgx-h100"))
                .contains("CPU times");
        assertThat(refused(file(json.substring(0, 200)), "--machine dgx-h100")).contains("is no whole JSON");
    }

    /** Slow rows of eight ranks, and what the log says of them. */
    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
        NCCL_P2P_DISABLE set by environment to 1;Channel 00 : 0[0] -> 1[1] via SHM/direct/direct | since NCCL_P2P_DISABLE=1 is set: unset it
        NCCL_P2P_LEVEL set by environment to PXB;Channel 00 : 0[0] -> 1[1] via SHM/direct/direct | since NCCL_P2P_LEVEL=PXB is set, which allows peer access no farther: unset it
        P2P is disabled between connected GPUs 1 and 0;Channel 00 : 0[0] -> 1[1] via SHM/direct/direct | since the driver refuses peer access
        Channel 00 : 0[0] -> 1[1] via SHM/direct/direct | which limits their speed; nvidia-smi topo -p2p r
        NCCL_SHM_DISABLE set by environment to 1;Channel 00/0 : 0[0] -> 1[1] via NET/Socket/0 | since NCCL_SHM_DISABLE=1 is set: unset it
        Channel 00/0 : 0[0] -> 1[1] via NET/IB/0 | as between containers that do not share /dev/shm
        NVLS multicast support is not available on dev 0 | By the log NCCL cannot reduce in the switch
        NCCL_NVLS_ENABLE set by environment to 0 | By the log or the command NCCL_NVLS_ENABLE=0 is set
        NCCL_PROTO set by environment to LL | By the log or the command NCCL_PROTO=LL is set, for calls of all sizes: unset it
        """)
    void causesInTheLogComeFirstAndAlone(String log, String cause) throws IOException {
        String lines = "NCCL version 2.21.5+cuda12.4\n"
                + Stream.of(log.split(";"))
                        .map(line -> "h:1:2 [0] NCCL INFO " + line + "\n")
                        .collect(Collectors.joining());
        String slow =
                ROWS.replace("4300.0", " 43000").replace("249.71", "24.97").replace("436.99", "43.70");
        String out = diagnosed(file(ranks(8, 1, 8) + lines + HEADING + slow + FOOTER), "--machine dgx-h100");
        assertThat(out.lines().skip(1))
                .first()
                .asString()
                .startsWith("By the log ")
                .contains(cause);
        assertThat(out).doesNotContain("a guess");
    }

    @Test
    void settingsOfTheCommandAreCauses() throws IOException {
        for (String command : List.of(
                "$ mpirun -np 8 -x NCCL_DEBUG=WARN -x NCCL_ALGO=Ring \\\n  ./build/all_reduce_perf -b 1M\n",
                "$ NCCL_ALGO=Ring NCCL_DEBUG=WARN ./build/all_reduce_perf -b 1M -g 8\n",
                "export NCCL_ALGO=Ring\n")) {
            Path sweep = file(command + HEADING + ROWS);
            assertThat(diagnosed(sweep, "--machine dgx-h100")).contains("command NCCL_ALGO=Ring is set");
            assertThat(diagnosed(file("# " + command + HEADING + ROWS), "--machine dgx-h100"))
                    .doesNotContain("is set");
            String two = command + HEADING + ROWS + HEADING + ROWS;
            assertThat(diagnosed(file(two), "--machine dgx-h100")).containsOnlyOnce("command NCCL_ALGO=Ring is set");
        }
    }

    @Test
    void guessesDoNotContradictTheLog() throws IOException {
        String slow =
                ROWS.replace("4300.0", " 43000").replace("249.71", "24.97").replace("436.99", "43.70");
        Path sweep = file(HEADING + slow);
        assertThat(diagnosed(sweep, "--machine dgx-h100")).contains("NCCL_MIN_NCHANNELS=16: a guess");
        Path log = Files.writeString(folder.resolve("nccl.log"), """
            h:1:2 [0] NCCL INFO NVLS multicast support is available on dev 0
            h:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM
            h:1:2 [0] NCCL INFO 24 coll channels, 16 nvls channels, 32 p2p channels
            """);
        assertThat(diagnosed(sweep, "--machine dgx-h100 --log " + log))
                .contains("NCCL is 10.4 times as slow")
                .contains("Collectives use 24 channels")
                .doesNotContain("NCHANNELS")
                .doesNotContain("NCCL_TOPO_FILE")
                .doesNotContain("NCCL_DEBUG=INFO");
    }

    @Test
    void modelsWithoutPeerAccessAreTheCauseWithoutALog() throws IOException {
        String gpus = ranks(8, 8, 8).replace("H100 80GB HBM3", "GeForce RTX 4090");
        String slow =
                ROWS.replace("4300.0", "900000").replace("249.71", "1.193").replace("436.99", "2.09");
        assertThat(diagnosed(file(gpus + HEADING + slow), "--machine pcie-8").lines())
                .anySatisfy(line -> assertThat(line)
                        .startsWith("Data go through the host's memory, since NVIDIA's driver allows no peer access"))
                .noneSatisfy(line -> assertThat(line).contains("a guess"));
    }

    /** One line of a case that must be answered as its people found. */
    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
        033 | 034b      | By the log all 2 pairs of ranks send through the host's memory (SHM), since NVIDIA's driver
        034 | 034b      | :93: broadcast on 2 devices
        036 | dgx-b200  | The machine is healthy
        038 | dgx-h100  | (24 ranks fit)
        042 | dgx-h100  | the header names 13 hosts
        043 | 010       | GPU5 (device 1 of tray05) has no NVLink, although the other GPUs have
        046 | dgx-h100  | CPU times of launches
        048 | dgx-h100  | The results of this run are wrong
        050 | dgx-h100  | rebuild them with make MPI=1
        080 | 080b      | since NCCL_P2P_LEVEL=LOC is set, which allows no peer access at all: unset it
        039_| 039b      | that this alone shows no fault
        081 | 081b      | that this alone shows no fault
        """)
    void publicCasesAreAnsweredRightly(String number, String machine, String answer) throws IOException {
        Path cases = cases();
        String named = machine.matches("\\d.*") ? find(cases, machine).toString() : machine;
        CommandRun run = CommandRun.of("diagnose --sweeps " + find(cases, number) + " --machine " + named);
        assertThat(run.out() + run.err()).contains(answer);
    }

    @ParameterizedTest
    @CsvSource({"mi300x8, 030 031", "dgx-h100, 037_ 037b 044 045 047 049"})
    void healthyMachinesOfPublicCasesAreCalledHealthy(String machine, String numbers) throws IOException {
        List<String> files = new ArrayList<>();
        for (String number : numbers.split(" ", -1)) {
            files.add(find(cases(), number).toString());
        }
        CommandRun run = CommandRun.of("diagnose --sweeps " + String.join(" ", files) + " --machine " + machine);
        assertThat(run.out().split("(?m)^# ", -1))
                .as(run.err())
                .filteredOn(part -> part.contains("\nThe machine is healthy"))
                .hasSize(files.size());
    }

    private static Path cases() {
        Path cases = Path.of(System.getProperty("banyan.shared", ""), "cases");
        assumeTrue(Files.isDirectory(cases), () -> cases + " is not there; it is in the folder /shared/");
        return cases;
    }

    private static Path find(Path folder, String number) throws IOException {
        try (Stream<Path> files = Files.list(folder)) {
            return files.filter(file -> String.valueOf(file.getFileName()).startsWith(number))
                    .sorted()
                    .findFirst()
                    .orElseThrow();
        }
    }
}

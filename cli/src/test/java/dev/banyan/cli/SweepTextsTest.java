package dev.banyan.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Texts that people paste around sweeps: several runs, other commands, rows that are cut. */
class SweepTextsTest {
    private static final String HEADING = """
        #       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
        #        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
        """;
    /** Two ranks over PCIe. */
    private static final String ROWS = """
                8192          2048     float     sum      -1    12.00    0.68    0.68      0    12.00    0.68    0.68      0
             1048576        262144     float     sum      -1   160.00    6.55    6.55      0   160.00    6.55    6.55      0
        """;

    private static final String GATHERED = """
             1048576        131072     float    none      -1   100.00   10.49    5.24    N/A   100.00   10.49    5.24    N/A
        """;

    private static final String FOOTER = "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 3.62\n";

    @TempDir
    private Path folder = Path.of(""); // replaced by JUnit

    private CommandRun diagnosed(String text, String arguments) throws IOException {
        Path file = Files.writeString(folder.resolve("sweep.txt"), text);
        return CommandRun.of("diagnose --sweeps " + file + " " + arguments);
    }

    private CommandRun onTwo(String text) throws IOException {
        return diagnosed(text, "--machine pcie-4 --devices 0,1");
    }

    @Test
    void aSweepThatIsRefusedLeavesTheOthers() throws IOException {
        String alltoall = GATHERED.replaceFirst("N/A", "  0");
        CommandRun run = onTwo(HEADING + alltoall + FOOTER + HEADING + ROWS + FOOTER + HEADING + alltoall + FOOTER);
        assertThat(run.status()).as(run.err()).isZero();
        assertThat(run.out())
                .contains("sweep.txt:6: all_reduce on 2 devices")
                .contains("sweep.txt:1: alltoall is no collective")
                .contains("sweep.txt:12: alltoall is no collective");
    }

    @Test
    void logsAndSettingsOfOtherRunsAreNoCauses() throws IOException {
        String first = "$ NCCL_PROTO=LL ./build/all_reduce_perf -b 8K -g 2\n# nThread 1 nGpus 2 minBytes 8192\n"
                + "h:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via SHM/direct/direct\n" + HEADING + ROWS + FOOTER;
        String second =
                "$ ./build/all_reduce_perf -b 8K -g 2\n# nThread 1 nGpus 2 minBytes 8192\n" + HEADING + ROWS + FOOTER;
        for (String text : new String[] {first + second, second + first}) {
            CommandRun run = onTwo(text);
            assertThat(run.out()).containsOnlyOnce("By the log all 1 pairs").containsOnlyOnce("NCCL_PROTO=LL is set");
        }
        String above = "mpirun -np 16 \\\n-x NCCL_PROTO=LL \\\n./build/all_reduce_perf -b 8K -g 1\n\n";
        assertThat(onTwo(above + second).out()).contains("all_reduce on 2").doesNotContain("is set");
        assertThat(onTwo("export NCCL_PROTO=LL\n" + above + second).out()).contains("NCCL_PROTO=LL is set");
    }

    @Test
    void theCommandLineSaysThatColumnsAreOfAnotherProgram() throws IOException {
        assertThat(onTwo("$ ./build/sendrecv_perf -b 8K -g 2\n" + HEADING + ROWS)
                        .err())
                .contains("sendrecv is no collective of Banyan");
        assertThat(onTwo("$ ./build/sendrecv_perf -b 8K\n$ ./build/all_reduce_perf -b 8K -g 2\n" + HEADING + ROWS)
                        .out())
                .contains("all_reduce on 2 devices");
    }

    @Test
    void columnsOfTwoProgramsAreNotGuessed() throws IOException {
        assertThat(onTwo(HEADING + GATHERED).err())
                .contains("the columns are those of all_gather and of alltoall; give the output with its command");
        assertThat(onTwo("$ ./build/all_gather_perf -g 2\n" + HEADING + GATHERED)
                        .out())
                .contains("all_gather on 2 devices");
        assertThat(diagnosed(HEADING + GATHERED, "--machine pcie-4 --devices 0,1 --collective all_gather")
                        .out())
                .contains("all_gather on 2 devices");
        assertThat(onTwo(HEADING + GATHERED.replace("N/A", "  0")).out()).contains("all_gather on 2 devices");
    }

    @Test
    void cardsAndModulesOfOneGpuAreDifferentMachines() throws IOException {
        String ranks = "#  Rank  0 Group  0 Pid     52 on node device  0 [0000:18:00] NVIDIA H200 NVL\n"
                + "#  Rank  1 Group  0 Pid     52 on node device  1 [0000:67:00] NVIDIA H200 NVL\n";
        assertThat(diagnosed(ranks + HEADING + ROWS, "--machine h200").err())
                .contains("the header names NVIDIA H200 NVL, but GPU0 of h200 is NVIDIA H200");
        assertThat(diagnosed(ranks.replace("H200 NVL", "H100 PCIe") + HEADING + ROWS, "--machine dgx-h100")
                        .err())
                .contains("the header names NVIDIA H100 PCIe, but GPU0 of dgx-h100 is NVIDIA H100 80GB HBM3");
        assertThat(diagnosed(ranks.replace("H200 NVL", "H200") + HEADING + ROWS, "--machine h200")
                        .out())
                .contains("all_reduce on 2 devices");
    }

    @Test
    void cutRowsAreNamed() throws IOException {
        String cut = "             2097152        524288     float     sum      -1   300.00    6.99";
        assertThat(onTwo(HEADING + ROWS + cut).err()).contains("sweep.txt:5: 7 figures under a heading of 13");
        String last = cut + "    6.99      0   300.00    6.99    6.99";
        assertThat(onTwo(HEADING + ROWS + last).err()).contains("sweep.txt:5: 12 figures under a heading of 13");
        assertThat(onTwo(HEADING + ROWS + cut + "    6.99      0\n").out())
                .contains("1 of 3 rows have times of one kind alone, out of place or in place: the file is cut there");
    }

    /** A heading with a prefix of an unknown kind makes as many characters of other lines a prefix. */
    @Test
    void optionsOfACommandAreNoRow() throws IOException {
        String tagged = HEADING.replaceAll("(?m)^", "<0> ") + ROWS.replaceAll("(?m)^", "<0> ");
        assertThat(onTwo(tagged + "   -b 1048576 -e 134217728 -f 2 -g 1 -n 50 -w 10\n")
                        .out())
                .contains("all_reduce on 2 devices");
    }

    @Test
    void aDescriptionWithoutPeerAccessIsTheCause() throws IOException {
        Path topo = Files.writeString(folder.resolve("topo.txt"), """
            $ nvidia-smi topo -m
                    GPU0    GPU1    CPU Affinity    NUMA Affinity
            GPU0     X      PIX     0-23            0
            GPU1    PIX      X      0-23            0

            $ nvidia-smi topo -p2p r
                    GPU0    GPU1
            GPU0    X       NS
            GPU1    NS      X
            """);
        CommandRun run = diagnosed(HEADING + ROWS, "--machine " + topo);
        assertThat(run.out())
                .contains("since by the description of topo.txt no two of these devices have peer access")
                .doesNotContain("NCCL_P2P_LEVEL");
    }
}

package dev.banyan.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** {@code banyan diagnose} on own sweeps and logs, and on the published sweeps. */
class DiagnoseCommandTest {
    private static final String HEADING = "size_bytes,oop_time_us\n";
    private static final String BEGIN = "<!-- banyan diagnose: begin -->\n```\n";
    private static final String END = "```\n<!-- banyan diagnose: end -->\n";

    @TempDir
    private Path folder = Path.of(""); // replaced by JUnit

    private Path file(String name, String text) throws IOException {
        return Files.writeString(folder.resolve(name), text);
    }

    private static String diagnosed(String arguments) {
        CommandRun run = CommandRun.of("diagnose " + arguments);
        assertThat(run.status()).as(run.err()).isZero();
        return run.out();
    }

    /** 60 GB/s of 85.714 from 16 MiB on. */
    @Test
    void sharesOfTheBoundHaveASizeFromWhichTheyHold() throws IOException {
        Path sweep =
                file("sweep.txt", HEADING + "1024,60\n1048576,200\n16777216,290\n67108864,1118.5\n268435456,4474\n");
        assertThat(diagnosed("--machine p3.16xlarge --devices-per-process 8 --sweeps " + sweep))
                .contains("# sweep.txt: all_reduce on 8 devices of p3.16xlarge, peer to peer\n")
                .contains("From 16 MiB on NCCL reaches 67% to 70% of what schedules over these links carry at most"
                        + " (85.714 GB/s of algbw; banyan bound says why).\n")
                .contains("Up to 1 KiB a call takes 60.0 us, about what one process takes to launch on 8 devices one"
                        + " after the other (48.5 us in the model).\n")
                .contains("At 1 MiB it takes 2.3 times as long as in the model.\n")
                .contains("Worth trying: a process for each GPU (mpirun -np 8, -g 1 of nccl-tests)")
                .contains("Worth trying: NCCL_PROTO=LL128, then NCCL_PROTO=Simple: a guess: at 1 MiB ")
                .containsPattern(
                        "Banyan would take [0-9]+ us at 256 MiB \\([0-9]+% of the bound\\) by the simulator, with"
                                + " packing by a kernel on each GPU, from [0-9]+ to [0-9]+ us over the ranges of"
                                + " assumed constants; that is a prediction: 1\\.[0-9]+ times as fast as NCCL was"
                                + " measured\\.");
    }

    /** A row that stands out is no trend: the last row is as fast as those before it. */
    @Test
    void oneFastRowIsNoRise() throws IOException {
        Path sweep = file(
                "sweep.txt",
                HEADING + "262144,265\n16777216,18700\n33554432,37000\n67108864,75000\n134217728,150000\n");
        assertThat(diagnosed("--machine rtx4090x8 --devices 0,1 --sweeps " + sweep))
                .contains("From 256 KiB on NCCL reaches 4% of what schedules over these links carry at most (")
                .containsPattern("NCCL is [0-9.]+ times as slow as its rings allow here, by a model that was off by at"
                        + " most 2\\.2 times in published sweeps; the way through the host is in the model, so check"
                        + " the speeds that are assumed of links\\.")
                .doesNotContain("still rising");
    }

    @Test
    void callsWithoutKernelsArePredictedAsGraphsOfCopies() throws IOException {
        Path sweep = file("sweep.txt", HEADING + "67108864,20000\n");
        assertThat(diagnosed("--machine pcie-8 --sweeps " + sweep))
                .containsPattern(
                        "by the simulator, with .+ by graphs of copies, without a range; that is a prediction: ");
    }

    /** A ring crosses between the sockets twice, a chain once each way. */
    @Test
    void treesAreWorthTryingWhereSocketsLimitRings() throws IOException {
        Path topo = file("topo.txt", """
            \tGPU0\tGPU1\tGPU2\tGPU3
            GPU0\tX\tNODE\tSYS\tSYS
            GPU1\tNODE\tX\tSYS\tSYS
            GPU2\tSYS\tSYS\tX\tNODE
            GPU3\tSYS\tSYS\tNODE\tX
            """);
        String arguments = "--pcie-gen 4 --peer-access yes --machine " + topo + " --sweeps ";
        assertThat(diagnosed(arguments + file("sweep.txt", HEADING + "67108864,11000\n")))
                .contains("The machine is healthy: it does what can be expected of links as fast as they are assumed to"
                        + " be.")
                .contains("Worth trying: NCCL_ALGO=Tree: a guess: inside a machine its trees are chains, whose links"
                        + " carry 10 GB/s of an allreduce where those of rings carry 6.667 GB/s; keep it for the"
                        + " sizes that it helps.");
        assertThat(diagnosed(arguments + file("fast.txt", HEADING + "67108864,8000\n")))
                .doesNotContain("NCCL_ALGO");
        assertThat(diagnosed("--socket-gbs 60 " + arguments + file("wide.txt", HEADING + "67108864,11000\n")))
                .doesNotContain("NCCL_ALGO", "as they are assumed to be");
    }

    /** The profile of such NVLinks is that of V100. */
    @Test
    void nothingIsPredictedByConstantsOfOtherGpus() throws IOException {
        Path sweep = file("sweep.txt", HEADING + "67108864,4474\n");
        String model = ": NVIDIA GeForce RTX 2080 Ti (UUID: GPU-0)\n";
        Path cards = file("cards.txt", "GPU 0" + model + "GPU 1" + model + "GPU0 GPU1\nGPU0 X NV2\nGPU1 NV2 X\n");
        assertThat(diagnosed("--machine " + cards + " --sweeps " + sweep))
                .contains("the model's constants are of other GPUs or links")
                .doesNotContain("Banyan would take");
    }

    /** The model takes 3548 us. */
    @Test
    void theModelsShareIsNamedWhereNcclTakesLonger() throws IOException {
        Path sweep = file("sweep.txt", HEADING + "268435456,4293\n");
        assertThat(diagnosed("--machine p3.16xlarge --sweeps " + sweep))
                .contains("NCCL takes 21% more than its rings allow by the model here")
                .doesNotContain("NCCL does what");
    }

    /** GPU4 has NVLink to GPU0 alone, and so a ring crosses PCIe. */
    @Test
    void pairsOfARingWithoutNvlinkAreNamed() throws IOException {
        Path sweep = file("sweep.txt", HEADING + "268435456,60000\n");
        assertThat(diagnosed("--machine p3.16xlarge --devices 0,1,2,4 --sweeps " + sweep))
                .containsPattern(
                        "A ring of all devices crosses GPU[12]-GPU4 by PCIe, which has no NVLink; every byte of a"
                                + " ring passes there\\.");
    }

    @Test
    void slowLargeCallsLeadToSettings() throws Exception {
        Path sweep = file("sweep.txt", HEADING + "268435456,20000\n1073741824,60000\n");
        String out = diagnosed("--machine dgx-h100 --devices-per-process 1 --sweeps " + sweep);
        assertThat(out)
                .contains("NCCL is 14.5 times as slow as reduction in the switches allows here")
                .contains("which NCCL does not exceed: nothing shows that its switches reduce.")
                .contains("Worth trying: the same run with NCCL_DEBUG=INFO, and --log: a guess: ")
                .contains(
                        "Worth trying: NCCL_TOPO_FILE=topo.xml, as banyan topo --write nccl-xml writes it: a guess: ");
        Path fast = file("fast.txt", HEADING + "1073741824,3914\n");
        assertThat(diagnosed("--machine dgx-h100 --sweeps " + fast))
                .contains("At 1 GiB NCCL reaches 69% of what schedules over these links carry at most with reduction in"
                        + " the switches (400 GB/s of algbw; banyan bound says why).")
                .contains("Without reduction in the switches schedules carry at most 257.143 GB/s, which NCCL exceeds,"
                        + " so its switches reduce.")
                .contains("NCCL takes 6% less than reduction in the switches allows by the model here.")
                .contains("(110% of the bound without reduction in the switches)");
        Path host = file("host.txt", HEADING + "1073741824,300000\n");
        assertThat(diagnosed("--machine pcie-4 --devices 0,1 --transport host --sweeps " + host))
                .contains("through the host's memory\n")
                .contains("Worth trying: NCCL_P2P_LEVEL=SYS: ")
                .doesNotContain("Packed trees");
    }

    @Test
    void aLogSaysWhatNcclDid() throws Exception {
        Path sweep = file("sweep.txt", HEADING + "268435456,20000\n");
        Path log = file("nccl.log", """
            h:1:1 [0] NCCL INFO NCCL_P2P_DISABLE set by environment to 1
            NCCL version 2.21.5+cuda12.4
            h:1:2 [0] NCCL INFO comm 0x7f rank 0 nRanks 4 nNodes 1 localRanks 4 localRank 0 MNNVL 0
            h:1:2 [0] NCCL INFO P2P is disabled between connected GPUs 1 and 0. You can repress this message
            h:1:2 [0] NCCL INFO Channel 00/02 :    0   1   2   3
            h:1:2 [0] NCCL INFO Channel 01/02 :    0   1   2   3
            h:1:2 [0] NCCL INFO Channel 00 : 0[0] -> 1[1] via SHM/direct/direct
            h:1:2 [1] NCCL INFO Channel 00/0 : 1[1] -> 2[2] via P2P/CUMEM/read
            h:1:2 [0] NCCL INFO AllReduce: 1024 Bytes -> Algo 1 proto 0 time 10.2
            h:1:2 [0] NCCL INFO AllReduce: 4096 Bytes -> Algo 1 proto 0 time 10.8
            h:1:2 [0] NCCL INFO AllReduce: 8388608 Bytes -> Algo 1 proto 2 time 83.5
            """);
        String out = diagnosed("--machine p3.16xlarge --devices 0,1,2,4 --sweeps " + sweep + " --log " + log);
        assertThat(out)
                .contains("NCCL's rings cross GPU2-GPU4 by PCIe")
                .contains("NCCL 2.21.5, 4 ranks.\n")
                .contains("Its 2 channels go around 1 ring: 0-1-2-3 (2 channels).\n")
                .contains("1 pair of ranks sends peer to peer.\n")
                .contains("1 pair of ranks sends through the host's memory (SHM): 0->1.\n")
                .contains("The driver refuses peer access between GPU0-GPU1, so that data go through the host.\n")
                .contains("The environment sets NCCL_P2P_DISABLE=1.\n")
                .contains("NCCL chose Ring/LL from 1 KiB on, Ring/Simple from 8 MiB on.\n")
                .contains("Worth trying: unset NCCL_P2P_DISABLE: it takes all data through the host's memory.\n")
                .doesNotContain("No setting of NCCL is likely to help");
        CommandRun json = CommandRun.of(
                "diagnose --format json --machine p3.16xlarge --devices 0,1,2,4 --sweeps " + sweep + " --log " + log);
        JsonNode report = json.json();
        assertThat(report.at("/rows/0/rows")).hasSize(1);
        assertThat(report.at("/rows/0/rows/0/share").asDouble())
                .isCloseTo(268.435456 / 20 / report.at("/rows/0/boundGBs").asDouble(), within(1e-9));
        assertThat(report.at("/log/worthTrying").findValuesAsText("change")).contains("no setting of NCCL");
        assertThat(CommandRun.of("diagnose --sweeps " + sweep + " --machine dgx-2 --log " + sweep)
                        .err())
                .contains("holds nothing that NCCL prints; run the program with NCCL_DEBUG=INFO");
    }

    /** The page in the documents quotes the command on two of the published sweeps. */
    @Test
    void thePageIsUpToDate() throws IOException {
        Path sweeps = Path.of(System.getProperty("banyan.shared", ""), "figures", "nccl_tests");
        assumeTrue(Files.isDirectory(sweeps), () -> sweeps + " is not there; it is in the folder /shared/");
        String page = Files.readString(Path.of("..", "docs", "nccl.md"));
        assertThat(page).containsOnlyOnce(BEGIN).containsOnlyOnce(END);
        String quoted = page.substring(page.indexOf(BEGIN) + BEGIN.length(), page.indexOf(END));
        assertThat(diagnosed("--sweeps " + sweeps)).contains(quoted.split("\n(?=# )"));
    }
}

package dev.banyan.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ExportCommandTest {
    @TempDir
    private Path folder;

    @Test
    void aGraphFileIsWrittenAndReadBack() {
        Path file = folder.resolve("graph.xml");
        CommandRun written = CommandRun.of("export --for nccl -m p3.16xlarge -o " + file);
        assertThat(written.err()).isEmpty();
        assertThat(written.out())
                .contains(
                        "6 channels of 25 GB/s around 4 one-way rings (2 and their reverses) between 8 GPUs",
                        "150 GB/s busbw",
                        "# to try it all the same: export NCCL_GRAPH_FILE=" + file);
        CommandRun read = CommandRun.of("compare -m p3.16xlarge --schedule " + file);
        assertThat(read.out())
                .containsPattern("nccl file rings +85.714 +1.000 +- +7 +4")
                .containsPattern("nccl file trees +75.000 +0.875 +- +7 +")
                .contains("graph.xml, 6 channels");
        CommandRun other = CommandRun.of("compare -m p3.16xlarge --devices 0-3 --schedule " + file);
        assertThat(other.status()).isNotZero();
        assertThat(other.err()).contains("is for the devices [0, 1, 2, 3, 4, 5, 6, 7]", "--devices");
    }

    @Test
    void fewerRingsAreFewerChannels() {
        CommandRun one = CommandRun.of("export --for nccl -m p3.16xlarge --rings 1");
        assertThat(one.out()).contains("nchannels=\"1\"").containsOnlyOnce("<graph id=\"0\"");
        assertThat(one.err())
                .contains("1 channel of 50 GB/s between 8 GPUs", "1 channel of equal shares: 66.7% less than the 85.7");
        CommandRun three = CommandRun.of("export --for nccl -m p3.16xlarge --rings 3");
        assertThat(three.out()).contains("nchannels=\"2\"");
        assertThat(CommandRun.of("export --for rccl -m mi250x8 --devices 0-7 --rings 1")
                        .out()
                        .lines())
                .first()
                .asString()
                .matches("export NCCL_RINGS=\"\\d+( \\d+){7}\"");
    }

    @Test
    void plansHaveTheTreesOfTheNamedGenerator() throws IOException {
        String export = "export --for mscclpp -m p3.16xlarge -a single-tree --trees ";
        assertThat(CommandRun.of(export + "shallow").err()).contains("25 GB/s algbw by the links, trees of depth 2");
        assertThat(CommandRun.of(export + "exact").err()).contains("25 GB/s algbw by the links, trees of depth 3");
        assertThat(CommandRun.of("export --for mscclpp -m p3.16xlarge -a ring --trees exact")
                        .err())
                .contains("--trees goes with -a single-tree or multi-tree");
    }

    @Test
    void withoutAFileRemarksGoToStandardError() {
        CommandRun run = CommandRun.of("export --for nccl -m pcie-8 --devices 0-3,5 --nccl 2.27.5");
        assertThat(run.status()).isZero();
        assertThat(run.out())
                .startsWith("<graphs version=\"1\">")
                .endsWith("</graphs>\n")
                .contains("dev=\"0x5\"");
        assertThat(run.err()).contains("Expected gain of large allreduces", "$PWD/graph.xml", "NCCL_P2P_LEVEL=SYS");
    }

    @Test
    void treesOfTheFileCountWhereSocketsLimitRings(@TempDir Path folder) throws IOException {
        Path topo = Files.writeString(folder.resolve("topo.txt"), """
            \tGPU0\tGPU1\tGPU2\tGPU3
            GPU0\tX\tNODE\tSYS\tSYS
            GPU1\tNODE\tX\tSYS\tSYS
            GPU2\tSYS\tSYS\tX\tNODE
            GPU3\tSYS\tSYS\tNODE\tX
            """);
        assertThat(CommandRun.of("export --for nccl --pcie-gen 4 --pcie-lanes 16 --peer-access yes --machine " + topo)
                        .err())
                .contains(
                        "by the links 6.667 GB/s algbw",
                        "by the file's speeds it counts 9.2 GB/s of algbw for trees, and 6.667 GB/s for rings\n",
                        "trees are chains inside a machine: by the links 10 GB/s algbw")
                .contains(
                        "(add lscpu's lines Architecture, Vendor ID, CPU family and Model to the file, or state what"
                                + " you know by --socket-gbs)",
                        "as it counts 6 to 40 GB/s between two NUMA nodes, by the CPU (add lscpu's lines Vendor ID,"
                                + " CPU family and Model to the description, or state it by --nccl-socket-gbs); this"
                                + " count does not limit what they carry\n",
                        "NCCL's own rings probably reach 6.35 GB/s of algbw, 9.5 of busbw, by the model of banyan"
                            + " predict (the links carry up to 6.667 GB/s of algbw, but copies that share a link lose"
                            + " a part)\n",
                        "less 8% for trees, as NCCL's tuner counts, and not measured: 1.45 times\n");
        assertThat(CommandRun.of("export --for nccl --pcie-gen 4 --socket-gbs 20 --peer-access yes --machine " + topo)
                        .err())
                .as("PCIe, of which copies reach a part, limits trees")
                .contains(
                        "NCCL's own rings probably reach 10.00 to 12.70 GB/s of algbw, 15.0 to 19.0 of busbw: at most"
                                + " as",
                        "measured: 1.05 times if they reach 12.70, and up to 1.33 times if they reach 10.00\n");
        assertThat(CommandRun.of("export --for nccl --pcie-gen 4 --socket-gbs 60 --peer-access yes --machine " + topo)
                        .err())
                .doesNotContain("trees")
                .contains("measured: 1.00 times if they reach 14.48, and up to 1.45 times if they reach 10.00\n");
        String cpu = "Vendor ID: GenuineIntel\nCPU family: 6\nModel: 106\n";
        Files.writeString(topo, Files.readString(topo) + cpu);
        assertThat(CommandRun.of("export --for nccl --pcie-gen 4 --socket-gbs 60 --peer-access yes --machine " + topo)
                        .err())
                .contains("as it counts 10 GB/s between two NUMA nodes of this CPU; this count does not limit what they"
                        + " carry\n");
        Files.writeString(
                topo,
                Files.readString(topo).replace("GenuineIntel", "AuthenticAMD").replace("family: 6", "family: 25"));
        assertThat(CommandRun.of("export --for nccl --pcie-gen 4 --socket-gbs 60 --peer-access yes --machine " + topo)
                        .err())
                .contains(
                        " before NCCL 2.31, and ", " from 2.31 on, as it counts 16 and 24 GB/s between two NUMA nodes");
    }

    /** From either of two GPUs their ring is the same. */
    @Test
    void ringsAreCountedOnce(@TempDir Path folder) throws IOException {
        Path pair = Files.writeString(folder.resolve("pair.txt"), "GPU0 GPU1\nGPU0 X NV12\nGPU1 NV12 X\n");
        assertThat(CommandRun.of("export --for nccl --force --machine " + pair).err())
                .contains(
                        "12 channels of 25 GB/s around 1 one-way ring between 2 GPUs",
                        "No gain of this file is to be expected: 2 GPUs");
        assertThat(CommandRun.of("export --for nccl --machine " + pair).err())
                .contains("nothing is written: 2 GPUs form a single ring");
        assertThat(CommandRun.of("export --for rccl -m mi300x8 --devices 0,1").status())
                .isZero();
        Path three = Files.writeString(
                folder.resolve("three.txt"), "GPU0 GPU1 GPU2\nGPU0 X NV12 PHB\nGPU1 NV12 X PHB\nGPU2 PHB PHB X\n");
        assertThat(CommandRun.of("export --for nccl -m " + three).err())
                .as("chains of the only ring carry more than the ring")
                .contains("Expected gain of large allreduces by the file's trees over NCCL's own rings with"
                        + " NCCL_P2P_LEVEL=SYS, predicted by what copies reach of the links' speeds, stated or"
                        + " assumed, less 8% for trees, as NCCL's tuner counts, and not measured: 1.29 times");
        assertThat(CommandRun.of("compare -m " + three).out())
                .contains("\n  nccl (exported file) ", "Without the file NCCL takes rings, or trees by NCCL_ALGO=Tree");
    }

    @Test
    void mscclppIsNamedWhereItsPlansCanRun(@TempDir Path folder) throws IOException {
        String cards = "GPU0 GPU1\nGPU0 X PHB\nGPU1 PHB X\n";
        Path host = Files.writeString(folder.resolve("host.txt"), "GPU 0,1: NVIDIA GeForce RTX 5090\n" + cards);
        assertThat(CommandRun.of("export --for nccl --machine " + host).err())
                .contains("(--force writes the file all the same)");
        Path peers = Files.writeString(folder.resolve("peers.txt"), "GPU 0,1: NVIDIA GeForce RTX 3090\n" + cards);
        assertThat(CommandRun.of("export --for nccl --machine " + peers).err())
                .contains("(--force writes the file all the same; --for mscclpp --folder plans writes plans for"
                        + " MSCCL++)");
    }

    @Test
    void aroundSwitchesNothingIsWrittenUnlessForced() {
        CommandRun run = CommandRun.of("export --for nccl -m dgx-a100");
        assertThat(run.status()).isNotZero();
        assertThat(run.out()).isEmpty();
        assertThat(run.err()).contains("nothing is written: every ring is as good", "--force");
        CommandRun forced = CommandRun.of("export --for nccl -m dgx-a100 --force");
        assertThat(forced.out()).startsWith("<graphs");
        assertThat(forced.err()).contains("No gain of this file is to be expected: every ring is as good");
    }

    @Test
    void ringsThatLeaveNvlinkAreNamed() throws IOException {
        Path file = folder.resolve("graph.xml");
        Files.writeString(file, """
            <graphs version="1">
              <graph id="0" pattern="4" nchannels="1" speedintra="20" typeintra="NVL">
                <channel>
                  <gpu rank="0" dev="0"/>
                  <gpu rank="1" dev="1"/>
                  <gpu rank="4" dev="4"/>
                  <gpu rank="6" dev="6"/>
                </channel>
              </graph>
            </graphs>
            """);
        assertThat(CommandRun.of("compare -m p3.16xlarge --devices 0,1,4,6 --schedule " + file)
                        .out())
                .contains("channel 0 crosses GPU1-GPU4 by PCIe", "Banyan's rings carry");
    }

    @Test
    void variablesOfRcclAreLinesForAShell() {
        CommandRun run = CommandRun.of("export --for rccl -m mi250x8");
        assertThat(run.out().lines().toList()).hasSize(2).first().asString().startsWith("export NCCL_RINGS=\"0 1 ");
        assertThat(run.out()).contains("# export RCCL_TREES=\"(");
        assertThat(run.err()).contains("\n# No gain is known: RCCL has rings of its own", "\nsource $PWD/rings.sh\n");
        assertThat(CommandRun.of("export --for rccl -m mi250x8 --devices 2-7").out())
                .doesNotContain("RCCL_TREES");
    }

    @Test
    void aSetOfPlansIsWrittenWithItsPython() throws IOException {
        Path plans = folder.resolve("plans");
        CommandRun run = CommandRun.of("export --for mscclpp -m p3.16xlarge --folder " + plans);
        assertThat(run.status()).isZero();
        assertThat(run.out())
                .contains(
                        "256 equal chunks lose 0.4%",
                        "NCCL's best rings carry 85.714 GB/s by the links: expect no gain for long calls",
                        "no such plan has run on a GPU yet");
        assertThat(Files.readString(plans.resolve("banyan_plans.py")))
                .contains("def register(rank):", "\"packing.json\"", "request.world_size == 8")
                // NCCL carries longer calls that the second plan does not fit.
                .containsPattern("\"single-tree.json\", .*, 16, 262143, 16\\)");
        CommandRun read = CommandRun.of("compare -m p3.16xlarge --schedule " + plans.resolve("single-tree.json")
                + " --schedule " + plans.resolve("packing.json"));
        assertThat(read.err()).isEmpty();
        assertThat(read.out())
                .contains("banyan-p3-16xlarge-single-tree-all_reduce", "banyan-p3-16xlarge-packing-all_reduce")
                // A plan has no depth of trees.
                .containsPattern("\n  banyan-p3-16xlarge-packing-all_reduce-\\w+ +85[0-9.]+ +[0-9.]+ +- +- +- +-\n");
    }

    @Test
    void plansNeedPeerAccess() throws IOException {
        Path plans = folder.resolve("refused");
        CommandRun run = CommandRun.of("export --for mscclpp -m rtx4090x8 --folder " + plans);
        assertThat(run.status()).isNotZero();
        assertThat(run.err())
                .matches("banyan: MSCCL\\+\\+ needs peer access, and GPU\\d and GPU\\d have none; let NCCL carry the"
                        + " calls, which goes through the host's memory, or name other GPUs by --devices\n");
        assertThat(plans).doesNotExist();
        // Each of the pairs without NVLink is refused, and no tree needs one.
        Path links = Files.writeString(folder.resolve("pairs.txt"), """
            \tGPU0\tGPU1\tGPU2
            GPU0\t X \tNV2\tSYS
            GPU1\tNV2\t X \tNV2
            GPU2\tSYS\tNV2\t X
             \tGPU0\tGPU1\tGPU2
             GPU0\tX\tOK\tTNS
             GPU1\tOK\tX\tOK
             GPU2\tTNS\tOK\tX
            """);
        assertThat(CommandRun.of("export --for mscclpp -a packing -m " + links).status())
                .isZero();
        assertThat(CommandRun.of("export --for mscclpp -a ring -m " + links).err())
                .contains("GPU0 and GPU2 have none");
    }

    /** Behind an NVSwitch the packed trees are stars, and a single balanced tree would only take longer. */
    @Test
    void theFastestPlanComesFirstWhereItIsLessDeep() throws IOException {
        Path plans = folder.resolve("stars");
        assertThat(CommandRun.of("export --for mscclpp -m dgx-a100 --folder " + plans)
                        .out())
                .contains("trees of depth 1", "wrote 2 plans", "takes the second plan where the first does not fit");
        assertThat(Files.readString(plans.resolve("banyan_plans.py")))
                .containsPattern("\"packing.json\", .*, 128, 383[0-9]+, 128\\),\n"
                        + " +\\(\"single-tree.json\", .*, 16, 223[0-9]+, 16\\)");
    }

    @Test
    void onePlanGoesToStandardOutput() {
        String export = "export --for mscclpp -m p3.8xlarge -a ring --collective ";
        assertThat(CommandRun.of(export + "broadcast --root 2").out()).startsWith("{\"name\":\"banyan-p3-8xlarge-ring");
        assertThat(CommandRun.of(export + "reduce_scatter --out-of-place").out())
                .contains("\"collective\":\"reducescatter\"", "\"inplace\":false");
        assertThat(CommandRun.of("export --for mscclpp -m dgx-2 -a packing").err())
                .contains("more than 9 children");
    }

    @Test
    void aFileInPlaceOfAFolderIsNamed() throws IOException {
        Path file = Files.createFile(folder.resolve("file"));
        CommandRun run = CommandRun.of("export --for mscclpp -m p3.8xlarge --folder " + file);
        assertThat(run.status()).isEqualTo(1);
        assertThat(run.err()).contains(file + " is a file, where a folder is needed; name another one");
    }

    /** GeForce cards from series 40 on have no peer access. */
    @Test
    void ringsThroughTheHostPromiseNoGain() {
        assertThat(CommandRun.of("export --for nccl -m rtx4090x8").err())
                .contains("Copies between GPUs without peer access go through the host's memory: no gain of these rings"
                        + " is known\n")
                .doesNotContain("Expected gain", "NCCL_P2P_LEVEL");
        assertThat(CommandRun.of("export --for nccl -m rtx4090x8 --devices 0-3").err())
                .contains("go through the host's memory: no gain of this file is to be expected, as NCCL's own search"
                        + " probably finds rings as fast within a CPU socket\n");
        assertThat(CommandRun.of("export --for nccl -m pcie-8").err()).contains("Expected gain", "NCCL_P2P_LEVEL");
    }
}

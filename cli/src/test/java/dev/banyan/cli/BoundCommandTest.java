package dev.banyan.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.banyan.topology.internal.pcie.PcieHierarchy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** {@code banyan bound}: it must be what the packings are measured by. */
class BoundCommandTest {
    private static JsonNode json(String arguments) throws Exception {
        CommandRun run = CommandRun.of(arguments + " --format json");
        assertThat(run.status()).as(run.err()).isZero();
        return new ObjectMapper().readTree(run.out());
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
        --machine p3.16xlarge                                         | 600/7 | 150 | 1200/7
        --machine dgx-2                                               | 80    | 150 | 160
        --machine pcie-8                                              | 48/7  | 10  | 96/7
        --machine p3.16xlarge --devices 0,1,2,4 --relays others       | 100   | 150 | 200
        """)
    void isExactAndExplained(String arguments, String allReduce, String rooted, String gathered) throws Exception {
        JsonNode rows = json("bound " + arguments).get("rows");
        for (JsonNode row : rows) {
            String collective = row.get("collective").asText();
            assertThat(row.get("bound").asText())
                    .as(collective)
                    .isEqualTo(
                            switch (collective) {
                                case "all_reduce" -> allReduce;
                                case "reduce", "broadcast" -> rooted;
                                default -> gathered;
                            });
            assertThat(row.get("certificate").get("sentence").asText()).contains("GB/s");
            JsonNode packed = json("trees -a packing " + arguments + " --collective " + collective);
            assertThat(packed.get("bound").asText())
                    .as(collective)
                    .isEqualTo(row.get("bound").asText());
        }
        assertThat(rows).hasSize(5);
    }

    @Test
    void busbwIsThatOfNcclTests() throws Exception {
        JsonNode row = json("bound --machine dgx-h100").get("rows").get(0);
        assertThat(row.get("busbwGBs").asDouble()).isCloseTo(450, within(1e-9));
    }

    @Test
    void tableNamesEveryCollectiveAndItsReason() {
        CommandRun run = CommandRun.of("bound --machine p3.16xlarge --root 3");
        assertThat(run.status()).as(run.err()).isZero();
        assertThat(run.out())
                .contains("# p3.16xlarge: rates that no schedule between its 8 devices can exceed")
                .contains(
                        "# PCIe is counted as NCCL counts it (12 GB/s one way for 16 lanes of 8 GT/s, 15.754 GB/s raw);"
                                + " on some machines copies are faster, and measured rates may exceed bounds"
                                + " through PCIe\n# No peer access between 12 pairs of devices (banyan topo names")
                .contains("# broadcast (NVLink): all data must leave {3} over links of 150 GB/s in all");
        assertThat(run.out().toLowerCase(Locale.ROOT)).contains("busbw");
    }

    @Test
    void boundsOfLinksOfSeveralKindsAreDerived() {
        assertThat(CommandRun.of("bound --machine p3.8xlarge").out())
                .contains("GPU2-GPU3 and the links of all 4 GPUs: 450 * 1/6 + 96 * 1/12 = 83 GB/s (speeds of these"
                        + " links both ways, with the weights of a linear program)\n");
    }

    @ParameterizedTest
    @CsvSource({"bound, true, true", "compare, false, true", "predict -b 1M -e 1M -a ring, false, true"})
    void ratesOfPcieStandBesideBoundsThatCountThem(String command, boolean besideNvlink, boolean alone) {
        String remark = "\n# PCIe is counted as NCCL counts it";
        assertThat(CommandRun.of(command + " --machine p3.16xlarge").out().contains(remark))
                .isEqualTo(besideNvlink);
        assertThat(CommandRun.of(command + " --machine pcie-8").out().contains(remark))
                .isEqualTo(alone);
    }

    @Test
    void ratesOfPcieAreNamedWhereTheyAreCounted(@TempDir Path folder) throws Exception {
        assertThat(json("bound --machine pcie-8").at("/rates/0").asText())
                .startsWith("PCIe is counted as NCCL counts it");
        assertThat(json("bound --machine mi300x8 --devices 0,1").has("rates")).isTrue();
        Path matrix = Files.writeString(folder.resolve("m.txt"), "0 13 12\n13 0 11\n12 11 0\n");
        assertThat(json("bound --unit gbs --machine " + matrix).has("rates")).isFalse();
    }

    @Test
    void narrowSlotsHalveTheBound(@TempDir Path folder) throws Exception {
        Path table = Files.writeString(
                folder.resolve("topo.txt"),
                "GPU 0: NVIDIA GeForce RTX 5090 (UUID: GPU-1)\n\tGPU0\tGPU1\nGPU0\t X \tPHB\nGPU1\tPHB\t X \n");
        assertThat(json("bound --machine " + table)
                        .get("rows")
                        .get(0)
                        .get("bound")
                        .asText())
                .isEqualTo("48");
        assertThat(json("bound --pcie-lanes 8 --machine " + table)
                        .get("rows")
                        .get(0)
                        .get("bound")
                        .asText())
                .isEqualTo("24");
        CommandRun full = CommandRun.of("bound --machine " + table);
        assertThat(full.out() + full.err())
                .contains("assumed: 16 lanes of PCIe for each GPU")
                .contains("(state what you know by --pcie-lanes)");
        assertThat(CommandRun.of("bound --pcie-lanes 17 --machine " + table).err())
                .contains("17 lanes are no width of PCIe; take 1, 2, 4, 8, 12 or 16");
    }

    @Test
    void switchesThatReduceHaveABoundOfTheirOwn() throws Exception {
        JsonNode row = json("bound --machine dgx-h100").get("rows").get(0);
        assertThat(row.get("counted").asText()).isEqualTo("NVLink, no reduction in switches");
        assertThat(row.get("bound").asText()).isEqualTo("1800/7");
        JsonNode reduced = row.get("beyond").get(0);
        assertThat(reduced.get("counted").asText()).isEqualTo("NVLink, with reduction in switches");
        assertThat(reduced.get("bound").asText()).isEqualTo("400");
        assertThat(reduced.get("busbwGBs").asDouble()).isCloseTo(700, within(1e-9));
        assertThat(reduced.get("certificate").get("kind").asText()).isEqualTo("prices");
        assertThat(row.get("switchGBs").asDouble()).isEqualTo(400);
        assertThat(CommandRun.of("bound --machine dgx-h100").out())
                .contains("all_reduce (NVLink, with reduction in switches): limited by the links of all 8 GPUs to"
                        + " NVSwitch")
                .contains("all_reduce (all links, no reduction in switches): limited by the links of all 8 GPUs: each"
                        + " GPU has 498 GB/s each way")
                .contains("all_reduce by packing in the switch")
                .contains(": 400 GB/s, 1.000 of the bound (NVLink, with reduction in switches)");
        assertThat(json("bound --machine dgx-h100 --devices 0,1,2,3")
                        .get("rows")
                        .get(0)
                        .get("beyond")
                        .get(0)
                        .get("bound")
                        .asText())
                .isEqualTo("360");
        // Three devices gain nothing.
        assertThat(CommandRun.of("bound --machine dgx-h100 --devices 0-2").out())
                .doesNotContain("in the switch:");
        JsonNode all = row.get("beyond").get(2);
        assertThat(all.get("counted").asText()).isEqualTo("all links, with reduction in switches");
        assertThat(all.get("algbwGBs").asDouble()).isGreaterThan(400);
        for (JsonNode other : json("bound --machine dgx-h100").get("rows")) {
            if (!other.get("collective").asText().equals("all_reduce")) {
                assertThat(other.get("beyond"))
                        .as(other.get("collective").asText())
                        .hasSize(1);
            }
        }
        assertThat(CommandRun.of("bound --machine dgx-a100").out()).doesNotContain("reduction in switches");
        assertThat(CommandRun.of("predict -b 1M -e 1M --machine dgx-h100 --devices 0-3")
                        .out())
                .contains(
                        "at no more than 360 GB/s algbw (NVLink, with reduction in switches). Share of that at 1 MiB:")
                .contains("# bound (NVLink, no reduction in switches): ");
        for (String command : new String[] {"compare", "trees -a packing", "trees"}) {
            assertThat(CommandRun.of(command + " --machine dgx-h100 --devices 0-3")
                            .out())
                    .as(command)
                    .contains("no reduction in switches")
                    .containsPattern("bound \\(NVLink, with reduction in switches\\): (.* = )?360 GB/s");
        }
    }

    @Test
    void noLinkIsLeftOutSilently(@TempDir Path folder) throws Exception {
        Path matrix = Files.writeString(folder.resolve("matrix.txt"), "0 50 12\n50 0 50\n12 50 0\n");
        JsonNode row = json("bound --unit gbs --machine " + matrix).get("rows").get(0);
        assertThat(row.get("bound").asText()).isEqualTo("56");
        assertThat(row.has("beyond")).isFalse();
        assertThat(row.has("counted")).isFalse();

        JsonNode p3 = json("bound --machine p3.16xlarge");
        for (JsonNode each : p3.get("rows")) {
            JsonNode all = each.get("beyond").get(0);
            assertThat(each.get("counted").asText()).isEqualTo("NVLink");
            assertThat(all.get("counted").asText()).isEqualTo("all links");
            assertThat(all.get("algbwGBs").asDouble())
                    .isGreaterThan(each.get("algbwGBs").asDouble());
        }
        assertThat(CommandRun.of("compare --machine p3.8xlarge").out()).contains("# bound (all links): ");
    }

    @Test
    void assumedSpeedsArePrintedAndReplaced(@TempDir Path folder) throws Exception {
        Path topo = Files.writeString(
                folder.resolve("topo.txt"),
                CommandRun.of("topo -m h200 --write topo").out());
        for (String command : new String[] {"topo", "trees", "bound", "compare", "predict -b 1M -e 1M -a ring"}) {
            // One switch joins all GPUs, so that nothing but a bound over all links counts links between sockets.
            assertThat(CommandRun.of(command + " --machine " + topo).out().lines())
                    .as(command)
                    .filteredOn(line -> line.startsWith("# assumed: "))
                    .singleElement()
                    .asString()
                    .contains("25 GB/s one way per NVLink", "--nvlink-gbs")
                    .matches(line -> line.contains("10 GB/s between CPU sockets") == command.equals("bound"));
            assertThat(json(command + " --machine " + topo).at("/machine/assumed"))
                    .as(command)
                    .hasSize(4);
        }
        assertThat(CommandRun.of("bound --machine " + topo).out())
                .contains("rates that no schedule between its 8 devices can exceed, if the assumptions are right");
        assertThat(json("bound --gpu B200 --machine " + topo)
                        .get("rows")
                        .get(0)
                        .get("bound")
                        .asText())
                .isEqualTo("3600/7");
        assertThat(json("bound --nvlink-gbs 50 --pcie-gen 5 --pcie-lanes 16 --machine " + topo)
                        .at("/machine/assumed"))
                .extracting(JsonNode::asText)
                .containsExactly("10 GB/s between CPU sockets", PcieHierarchy.HIDDEN);
        assertThat(CommandRun.of("bound --nvlink-gbs 50 --pcie-gen 5 --pcie-lanes 16 --socket-gbs 60 --machine " + topo)
                        .out())
                .contains("\n# assumed: " + PcieHierarchy.HIDDEN
                        + "; no other speed is assumed (state"
                        + " what you know by the JSON of topo --write json)\n");
        assertThat(CommandRun.of("bound --pcie-gen 4 --machine dgx-2").err()).contains("the preset dgx-2 knows");
        assertThat(CommandRun.of("bound --pcie-gen 9 --machine " + topo).err()).contains("take 3 to 7");
        assertThat(CommandRun.of("bound --gpu Voodoo --machine " + topo).err()).contains("\"Voodoo\" is not known");
    }

    /** NVLinks join all pairs, so that only a bound over all links counts what joins CPUs. */
    @Test
    void cpusDecideNothingWherePairsHaveLinks(@TempDir Path folder) throws Exception {
        String model = ": NVIDIA A100-SXM4-40GB\n";
        Path topo = Files.writeString(
                folder.resolve("topo.txt"), "GPU 0" + model + "GPU 1" + model + "GPU 2" + model + """
                    \tGPU0\tGPU1\tGPU2\tCPU Affinity\tNUMA Affinity
                    GPU0\t X \tNV4\tNV4\t48-63\t3
                    GPU1\tNV4\t X \tNV4\t32-47\t2
                    GPU2\tNV4\tNV4\t X \t16-31\t1
                    """);
        for (String command : new String[] {"topo", "trees", "compare", "predict -b 1M -e 1M -a ring"}) {
            assertThat(CommandRun.of(command + " --machine " + topo).out())
                    .as(command)
                    .doesNotContain("# assumed");
        }
        assertThat(CommandRun.of("bound --machine " + topo).out())
                .contains("# assumed: 10 GB/s between CPU sockets; two CPUs with half of the NUMA nodes each");
    }

    /** No GPU is behind another socket, and two pairs have peer access over PCIe alone. */
    @Test
    void onlyAssumptionsThatDecideSomethingArePrinted(@TempDir Path folder) throws Exception {
        String table = """
            GPU 0: NVIDIA RTX A6000
            GPU 1: NVIDIA RTX A6000
            GPU 2: NVIDIA RTX A6000
            GPU 3: NVIDIA RTX A6000
            \tGPU0\tGPU1\tGPU2\tGPU3\tNIC0\tCPU Affinity\tNUMA Affinity
            GPU0\t X \tNV4\tNODE\tNODE\tSYS\t0-31\t0
            GPU1\tNV4\t X \tNODE\tNODE\tSYS\t0-31\t0
            GPU2\tNODE\tNODE\t X \tNV4\tSYS\t0-31\t0
            GPU3\tNODE\tNODE\tNV4\t X \tSYS\t0-31\t0
            NIC0\tSYS\tSYS\tSYS\tSYS\t X \t\t
            """;
        Path topo = Files.writeString(folder.resolve("topo.txt"), table);
        for (String command : new String[] {"topo", "trees", "bound", "compare", "predict -b 1M -e 1M -a ring"}) {
            assertThat(CommandRun.of(command + " --machine " + topo).out())
                    .as(command)
                    .contains("# assumed: 16 lanes of PCIe for each GPU; " + PcieHierarchy.HIDDEN
                            + "; peer access over PCIe (nvidia-smi topo -p2p r shows whether GPUs have it;"
                            + " --peer-access no if they don't); no other speed is assumed (state what you know"
                            + " by --pcie-lanes or the JSON of topo --write json)\n")
                    .doesNotContain("sockets;");
            assertThat(CommandRun.of(command + " --peer-access yes --machine " + topo)
                            .out())
                    .as(command)
                    .contains("# assumed: 16 lanes of PCIe for each GPU; " + PcieHierarchy.HIDDEN + "; no other speed");
            assertThat(CommandRun.of(command + " --devices 0,1 --machine " + topo)
                            .out())
                    .as(command)
                    .doesNotContain("peer access over PCIe")
                    .matches(out -> out.contains("# assumed: 16 lanes of PCIe for each GPU; " + PcieHierarchy.HIDDEN
                                    + "; no other speed")
                            == command.equals("bound"));
        }
        assertThat(CommandRun.of("bound --machine " + topo).out())
                .contains("all_reduce: limited by the links of GPU2, GPU3 to the others: 48 GB/s\n");
        assertThat(CommandRun.of("compare --machine " + topo).out())
                .containsPattern("\n  nccl \\(exported file\\) +48\\.000 +1\\.000 +[0-9.]+ +3 +- +-\n");
        assertThat(CommandRun.of("predict -b 1M -e 1M -a ring,nccl --machine " + topo)
                        .out())
                .contains(
                        "No range is known, since here NCCL goes peer to peer over PCIe, as it did in none of the"
                                + " sweeps",
                        "# no size has a certain winner: no range is known\n");
        Path stated = Files.writeString(folder.resolve("stated.txt"), table + """

             \tGPU0\tGPU1\tGPU2\tGPU3
             GPU0\tX\tOK\tOK\tOK
             GPU1\tOK\tX\tOK\tOK
             GPU2\tOK\tOK\tX\tOK
             GPU3\tOK\tOK\tOK\tX

            Legend:

              X    = Self
              OK   = Status Ok
            """);
        assertThat(CommandRun.of("bound --machine " + stated).out())
                .contains("# assumed: 16 lanes of PCIe for each GPU; " + PcieHierarchy.HIDDEN + "; no other speed");
    }

    /** The PCIe of a GPU counts as one link, whichever of its parts the linear program prices. */
    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
        g5.48xlarge  | limited by the links of all 8 GPUs: each GPU has 24 GB/s each way and must send and receive 7/4 bytes on average for each byte of data: 24 * 4/7 = 13.714 GB/s
        pcie-8       | limited by the links of all 8 GPUs: each GPU has 12 GB/s each way and must send and receive 7/4 bytes on average for each byte of data: 12 * 4/7 = 6.857 GB/s
        dgx-a100     | limited by the links of all 8 GPUs to NVSwitch: each GPU has 300 GB/s each way and must send and receive 7/4 bytes on average for each byte of data: 300 * 4/7 = 171.429 GB/s
        mi300x8      | cut into single GPUs: the links between them carry 1792 GB/s each way in all, and each byte must cross 7 times: 1792/7 = 256 GB/s
        """)
    void certificatesNameTheLinksThatLimit(String machine, String sentence) throws Exception {
        JsonNode certificate =
                json("bound --machine " + machine).get("rows").get(0).get("certificate");
        assertThat(certificate.get("sentence").asText()).isEqualTo(sentence);
        if (certificate.get("kind").asText().equals("prices")) {
            assertThat(certificate.get("prices")).isNotEmpty();
        }
    }

    /** Copies below a switch go up to the socket and down again, for Banyan's algorithms and for NCCL. */
    @Test
    void withoutPeerAccessTheUplinksOfSwitchesLimit(@TempDir Path folder) throws Exception {
        Path topo = Files.writeString(folder.resolve("topo.txt"), """
            \tGPU0\tGPU1\tGPU2\tGPU3
            GPU0\tX\tPIX\tPHB\tPHB
            GPU1\tPIX\tX\tPHB\tPHB
            GPU2\tPHB\tPHB\tX\tPIX
            GPU3\tPHB\tPHB\tPIX\tX
            """);
        String machine = " --pcie-gen 4 --machine " + topo;
        assertThat(CommandRun.of("bound --peer-access yes" + machine).out())
                .contains(
                        "# all_reduce: limited by the links of all 4 GPUs: each GPU has 24 GB/s each way and must send"
                                + " and receive 3/2 bytes on average for each byte of data: 24 * 2/3 = 16 GB/s\n");
        assertThat(CommandRun.of("bound --peer-access no" + machine).out())
                .contains("# all_reduce: limited by the two uplinks of socket0 (from switch0, switch1): 8 GB/s\n");
        assertThat(CommandRun.of("compare --peer-access no" + machine).out())
                .containsPattern("\n  ring +8\\.000 +1\\.000 ")
                .containsPattern("\n  nccl +8\\.000 +1\\.000 ");
    }

    /** Three switches of two GPUs: the sum of the narrow uplinks limits, or else the only narrow one. */
    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
        3  | the three uplinks of socket 0 (from switch 0, switch 1, switch 2): 2.25 GB/s
        24 | the uplink of switch 1 to socket 0: 3 GB/s
        """)
    void uplinksThatLimitAreNamed(int othersGbs, String limiting, @TempDir Path folder) throws Exception {
        List<String> devices = new ArrayList<>();
        List<String> hubs = new ArrayList<>(List.of("{ \"name\": \"socket 0\", \"kind\": \"cpu-socket\" }"));
        List<String> links = new ArrayList<>();
        for (int device = 0; device < 6; device++) {
            devices.add("{ \"name\": \"GPU" + device + "\" }");
            links.add(link(7 + device / 2, device, 24));
        }
        for (int hub = 0; hub < 3; hub++) {
            hubs.add("{ \"name\": \"switch " + hub + "\", \"kind\": \"pcie-switch\" }");
            links.add(link(6, 7 + hub, hub == 1 ? 3 : othersGbs));
        }
        Path file = Files.writeString(
                folder.resolve("narrow.json"),
                "{ \"banyan\": 1, \"name\": \"narrow\", \"devices\": " + devices + ", \"hubs\": " + hubs
                        + ", \"links\": " + links + " }");
        JsonNode row = json("bound --machine " + file).get("rows").get(0);
        assertThat(row.get("certificate").get("sentence").asText()).isEqualTo("limited by " + limiting);
    }

    /** Three GPUs on one socket and one on another: the link between the sockets is no link of the GPU. */
    @Test
    void linkBetweenSocketsIsNamedByItsEnds(@TempDir Path folder) throws Exception {
        Path file = Files.writeString(folder.resolve("sockets.txt"), """
            GPU0 GPU1 GPU2 GPU3 NUMA Affinity
            GPU0 X NODE NODE SYS 0
            GPU1 NODE X NODE SYS 0
            GPU2 NODE NODE X SYS 0
            GPU3 SYS SYS SYS X 1
            """);
        JsonNode row = json("bound --machine " + file).get("rows").get(0);
        assertThat(row.get("certificate").get("sentence").asText())
                .isEqualTo("limited by the links of GPU0, GPU1, GPU2 and the link from socket1, which has only"
                        + " GPU3, to socket0: 7.667 GB/s");
    }

    /** The links between the NUMA nodes of one CPU narrow nothing, and no option states their speed. */
    @Test
    void numaNodesOfOneCpuLimitNothing(@TempDir Path folder) throws Exception {
        Path file = Files.writeString(folder.resolve("one-cpu.txt"), """
            GPU0 GPU1 GPU2 GPU3 NUMA Affinity
            GPU0 X NV4 SYS SYS 0
            GPU1 NV4 X SYS SYS 1
            GPU2 SYS SYS X NV4 2
            GPU3 SYS SYS NV4 X 3
            Socket(s): 1
            """);
        String options = " --pcie-gen 5 --pcie-lanes 16 --nvlink-gbs 25 --peer-access yes --machine " + file;
        assertThat(CommandRun.of("bound" + options).out())
                .contains("# assumed: PCIe's speed between the NUMA nodes of a CPU; no other speed is assumed"
                        + " (state what you know by the JSON of topo --write"
                        + " json)\n")
                .contains("# all_reduce: limited by the links of GPU0, GPU1 to the others: 96 GB/s\n");
        assertThat(CommandRun.of("bound --socket-gbs 30" + options).out())
                .contains("# --socket-gbs changes nothing: no link of one-cpu.txt joins two CPUs\n");
        assertThat(CommandRun.of("bound --socket-gbs 30"
                                + options.replace(
                                        file.toString(),
                                        ""
                                                + Files.writeString(
                                                        folder.resolve("two-cpus.txt"),
                                                        Files.readString(file).replace(": 1", ": 2"))))
                        .out())
                .doesNotContain("changes nothing")
                .contains("30 GB/s");
    }

    private static String link(int a, int b, int gbs) {
        return "{ \"a\": " + a + ", \"b\": " + b + ", \"kind\": \"pcie\", \"lanes\": 16, \"gbsAToB\": " + gbs
                + ", \"gbsBToA\": " + gbs + ", \"latencyUs\": 4.25 }";
    }

    @Test
    void rootMustBeARank() {
        CommandRun run = CommandRun.of("bound --machine p3.8xlarge --root 4");
        assertThat(run.status()).isEqualTo(2);
        assertThat(run.err()).contains("--root is 4; the ranks are 0..3");
    }
}

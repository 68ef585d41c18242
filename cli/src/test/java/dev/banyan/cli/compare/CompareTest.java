package dev.banyan.cli.compare;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import com.fasterxml.jackson.databind.JsonNode;
import dev.banyan.cli.CommandRun;
import dev.banyan.topology.Machine;
import dev.banyan.topology.NoPeerAccess;
import dev.banyan.topology.format.MachineWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class CompareTest {
    @Test
    void rowsStandSideBySide() throws Exception {
        CommandRun run = CommandRun.of("compare --machine p3.16xlarge --format json");
        assertThat(run.status()).as(run.err()).isZero();
        JsonNode report = run.json();
        assertThat(names(report))
                .containsExactly(
                        "command",
                        "version",
                        "machine",
                        "backend",
                        "executor",
                        "profile",
                        "buffers",
                        "settings",
                        "devices",
                        "relays",
                        "counted",
                        "boundGBs",
                        "bound",
                        "certificate",
                        "beyond",
                        "rows",
                        "warnings");
        assertThat(report.get("bound").asText()).isEqualTo("600/7");
        List<String> rows = new ArrayList<>();
        for (JsonNode row : report.get("rows")) {
            rows.add(row.get("name").asText());
            boolean simulated = rows.getLast().equals("nccl");
            List<String> names = new ArrayList<>(List.of("name", "rateGBs", "ratio", "predictedGBs", "depth"));
            if (!simulated && !rows.getLast().equals("one-shot")) {
                names.add("trees");
            }
            if (!simulated) {
                names.add("generationMs");
            }
            if (List.of("star", "nccl").contains(rows.getLast())) {
                names.add("remark");
            }
            assertThat(names(row)).isEqualTo(names);
            assertThat(row.get("ratio").asDouble())
                    .isCloseTo(row.get("rateGBs").asDouble() * 7 / 600, within(1e-9))
                    .isBetween(0.01, 1.0);
            assertThat(
                            simulated
                                    ? row.get("remark")
                                            .asText()
                                            .contains("against 10 rows of 2 published sweeps of all_reduce on 8 GPUs")
                                    : row.get("generationMs").asDouble() > 0)
                    .isTrue();
        }
        assertThat(rows)
                .containsExactly(
                        "single-tree (kernighan-lin)",
                        "multi-tree (kernighan-lin)",
                        "multi-tree (exact)",
                        "packing",
                        "ring",
                        "star",
                        "one-shot",
                        "nccl");
        assertThat(report.get("rows").get(3).get("ratio").asDouble()).isEqualTo(1);
        assertThat(report.get("rows").get(4).get("depth").asInt()).isEqualTo(7);
        assertThat(report.get("rows").get(4).get("ratio").asDouble()).isEqualTo(1);
        assertThat(report.get("rows").get(5).get("trees").asInt()).isEqualTo(1);
        assertThat(report.get("rows").get(7).get("ratio").asDouble())
                .as("links of NCCL's rings")
                .isEqualTo(1, within(1e-9));
    }

    /** Chains of the exported file cross the sockets less often than its rings. */
    @Test
    void theRowOfNcclIsOfTheExportedFileWhoseTreesAreFaster(@TempDir Path folder) throws Exception {
        Path file = Files.writeString(folder.resolve("pairs.txt"), """
            GPU0 GPU1 GPU2 GPU3 NUMA Affinity
            GPU0 X NV4 SYS SYS 0
            GPU1 NV4 X SYS SYS 0
            GPU2 SYS SYS X NV4 1
            GPU3 SYS SYS NV4 X 1
            Socket(s): 2
            """);
        String machine = " --pcie-gen 4 --pcie-lanes 16 --nvlink-gbs 14 --socket-gbs 24 --peer-access yes -m " + file;
        assertThat(CommandRun.of("compare" + machine).out())
                .contains(
                        "\n  nccl (own rings, at best)    16.000     0.667             -",
                        "\n  nccl (exported file)         24.000     1.000        ",
                        "rings of its own, at probably 10.00 to 15.24 GB/s of algbw in large calls (banyan export says"
                                + " why",
                        "\n# nccl (exported file): a model of NCCL with a file of banyan export",
                        "the file's trees, which carry 24 GB/s of algbw by the links, where rings carry 16 GB/s");
        assertThat(CommandRun.of("predict -a nccl -b 1M -e 1M" + machine).out())
                .contains("\n# algorithm: nccl (exported file)\n", "\n# nccl (exported file)   ");
        assertThat(CommandRun.of("predict -a nccl --workload resnet-50" + machine)
                        .out())
                .containsPattern("\n +nccl \\(exported file\\)  ");
        assertThat(CommandRun.of("predict -a nccl -b 1M -e 1M --collective broadcast" + machine)
                        .out())
                .contains("\n# algorithm: nccl (exported file)\n", ", without its trees, ");
    }

    @Test
    void settingsChooseTheTreesOfSingleTree() throws Exception {
        System.setProperty("MXNET_KVSTORE_TREE_BACKTRACK", "1");
        try {
            assertThat(CommandRun.of("compare --machine p3.8xlarge --format json")
                            .rows())
                    .extracting(row -> row.get("name").asText())
                    .startsWith("single-tree (exact)", "multi-tree (kernighan-lin)", "multi-tree (exact)");
        } finally {
            System.clearProperty("MXNET_KVSTORE_TREE_BACKTRACK");
        }
    }

    /** The star of a switch: all but one send to one device, at 1/(n-1) of its link. */
    @Test
    void tableForPeople() {
        CommandRun run = CommandRun.of("compare --machine dgx-a100 --devices 0-3");
        assertThat(run.status()).as(run.err()).isZero();
        assertThat(run.out().lines().toList())
                .startsWith("# dgx-a100: allreduce between 4 devices [0,1,2,3]")
                .anyMatch(line ->
                        line.equals("# bound (NVLink): limited by the links of all 4 GPUs to NVSwitch: each GPU has 300"
                                + " GB/s each way and must send and receive 3/2 bytes on average for each byte of"
                                + " data: 300 * 2/3 = 200 GB/s (300 of busbw)"))
                .anyMatch(line -> line.matches("# allreduce +algbw +ratio +predicted at +depth +trees +planning"))
                .anyMatch(line -> line.matches("  packing +200\\.000 +1\\.000 +1[0-9.]+ +1 +4 +\\d+\\.\\d\\d"))
                .anyMatch(line -> line.matches("  star +100\\.000 +0\\.500 +[0-9.]+ +1 +1 +\\d+\\.\\d\\d"));
    }

    @Test
    void callsThatSwitchesReduceHaveNoRings() {
        assertThat(CommandRun.of("compare --machine dgx-h100").out().lines())
                .anyMatch(line -> line.matches("  nccl +400\\.000 +1\\.000 +2[0-9.]+ +- +- +-"))
                .anyMatch(line ->
                        line.startsWith("# nccl: simulated rings and protocols of NCCL and its sums in the switch"
                                        + " (NVLS), without its trees, profile h100-nvswitch")
                                && line.endsWith(". Its ratio is to the bound (NVLink, with reduction in switches)"))
                .anyMatch(line -> line.matches("  packing in the switch +400\\.000 +1\\.000 +[23][0-9.]+ +- +- +-"));
        assertThat(CommandRun.of("compare --machine dgx-a100 --devices 0-3").out())
                .doesNotContain("in the switch");
        assertThat(CommandRun.of("compare --machine dgx-h100 --devices 0-4")
                        .out()
                        .lines())
                .as("rounding makes no rate greater than the bound")
                .anyMatch(line -> line.matches("  nccl +375\\.000 +1\\.000 +2[0-9.]+ +- +- +-"));
    }

    /** Kernels need access between all pairs for their sums in the switch. */
    @Test
    void onePairWithoutPeerAccessBehindTheSwitchEndsItsSums(@TempDir Path folder) throws Exception {
        Path file = folder.resolve("machine.json");
        Machine machine = NoPeerAccess.mark(Machine.preset("dgx-h100"), 1, 2);
        Files.writeString(file, MachineWriter.write(machine, "json"));
        List<String> lines =
                CommandRun.of("compare --machine " + file).out().lines().toList();
        assertThat(lines)
                .noneMatch(line -> line.contains("packing in the switch"))
                .anyMatch(line -> line.matches("  packing +257\\.143 +1\\.000 +[0-9.]+ +1 +8 +[0-9.]+"))
                // Another ring avoids the pair, and NCCL has no sums in the switch either.
                .anyMatch(line -> line.matches("  nccl +257\\.143 +1\\.000 +2[0-9.]+ +7 +- +-"))
                .anyMatch(line -> line.startsWith("# No peer access between GPU1 and GPU2: "));
        assertThat(rate(lines, "ring"))
                .isLessThan(0.2
                        * rate(
                                CommandRun.of("compare --machine dgx-h100")
                                        .out()
                                        .lines()
                                        .toList(),
                                "ring"));
    }

    /** Returns the predicted GB/s of a row. */
    private static double rate(List<String> lines, String name) {
        return lines.stream()
                .filter(line -> line.startsWith("  " + name + " "))
                .mapToDouble(line -> Double.parseDouble(line.trim().split(" +")[3]))
                .findFirst()
                .orElseThrow();
    }

    @Test
    void aRowThatIsRefusedSaysWhy() throws Exception {
        String command = "compare --machine mi250x8 --devices 0-2";
        JsonNode row = CommandRun.of(command + " --format json").rows().get(7);
        assertThat(names(row)).containsExactly("name", "refusal");
        assertThat(row.get("refusal").asText()).startsWith("no published sweep of the class of profile ");
        assertThat(CommandRun.of(command).out()).containsPattern("\n  nccl +- no published sweep of the class");
    }

    /** NCCL's files name each NVSwitch, presets do not: each transfer uses all of them. */
    @Test
    void nvSwitchesByBusIdCarryWhatThePresetsHubCarries(@TempDir Path folder) throws Exception {
        String one = MachineWriter.write(Machine.preset("dgx-a100"), "nccl-xml");
        String six = one.replaceAll(
                "( *)<nvlink target=\"[^\"]*\" count=\"12\" (tclass=\"0x068000\")/>",
                IntStream.rangeClosed(0xc1, 0xc6)
                        .mapToObj(bus -> "$1<nvlink target=\"0000:%x:00.0\" count=\"2\" $2/>".formatted(bus))
                        .collect(Collectors.joining("\n")));
        assertThat(six.lines().filter(line -> line.contains("0000:c4:00.0"))).hasSize(8);
        Path file = Files.writeString(folder.resolve("six.xml"), six);
        JsonNode rates = CommandRun.of("compare --devices 0-3 --format json --machine " + file)
                .json();
        assertThat(rates.findValues("rateGBs"))
                .isEqualTo(CommandRun.of("compare --devices 0-3 --format json --machine dgx-a100")
                        .json()
                        .findValues("rateGBs"))
                .hasSize(8);
    }

    @Test
    void predictionsAreThoseOfPredict() throws Exception {
        Map<String, Double> compared = new HashMap<>();
        CommandRun.of("compare --machine p3.8xlarge --format json")
                .rows()
                .forEach(row -> compared.put(
                        row.get("name").asText(), row.get("predictedGBs").asDouble()));
        JsonNode predicted = CommandRun.of(
                        "predict --machine p3.8xlarge -a packing,ring,star,nccl -b 1G -e 1G --format json")
                .rows();
        assertThat(predicted).hasSize(4);
        for (JsonNode row : predicted) {
            assertThat(compared.get(row.get("algorithm").asText()))
                    .as(row.get("algorithm").asText())
                    .isCloseTo(row.get("algbwGBs").asDouble(), within(1e-9));
        }
    }

    @Test
    void relaysGetARowOfTheirOwn() {
        CommandRun run =
                CommandRun.of("compare --machine p3.16xlarge --devices 0,1,2,4 --relays others --format markdown");
        assertThat(run.status()).as(run.err()).isZero();
        assertThat(run.out().lines().toList())
                .startsWith("p3.16xlarge: allreduce between 4 devices [0,1,2,4], relays [3,5,6,7]")
                .contains(
                        "| allreduce | algbw (GB/s) | ratio to bound | predicted at 1 GiB (GB/s) | depth | trees"
                                + " (rings) | planning (ms) |",
                        "|---|---:|---:|---:|---:|---:|---:|")
                .anyMatch(line -> line.endsWith("100 GB/s (150 of busbw); without relays 50 GB/s"))
                .anyMatch(line -> line.startsWith("| packing | 50.000 | 0.500 |"))
                .anyMatch(line -> line.startsWith("| packing+relays | 100.000 | 1.000 |"));
    }

    @Test
    void hintsAtRelaysThatGainSomething() throws Exception {
        String set = " --machine p3.16xlarge --devices 0,1,2,7";
        JsonNode report = CommandRun.of("compare" + set + " --format json").json();
        String hint = report.get("hint").asText();
        assertThat(hint)
                .startsWith("GPU7 has no NVLink to the others: 10 GB/s without relays; with --relays ")
                .endsWith(": 100 GB/s");
        assertThat(CommandRun.of("compare" + set).out()).contains("# hint: " + hint);
        for (String command : List.of("trees", "trees -a packing")) {
            assertThat(CommandRun.of(command + set).out())
                    .as(command)
                    .contains("# hint: " + hint.replace("--relays", "-a packing --relays"));
        }
        String relays = hint.replaceAll(".*--relays ([0-9,]+):.*", "$1");
        JsonNode named = CommandRun.of("compare" + set + " --format json --relays " + relays)
                .json();
        JsonNode auto =
                CommandRun.of("compare" + set + " --format json --relays auto").json();
        assertThat(named.get("boundGBs").asDouble()).isEqualTo(100);
        assertThat(auto.get("relays")).isEqualTo(named.get("relays"));
        assertThat(auto.has("hint")).isFalse();
        for (String relay : relays.split(",", -1)) {
            String fewer = Arrays.stream(relays.split(",", -1))
                    .filter(other -> !other.equals(relay))
                    .collect(Collectors.joining(","));
            double rate = fewer.isEmpty()
                    ? 10
                    : CommandRun.of("bound" + set + " --format json --relays " + fewer)
                            .rows()
                            .get(0)
                            .get("algbwGBs")
                            .asDouble();
            assertThat(rate).as("without %s", relay).isLessThan(100);
        }
        assertThat(CommandRun.of("compare --machine dgx-a100 --devices 0,1 --relays auto")
                        .status())
                .isZero();
        assertThat(CommandRun.of("compare --machine dgx-a100 --devices 0,1").out())
                .doesNotContain("# hint");
    }

    /** The figures that are known of this machine: 181 sets, 77 with a ring, which reaches 64% of the bound there. */
    @Test
    void allSubsetsOfP3() throws Exception {
        CommandRun run = CommandRun.of("trees --machine p3.16xlarge --all-subsets --format json");
        assertThat(run.status()).as(run.err()).isZero();
        JsonNode report = run.json();
        JsonNode total = report.get("total");
        assertThat(total.get("subsets").asInt()).isEqualTo(181);
        assertThat(total.get("nvlinkRings").asInt()).isEqualTo(77);
        assertThat(total.get("packing").get("min").asDouble()).isEqualTo(1);
        assertThat(total.get("ringsOverNvlink").get("mean").asDouble()).isCloseTo(0.644, within(0.001));
        assertThat(report.get("rows")).hasSize(181);
        int[] counts = {32, 56, 56, 28, 8, 1};
        int sum = 0;
        for (JsonNode size : report.get("sizes")) {
            assertThat(size.get("subsets").asInt())
                    .isEqualTo(counts[size.get("size").asInt() - 3]);
            sum += size.get("subsets").asInt();
        }
        assertThat(sum).isEqualTo(181);
        for (JsonNode set : report.get("rows")) {
            for (String way : List.of("packing", "kernighanLin", "rings", "star")) {
                assertThat(set.get(way).asDouble()).as(way + " of " + set).isBetween(0.01, 1.0);
            }
        }
    }

    @Test
    void oneSizeIsListedSetBySet() {
        CommandRun run = CommandRun.of("trees --machine p3.16xlarge --devices 0-4 --all-subsets=3 --relays others");
        assertThat(run.status()).as(run.err()).isZero();
        List<String> lines = run.out().lines().toList();
        assertThat(lines.getFirst()).isEqualTo("# p3.16xlarge: all 10 sets of 3 of the 5 devices, ratios to the bound");
        assertThat(lines.get(1)).startsWith("# rate, trees, depth are those of the packing");
        assertThat(lines.stream().filter(line -> line.startsWith("  "))).hasSize(10);
        assertThat(lines)
                .anyMatch(line -> line.matches("  0,1,2 +50\\.000 .* 1\\.\\d\\d|  0,1,2 +50\\.000 .* 2\\.\\d\\d"));
        assertThat(CommandRun.of("trees --machine pcie-4 --all-subsets --format markdown")
                        .out()
                        .lines()
                        .toList())
                .startsWith("pcie-4: all 5 sets of the 4 devices, ratios to the bound as mean (min)")
                .anyMatch(line -> line.startsWith("| all | 5 | 0 | "));
    }

    private static List<String> names(JsonNode object) {
        List<String> names = new ArrayList<>();
        object.fieldNames().forEachRemaining(names::add);
        return names;
    }
}

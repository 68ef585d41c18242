package dev.banyan.topology.format;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.banyan.InputException;
import dev.banyan.topology.Device;
import dev.banyan.topology.LinkMatrix;
import dev.banyan.topology.Machine;
import dev.banyan.topology.NoPeerAccess;
import dev.banyan.topology.internal.pcie.PcieHierarchy;
import dev.banyan.topology.option.MatrixUnit;
import dev.banyan.topology.option.StatedSpeeds;
import java.util.List;
import java.util.function.BiFunction;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Output of rocm-smi and amd-smi, in the form of captures that users published. */
class AmdFormatsTest {
    private static String table(int n, String title, String name, BiFunction<Integer, Integer, String> cell) {
        String names = IntStream.range(0, n)
                .mapToObj(i -> String.format("%-13s", name.formatted(i)))
                .collect(Collectors.joining());
        return title + "\n" + " ".repeat(13) + names + "\n"
                + IntStream.range(0, n)
                        .mapToObj(a -> String.format("%-13s", name.formatted(a))
                                + IntStream.range(0, n)
                                        .mapToObj(b -> String.format("%-13s", cell.apply(a, b)))
                                        .collect(Collectors.joining())
                                + "\n")
                        .collect(Collectors.joining())
                + "\n";
    }

    static String rocmSmi(int n, int perNode, BiFunction<Integer, Integer, String> type, int pcieWeight) {
        return "============================ ROCm System Management Interface ============================\n"
                + table(
                        n,
                        "================================ Weight between two GPUs =================================",
                        "GPU%d",
                        (a, b) -> a.equals(b) ? "0" : type.apply(a, b).equals("XGMI") ? "15" : "" + pcieWeight)
                + table(
                        n,
                        "================================= Hops between two GPUs ==================================",
                        "GPU%d",
                        (a, b) -> a.equals(b) ? "0" : "1")
                + table(
                        n,
                        "=============================== Link Type between two GPUs ===============================",
                        "GPU%d",
                        (a, b) -> a.equals(b) ? "0" : type.apply(a, b))
                + "======================================= Numa Nodes =======================================\n"
                + (perNode == 0
                        ? ""
                        : IntStream.range(0, n)
                                .mapToObj(i -> "GPU[" + i + "]\t\t: (Topology) Numa Node: " + i / perNode + "\nGPU[" + i
                                        + "]\t\t: (Topology) Numa Affinity: " + i / perNode + "\n")
                                .collect(Collectors.joining()))
                + "================================== End of ROCm SMI Log ===================================\n";
    }

    static String amdSmi(String bandwidth) {
        BiFunction<Integer, Integer, String> xgmi = (a, b) -> a.equals(b) ? "SELF" : "XGMI";
        return table(8, "ACCESS TABLE:", "0000:%dc:00.0", (a, b) -> "ENABLED")
                + table(8, "WEIGHT TABLE:", "0000:%dc:00.0", (a, b) -> a.equals(b) ? "0" : "15")
                + table(8, "LINK TYPE TABLE:", "0000:%dc:00.0", xgmi)
                + table(8, "NUMA BW TABLE:", "0000:%dc:00.0", (a, b) -> a.equals(b) ? "N/A" : bandwidth)
                + "Legend:\n  SELF = Current GPU\n";
    }

    private static Machine read(String text, StatedSpeeds stated) {
        return new MachineReader(MatrixUnit.CLASSES, stated).parse("dir/topo.txt", text);
    }

    private static Machine read(String text) {
        return read(text, StatedSpeeds.NONE);
    }

    @Test
    void readsRocmSmi() {
        Machine machine = read(rocmSmi(8, 4, (a, b) -> "XGMI", 0));
        assertThat(machine.name()).isEqualTo("topo.txt");
        assertThat(machine.devices()).extracting(Device::numa).containsExactly(0, 0, 0, 0, 1, 1, 1, 1);
        LinkMatrix links = LinkMatrix.of(machine);
        assertThat(links.nvlinkConnected()).isTrue();
        assertThat(links.gbs(0, 7)).isEqualTo(50);
        assertThat(machine.assumed())
                .contains(
                        "50 GB/s one way per xGMI link (MI200's; MI300X's has 64)",
                        "one xGMI link for each pair that xGMI joins",
                        "PCIe gen3, 12 GB/s one way for 16 lanes by NCCL's count",
                        "10 GB/s between CPU sockets");
        Machine known = read(rocmSmi(8, 4, (a, b) -> "XGMI", 0), new StatedSpeeds(0, 0, 0, "AMD Instinct MI300X"));
        assertThat(LinkMatrix.of(known).gbs(0, 7)).isEqualTo(64);
        assertThat(known.devices().getFirst().attributes()).containsEntry("gcn", "942");
        assertThat(known.warnings()).isEmpty();
        assertThat(read(rocmSmi(8, 4, (a, b) -> "XGMI", 0), new StatedSpeeds(0, 0, 0, "NVIDIA H100"))
                        .warnings())
                .singleElement()
                .asString()
                .contains("the stated model is none of AMD's");
    }

    @Test
    void readsTwoIslandsOfRocmSmi() {
        Machine machine = read(rocmSmi(8, 4, (a, b) -> a / 4 == b / 4 ? "XGMI" : "PCIE", 52));
        LinkMatrix links = LinkMatrix.of(machine);
        assertThat(links.nvlinkConnected()).isFalse();
        assertThat(links.classOf(0, 3)).isEqualTo(LinkMatrix.NVLINK);
        assertThat(TopoTextFormatTest.labels(machine).getFirst()).isEqualTo("X NV1 NV1 NV1 SYS SYS SYS SYS");
    }

    @Test
    void weightsTellSocketsWhereNoNumaNodeIsPrinted() {
        assertThat(TopoTextFormatTest.labels(read(rocmSmi(2, 0, (a, b) -> "PCIE", 40)))
                        .getFirst())
                .isEqualTo("X PHB");
        assertThat(TopoTextFormatTest.labels(read(rocmSmi(2, 0, (a, b) -> "PCIE", 72)))
                        .getFirst())
                .isEqualTo("X SYS");
    }

    @Test
    void readsAmdSmi() {
        Machine machine = read(amdSmi("50000-100000"));
        assertThat(machine.devices().get(1).busId()).isEqualTo("0000:1c:00.0");
        assertThat(LinkMatrix.of(machine).gbs(0, 7)).isEqualTo(100);
        assertThat(machine.assumed())
                .containsExactly("PCIe gen3, 12 GB/s one way for 16 lanes by NCCL's count", PcieHierarchy.HIDDEN);
        assertThat(read(amdSmi("0-0")).assumed()).anyMatch(phrase -> phrase.contains("xGMI link"));
        assertThat(read(amdSmi("N/A").replace("15 ", "30 ")).links())
                .as("two hops are no link")
                .noneMatch(link -> link.kind().isNvLinkClass());
    }

    @Test
    void takesAccessAndModelsFromWhatStandsBesideTheTables() {
        String two = table(2, "ACCESS TABLE:", "0000:%dc:00.0", (a, b) -> a.equals(b) ? "ENABLED" : "DISABLED")
                + table(2, "LINK TYPE TABLE:", "0000:%dc:00.0", (a, b) -> a.equals(b) ? "SELF" : "PCIE");
        assertThat(NoPeerAccess.between(read(two), 0, 1)).isTrue();
        assertThat(NoPeerAccess.between(read(two.replace("DISABLED", "ENABLED")), 0, 1))
                .isFalse();
        String listed = "| 0000:0c:00.0    AMD Instinct MI350X | N/A        N/A   0          N/A/1000 W |\n"
                + "| 0000:1c:00.0    AMD Instinct MI350X | N/A        N/A   0          N/A/1000 W |\n";
        assertThat(LinkMatrix.of(read(listed + two.replace("PCIE", "XGMI").replace("DISABLED", "ENABLED")))
                        .gbs(0, 1))
                .isEqualTo(76.8);
        assertThat(LinkMatrix.of(read(two.replace("PCIE", "XGMI"))).classOf(0, 1))
                .as("xGMI without access")
                .isEqualTo(LinkMatrix.PCIE);
        String series = "GPU[0]\t\t: Card Series: \t\tAMD Instinct MI325X\n";
        assertThat(LinkMatrix.of(read(series + rocmSmi(4, 2, (a, b) -> "XGMI", 0)))
                        .gbs(0, 1))
                .isEqualTo(64);
    }

    @Test
    void readsMarkdown() {
        StringBuilder text =
                new StringBuilder("**Link Type Between Two GPUs**\n\n|  | GPU0 | GPU1 |\n| :-- | :--: | :--: |\n");
        text.append("| **GPU0** | 0 | XGMI |\n| **GPU1** | XGMI | 0 |\n");
        assertThat(LinkMatrix.of(read(text.toString())).gbs(0, 1)).isEqualTo(50);
        assertThat(read("**amd-smi topology**\n```\n" + amdSmi("0-0") + "```\n").size())
                .isEqualTo(8);
    }

    @Test
    void diesOfMi250xHaveFourTwoOrOneLinks() {
        List<String> oneHop = List.of("01", "23", "45", "67", "06", "24", "02", "13", "15", "37", "46", "57");
        String text = rocmSmi(8, 2, (a, b) -> "XGMI", 0);
        String types = text.substring(text.indexOf("====", text.indexOf("Link Type") - 40));
        String weights = table(8, "======== Weight between two GPUs ========", "GPU%d", (a, b) -> {
            String pair = "" + Math.min(a, b) + Math.max(a, b);
            return a.equals(b) ? "0" : oneHop.contains(pair) ? "15" : "30";
        });
        Machine machine = read(weights + types);
        LinkMatrix links = LinkMatrix.of(machine);
        assertThat(List.of(links.gbs(0, 1), links.gbs(0, 6), links.gbs(0, 2), links.gbs(0, 3)))
                .containsExactly(200.0, 100.0, 50.0, 0.0);
        assertThat(machine.assumed()).anyMatch(phrase -> phrase.contains("as four MI250X have"));
        StatedSpeeds mi210 = new StatedSpeeds(0, 0, 0, "AMD Instinct MI210");
        assertThat(LinkMatrix.of(read(weights + types, mi210)).gbs(0, 1)).isEqualTo(50);
        StatedSpeeds mi250 = new StatedSpeeds(0, 0, 0, "AMD Instinct MI250");
        LinkMatrix four = LinkMatrix.of(read(rocmSmi(4, 2, (a, b) -> "XGMI", 0), mi250));
        assertThat(List.of(four.gbs(0, 1), four.gbs(1, 2))).containsExactly(200.0, 50.0);
    }

    @Test
    void titlesMayFollowMarks() {
        String text = rocmSmi(4, 2, (a, b) -> "XGMI", 0);
        Machine machine = read(text.replaceAll("=+ ([A-Z]\\w+ \\w*? ?between two GPUs) =+", "\uD83D\uDCCA **$1**"));
        assertThat(machine.devices()).hasSize(4);
        assertThat(LinkMatrix.of(machine).gbs(0, 3))
                .isPositive()
                .isEqualTo(LinkMatrix.of(read(text)).gbs(0, 3));
    }

    /** The links of RCCL's 16P1H node, with its dies in the same order. */
    @Test
    void sixteenDiesAreEightMi250x() {
        LinkMatrix preset = LinkMatrix.of(Machine.preset("mi250x8"));
        Machine machine = read(rocmSmi(16, 4, (a, b) -> preset.gbs(a, b) > 0 ? "XGMI" : "PCIE", 40));
        LinkMatrix links = LinkMatrix.of(machine);
        assertThat(List.of(links.gbs(0, 1), links.gbs(0, 4), links.gbs(0, 2), links.gbs(0, 3)))
                .containsExactly(200.0, 100.0, 50.0, 0.0);
        assertThat(machine.assumed()).anyMatch(phrase -> phrase.contains("as eight MI250X have"));
        LinkMatrix ring = LinkMatrix.of(read(rocmSmi(16, 4, (a, b) -> Math.abs(a - b) == 1 ? "XGMI" : "PCIE", 40)));
        assertThat(ring.gbs(0, 1)).isEqualTo(50);
    }

    @Test
    void refusesWhatIsCut() {
        String rocm = rocmSmi(4, 2, (a, b) -> "XGMI", 0);
        int types = rocm.indexOf("Link Type");
        assertThatThrownBy(() -> read(rocm.substring(0, rocm.indexOf("GPU3", rocm.indexOf("GPU3", types) + 1))))
                .isInstanceOf(InputException.class)
                .hasMessageContainingAll("row of GPU3 is missing", "rocm-smi --showtopo");
        assertThatThrownBy(() ->
                        read("LINK METRIC TABLE:\n       bdf          bit_rate max_bandwidth link_type 0000:0c:00.0\n"
                                + "GPU0   0000:0c:00.0 32 Gb/s  512 Gb/s      XGMI\n Read               N/A\n"))
                .isInstanceOf(InputException.class)
                .hasMessageContainingAll("is output of amd-smi xgmi", "run \"amd-smi topology\"");
        assertThatThrownBy(() -> read(rocm.substring(0, types)))
                .isInstanceOf(InputException.class)
                .hasMessageContaining("without its table of link types");
        assertThatThrownBy(() -> read(amdSmi("N/A").replaceFirst("SELF +XGMI", "SELF")))
                .isInstanceOf(InputException.class)
                .hasMessageContaining("has 7 cells for 8 GPUs");
        assertThatThrownBy(() -> read(amdSmi("N/A").replaceFirst("SELF +XGMI ", "SELF         PCIE ")))
                .isInstanceOf(InputException.class)
                .hasMessageContaining("differs from that of the way back");
        // The second row, in which the word stands, and not the first, which is right.
        assertThatThrownBy(() -> read(amdSmi("N/A").replaceFirst("XGMI( +SELF)", "XGMY$1")))
                .isInstanceOf(InputException.class)
                .hasMessageContaining("link type \"XGMY\" of GPUs 1 and 0 is neither XGMI nor PCIE");
    }
}

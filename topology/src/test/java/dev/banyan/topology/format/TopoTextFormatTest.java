package dev.banyan.topology.format;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.banyan.InputException;
import dev.banyan.topology.Device;
import dev.banyan.topology.Hub;
import dev.banyan.topology.Link;
import dev.banyan.topology.LinkMatrix;
import dev.banyan.topology.LinkSpeeds;
import dev.banyan.topology.Machine;
import dev.banyan.topology.Nic;
import dev.banyan.topology.Routes;
import dev.banyan.topology.internal.nvidia.TopoTextWriter;
import dev.banyan.topology.internal.pcie.PcieHierarchy;
import dev.banyan.topology.internal.peer.RefusedPairs;
import dev.banyan.topology.internal.speed.CpuModel;
import dev.banyan.topology.internal.speed.SpeedChoice;
import dev.banyan.topology.internal.text.GpuProduct;
import dev.banyan.topology.option.MatrixUnit;
import dev.banyan.topology.option.StatedSpeeds;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class TopoTextFormatTest {
    private static Machine read(String text) {
        return new MachineReader().parse("dir/topo.txt", text);
    }

    /** The matrix as printed, without the name column. */
    static List<String> labels(Machine machine) {
        Routes routes = Routes.of(machine);
        int ends = machine.size() + machine.nics().size();
        return IntStream.range(0, ends)
                .mapToObj(a -> IntStream.range(0, ends)
                        .mapToObj(b -> routes.between(a, b).label())
                        .reduce((x, y) -> x + " " + y)
                        .orElse(""))
                .toList();
    }

    private static boolean hasNvSwitch(Machine machine) {
        return machine.hubs().stream().anyMatch(hub -> hub.kind() == Hub.Kind.NVSWITCH);
    }

    @Test
    void readsATableOfANewDriver() {
        Machine machine = read(Fixtures.FOUR_WITH_CARDS);

        assertThat(machine.name()).isEqualTo("topo.txt");
        assertThat(machine.warnings()).isEmpty();
        assertThat(machine.devices()).extracting(Device::name).containsExactly("GPU0", "GPU1", "GPU2", "GPU3");
        assertThat(machine.devices()).extracting(Device::numa).containsExactly(0, 0, -1, 1);
        assertThat(machine.devices().get(1).attributes()).isEmpty();
        assertThat(machine.devices().get(3).attributes()).containsEntry("cpu_affinity", "8-15");
        assertThat(machine.nics()).extracting(Nic::name).containsExactly("mlx5_0", "mlx5_bond_0");
        assertThat(labels(machine))
                .containsExactly(
                        "X NV2 PHB SYS PIX SYS",
                        "NV2 X PHB SYS PXB SYS",
                        "PHB PHB X SYS PHB SYS",
                        "SYS SYS SYS X SYS NODE",
                        "PIX PXB PHB SYS X SYS",
                        "SYS SYS SYS NODE SYS X");
        LinkMatrix matrix = LinkMatrix.of(machine);
        assertThat(matrix.nvlinkConnected()).isFalse();
        assertThat(matrix.gbs(0, 1)).isEqualTo(50);
        assertThat(matrix.gbs(0, 2)).isEqualTo(12);
        assertThat(matrix.gbs(0, 3)).isEqualTo(10);
    }

    @Test
    void readsATableOfAnOldDriver() {
        Machine machine = read(Fixtures.OLD_CONCATENATED);

        assertThat(labels(machine))
                .containsExactly(
                        "X NV1 NV1 SYS PIX SYS",
                        "NV1 X SYS NV1 PIX SYS",
                        "NV1 SYS X NV1 SYS PHB",
                        "SYS NV1 NV1 X SYS PHB",
                        "PIX PIX SYS SYS X SYS",
                        "SYS SYS PHB PHB SYS X");
        assertThat(LinkMatrix.of(machine).gbs(0, 1)).as("P100").isEqualTo(20);
        assertThat(labels(read(Fixtures.OLDEST_LEGEND))).containsExactly("X PIX SYS", "PIX X SYS", "SYS SYS X");
    }

    @Test
    void readsCopiesOfCopies() {
        Machine spaces = read(Fixtures.SINGLE_SPACES);
        assertThat(labels(spaces)).containsExactly("X NV4 SYS", "NV4 X SYS", "SYS SYS X");
        assertThat(spaces.devices()).extracting(Device::numa).containsExactly(0, 0, 1);
        assertThat(spaces.devices().get(2).attributes()).containsEntry("cpu_affinity", "4-7");

        Machine markdown = read(Fixtures.MARKDOWN);
        assertThat(labels(markdown)).containsExactly("X NV4 SYS", "NV4 X PHB", "SYS PHB X");
        assertThat(markdown.devices()).extracting(Device::numa).containsExactly(0, 1);

        String among = "$ nvidia-smi topo -m\r\n" + Fixtures.SINGLE_SPACES.replace("\n", "\r\n\r\n") + "$ exit\r\n";
        assertThat(labels(read(among))).isEqualTo(labels(spaces));
        assertThat(labels(read(Fixtures.FOUR_WITH_CARDS.replaceFirst("\t", ""))))
                .hasSize(6);
        assertThat(labels(read(Fixtures.FOUR_WITH_CARDS.replace("\033", "")))).hasSize(6);
    }

    @ParameterizedTest
    @ValueSource(strings = {"> ", ">", ">> ", "2024-05-01T10:00:00.000Z ", "[10:00:00] ", "worker-0  | ", "12:"})
    void readsQuotedAndLoggedTables(String prefix) {
        for (String table : List.of(Fixtures.FOUR_WITH_CARDS, Fixtures.SINGLE_SPACES)) {
            String quoted = "Hello,\n" + table.indent(0).replaceAll("(?m)^", prefix) + "\nThanks\n";
            assertThat(labels(read(quoted))).isEqualTo(labels(read(table)));
        }
        assertThatThrownBy(() -> read(Fixtures.PEER_STATUS.replaceAll("(?m)^", prefix)))
                .isInstanceOf(InputException.class);
    }

    @Test
    void placesInQuotedTablesCountThePrefix() {
        assertRefused(
                Fixtures.SINGLE_SPACES.replace("GPU1 NV4 X", "GPU1 NVx X").replaceAll("(?m)^", "> "),
                "topo.txt:3:8:",
                "\"NVx\"");
    }

    @Test
    void readsNoBreakSpaces() {
        assertThat(labels(read(Fixtures.SINGLE_SPACES.replace(' ', '\u00A0'))))
                .containsExactly("X NV4 SYS", "NV4 X SYS", "SYS SYS X");
        assertThat(read("0\u00A02\n2\u20030\n").size()).isEqualTo(2);
    }

    @Test
    void warnsOnceOfEachGroup() {
        String pairsOfFour = IntStream.range(0, 8)
                .mapToObj(a -> "GPU" + a
                        + IntStream.range(0, 8)
                                .mapToObj(b -> a == b ? " X" : a / 4 == b / 4 ? " NV6" : " SYS")
                                .reduce("", String::concat)
                        + "\n")
                .reduce("GPU0 GPU1 GPU2 GPU3 GPU4 GPU5 GPU6 GPU7\n", String::concat);
        assertThat(read(pairsOfFour).warnings()).hasSize(2).doesNotHaveDuplicates();
    }

    @Test
    void readsOneGpu() {
        assertThat(labels(read(Fixtures.ONE_GPU))).containsExactly("X");
        assertThat(labels(read(Fixtures.ONE_GPU_CONCATENATED))).containsExactly("X");
    }

    @ParameterizedTest
    @CsvSource({
        "2, NV2, false, 50", "2, NV18, false, 450", "4, NV1, false, 25", "4, NV4, false, 100", "4, NV6, false, 150",
        "3, NV12, true, 300", "4, NV18, true, 450", "8, NV2, false, 50", "8, NV8, true, 200", "8, NV12, true, 300",
        "16, NV6, true, 150", "72, NV18, true, 450"
    })
    void tellsSwitchesFromDirectLinks(int n, String label, boolean viaSwitch, double gbs) {
        Machine machine = read(Fixtures.allToAll(n, label));

        assertThat(hasNvSwitch(machine)).isEqualTo(viaSwitch);
        LinkMatrix matrix = LinkMatrix.of(machine);
        assertThat(matrix.gbs(0, n - 1)).isEqualTo(gbs);
        assertThat(matrix.nvlinkConnected()).isTrue();
        assertThat(labels(machine).getFirst()).isEqualTo("X" + (" " + label).repeat(n - 1));
        assertThat(machine.warnings()).hasSize(n == 4 && label.equals("NV6") ? 1 : 0);
    }

    @Test
    void readsADegradedDeviceOnSwitches() {
        String text = Fixtures.allToAll(3, "NV12")
                .replace("GPU0\t X \tNV12\tNV12", "GPU0\t X \tNV12\tNV9")
                .replace("GPU1\tNV12\t X \tNV12", "GPU1\tNV12\t X \tNV9")
                .replace("GPU2\tNV12\tNV12\t X ", "GPU2\tNV9\tNV9\t X ");
        Machine machine = read(text);

        assertThat(hasNvSwitch(machine)).isTrue();
        assertThat(labels(machine)).containsExactly("X NV12 NV9", "NV12 X NV9", "NV9 NV9 X");
    }

    @Test
    void warnsOfClassesThatContradictEachOther() {
        Machine machine = read("""
                  GPU0 GPU1 GPU2
            GPU0   X   PIX  SYS
            GPU1  PIX   X   PIX
            GPU2  SYS  PIX   X
            """);

        assertThat(machine.warnings()).singleElement().asString().contains("GPU0-GPU2 is SYS, others make it PIX");
        assertThat(LinkMatrix.of(machine).classOf(0, 2)).isEqualTo(1);
    }

    @Test
    void readsTheGpusWhereRowsOfCardsAreMissing() {
        String text = Fixtures.SINGLE_SPACES
                .replace("GPU2 CPU", "GPU2 NIC0 CPU")
                .replace(" 0-3", " PHB 0-3")
                .replace(" 4-7", " SYS 4-7");
        Machine machine = read(text);

        assertThat(machine.warnings()).singleElement().asString().contains("rows of 1 network cards are missing");
        assertThat(labels(machine).getFirst()).isEqualTo("X NV4 SYS PHB");
    }

    @Test
    void writesWhatItReads() {
        for (String text : List.of(Fixtures.FOUR_WITH_CARDS, Fixtures.OLD_CONCATENATED, Fixtures.allToAll(8, "NV12"))) {
            Machine machine = read(text);
            Machine again = read(TopoTextWriter.write(machine));

            assertThat(labels(again)).isEqualTo(labels(machine));
            assertThat(again.nics())
                    .extracting(Nic::name)
                    .isEqualTo(machine.nics().stream().map(Nic::name).toList());
            assertThat(again.devices()).isEqualTo(machine.devices());
        }
    }

    private static void assertRefused(String text, String... reasons) {
        assertThatThrownBy(() -> read(text))
                .isInstanceOf(InputException.class)
                .hasMessageStartingWith("dir/topo.txt:")
                .hasMessageContainingAll(reasons);
    }

    @Test
    void refusesOtherOptionsOfTheTool() {
        assertRefused(Fixtures.PEER_STATUS, "topo -p2p", "run \"nvidia-smi topo -m\"");
        assertRefused(Fixtures.PEER_STATUS.replace("OK", "CNS"), "topo -p2p");
        assertRefused(Fixtures.PCIE_ONLY, "topo -mp", "hides NVLink");
        assertRefused("$ nvidia-smi topo -mp\n" + Fixtures.OLDEST_LEGEND, "topo.txt:1:", "topo -mp");
    }

    @Test
    void refusesOtherTools() {
        assertRefused(Fixtures.PEER_TEST, "p2pBandwidthLatencyTest", "nvidia-smi topo -m");
        assertRefused(Fixtures.NVLINK_STATUS, "nvidia-smi nvlink", "nvidia-smi topo -m");
        assertRefused("    NPU0  NPU1\nNPU0  X  HCCS\nNPU1  HCCS  X\n", "topo.txt:1:", "npu-smi", "machines with GPUs");
        assertRefused("ERROR: Option -m is missing its value.\n", "error message of nvidia-smi");
        assertRefused("=== ROCm System Management Interface ===\n       GPU0  GPU1\nGPU0   0     15\n", "rocm-smi");
        assertRefused("       GPU0  GPU1\nGPU0   0     XGMI\nGPU1   XGMI  0\n", "topo.txt:2:8:", "rocm-smi");
        assertRefused("       GPU0  GPU1\nGPU0   0     15\nGPU1   15    0\n", "RCCL");
        assertRefused("LINK TYPE TABLE:\n  0000:05:00.0 0000:26:00.0\n0000:05:00.0 SELF XGMI\n", "amd-smi topology");
        assertRefused("GPU 0: Some GPU (UUID: GPU-1)\n", "nvidia-smi -L");
    }

    @Test
    void noticesClippedColumns() {
        String whole = TopoTextWriter.write(Machine.preset("p3.16xlarge"));
        String clipped = whole.lines()
                .map(line -> line.replaceAll("^(([^\\t]*\\t){4}[^\\t]*).*", "$1"))
                .collect(Collectors.joining("\n"));
        assertRefused(clipped, "topo.txt:6:", "there is a row GPU4 but the header names no such column");

        String cards = Fixtures.FOUR_WITH_CARDS;
        String gpusOnly = cards.lines()
                .map(line -> line.replaceAll("^(([^\\t]*\\t){4}[^\\t]*).*", "$1"))
                .collect(Collectors.joining("\n"));
        assertRefused(gpusOnly, "there is a row NIC0 but the header names no such column");
        String legendOnly =
                gpusOnly.lines().filter(line -> !line.matches("NIC\\d\\t.*")).collect(Collectors.joining("\n"));
        assertThat(read(legendOnly).warnings())
                .singleElement()
                .asString()
                .contains("the text is clipped", "2 network cards", "from NIC0 on");
    }

    @Test
    void takesSpeedsFromTheModelOfTheGpus() {
        String table = Fixtures.allToAll(8, "NV18");
        Machine assumed = read(table);
        assertThat(assumed.assumed()).anyMatch(phrase -> phrase.startsWith("25 GB/s one way per NVLink"));
        assertThat(reduces(assumed)).isTrue();
        Machine listed = read("GPU 0: NVIDIA B200 (UUID: GPU-1)\nGPU 1: NVIDIA B200 (UUID: GPU-2)\n" + table);
        assertThat(LinkMatrix.of(listed).gbs(0, 1)).isEqualTo(900);
        assertThat(listed.assumed()).containsExactly("10 GB/s between CPU sockets", PcieHierarchy.HIDDEN);
        assertThat(listed.devices().getFirst().attributes()).containsEntry("sm", "100");
        assertThat(reduces(read(Fixtures.allToAll(8, "NV12")))).isFalse();
        assertThat(read(Fixtures.allToAll(8, "NV8")).assumed()).anyMatch(phrase -> phrase.contains("A800"));

        StatedSpeeds stated = new StatedSpeeds(5, 50, 0, "");
        Machine withSpeeds = new MachineReader(MatrixUnit.CLASSES, stated).parse("topo", Fixtures.SINGLE_SPACES);
        assertThat(LinkMatrix.of(withSpeeds).gbs(0, 1)).isEqualTo(200);
        assertThat(withSpeeds.assumed())
                .containsExactly(
                        SpeedChoice.FULL_SLOTS,
                        "10 GB/s between CPU sockets",
                        PcieHierarchy.HIDDEN,
                        RefusedPairs.GRANTED);
        assertThat(withSpeeds.links().stream().filter(link -> link.kind() == Link.Kind.PCIE))
                .isNotEmpty()
                .allMatch(link -> link.gbsAToB() == 48);
        assertThatThrownBy(() -> new MachineReader(MatrixUnit.GBS, stated).parse("m", "0 5\n5 0\n"))
                .hasMessageContaining("carries the speeds of its links itself");
    }

    @Test
    void slotsHaveSixteenLanesUnlessOthersAreStated() {
        String text = "GPU 0: NVIDIA GeForce RTX 5090 (UUID: GPU-1)\n\tGPU0\tGPU1\nGPU0\t X \tPHB\nGPU1\tPHB\t X \n";
        Machine full = new MachineReader().parse("topo", text);
        assertThat(full.links()).allMatch(link -> link.lanes() == 16 && link.gbsAToB() == 48);
        assertThat(full.assumed()).contains("16 lanes of PCIe for each GPU");

        StatedSpeeds half = new StatedSpeeds(0, 8, 0, 0, "", StatedSpeeds.PeerAccess.BY_MODEL);
        Machine narrow = new MachineReader(MatrixUnit.CLASSES, half).parse("topo", text);
        assertThat(narrow.links()).allMatch(link -> link.lanes() == 8 && link.gbsAToB() == 24);
        assertThat(narrow.assumed()).noneMatch(phrase -> phrase.contains("lanes"));
        assertThat(new MachineReader(MatrixUnit.CLASSES, half)
                        .parse("m", "0 1\n1 0\n")
                        .assumed())
                .contains("PCIe gen3, 6 GB/s one way for 8 lanes by NCCL's count");
    }

    @Test
    void warnsOfPcieThatIsFasterThanTheModel() {
        String text = "GPU 0: NVIDIA L40S (UUID: GPU-1)\n" + Fixtures.SINGLE_SPACES;
        assertThat(new MachineReader(MatrixUnit.CLASSES, new StatedSpeeds(5, 0, 0, ""))
                        .parse("topo", text)
                        .warnings())
                .contains(
                        "PCIe gen5 is stated, but the GPUs' model has gen4: check the generation, which sets the speeds"
                                + " of PCIe");
        assertThat(new MachineReader(MatrixUnit.CLASSES, new StatedSpeeds(3, 0, 0, ""))
                        .parse("topo", text)
                        .warnings())
                .noneMatch(warning -> warning.contains("is stated"));
    }

    @ParameterizedTest
    @CsvSource({
        "GenuineIntel, 6, 79, 10, 6, as a DGX-1 reached with such Xeons (NCCL 2.31 counts 6)",
        "GenuineIntel, 6, 106, 10, 10, as NCCL 2.31 counts for this CPU",
        "GenuineIntel, 6, 143, 22, 22, as NCCL 2.31 counts for this CPU",
        "GenuineIntel, 6, 207, 40, 40, as NCCL 2.31 counts for this CPU",
        "AuthenticAMD, 23, 49, 16, 16, as NCCL 2.31 counts for this CPU",
        "AuthenticAMD, 25, 17, 24, 16, as NCCL 2.31 counts for this CPU",
        "AuthenticAMD, 26, 2, 32, 16, as NCCL 2.31 counts for this CPU",
    })
    void takesTheSpeedBetweenSocketsFromLscpu(
            String vendor, String family, String model, int gbs, int former, String why) {
        String lscpu = "Architecture:             x86_64\nVendor ID:                " + vendor
                + "\n  Model name:             Some CPU\n    CPU family:           " + family
                + "\n    Model:                " + model + "\n  NUMA node0 CPU(s):     0-89\n";
        Machine before = read(Fixtures.SINGLE_SPACES);
        for (String text : List.of(lscpu + Fixtures.SINGLE_SPACES, Fixtures.SINGLE_SPACES + lscpu)) {
            Machine machine = read(text);
            assertThat(machine.assumed()).contains(gbs + " GB/s between CPU sockets, " + why);
            assertThat(machine.links())
                    .filteredOn(link -> link.kind() == Link.Kind.SOCKET)
                    .isNotEmpty()
                    .allMatch(link -> link.gbsAToB() == gbs && link.gbsBToA() == gbs);
            assertThat(CpuModel.formerSocketGbs(machine)).hasValue(former);
            assertThat(machine.warnings()).isEqualTo(before.warnings());
            assertThat(machine.hubs().getFirst().attributes())
                    .isEqualTo(Map.of("arch", "x86_64", "vendor", vendor, "familyid", family, "modelid", model));
            Machine written = new MachineReader().parse("x.xml", MachineWriter.write(machine, "nccl-xml"));
            assertThat(written.assumed()).contains(gbs + " GB/s between CPU sockets, " + why);
        }
    }

    /** One CPU with four NUMA nodes is not two, and two are not assumed where lscpu counts them. */
    @Test
    void takesTheNumberOfCpusFromLscpu() {
        String table = """
            \tGPU0\tGPU1\tGPU2\tGPU3\tCPU Affinity\tNUMA Affinity
            GPU0\t X \tSYS\tSYS\tSYS\t48-63\t3
            GPU1\tSYS\t X \tSYS\tSYS\t32-47\t2
            GPU2\tSYS\tSYS\t X \tSYS\t16-31\t1
            GPU3\tSYS\tSYS\tSYS\t X \t0-15\t0
            """;
        Machine unknown = read(table);
        assertThat(unknown.assumed())
                .contains("two CPUs with half of the NUMA nodes each, PCIe's speed between the NUMA nodes of a CPU, and"
                        + " one link between the CPUs");
        assertThat(slowSockets(unknown)).isOne();

        Machine single = read(table + "Socket(s):                1\n");
        assertThat(slowSockets(single)).isZero();
        assertThat(single.assumed())
                .contains("PCIe's speed between the NUMA nodes of a CPU")
                .noneMatch(phrase -> phrase.contains("sockets") || phrase.contains("CPUs"));

        String nodes = "NUMA node0 CPU(s): 0-15\nNUMA node1 CPU(s): 16-31\nNUMA node2 CPU(s): 32-47\n"
                + "NUMA node3 CPU(s): 48-63\nNUMA node4 CPU(s):\n";
        for (String two : List.of("  Socket(s):             2\n", "physical id\t: 0\nphysical id\t: 1\n")) {
            Machine both = read(table + two + nodes);
            assertThat(both.links()).isEqualTo(unknown.links());
            assertThat(both.assumed())
                    .contains("PCIe's speed between the NUMA nodes of a CPU", "10 GB/s between CPU sockets")
                    .noneMatch(phrase -> phrase.contains("two CPUs"));
        }
        Machine four = read(table + "Socket(s): 4\n" + nodes);
        assertThat(slowSockets(four)).isEqualTo(6);
        assertThat(four.assumed()).noneMatch(phrase -> phrase.contains("NUMA"));
        // Cores of one CPU alone, or of a virtual machine, do not say how many there are.
        for (String open : List.of(
                "Socket(s): 1\nFlags:      fpu hypervisor lm\n",
                "Socket(s): 1\nHypervisor vendor:   KVM\n",
                "physical id\t: 0\nphysical id\t: 0\n",
                "Socket(s): 2\n")) {
            assertThat(read(table + open)).isEqualTo(unknown);
        }
    }

    /** GPUs of the second CPU alone, as a container may show them. */
    @Test
    void cpusWithoutGpusAreLeftOut() {
        Machine machine = read("""
            \tGPU0\tGPU1\tGPU2\tNUMA Affinity
            GPU0\t X \tSYS\tSYS\t4
            GPU1\tSYS\t X \tSYS\t5
            GPU2\tSYS\tSYS\t X \t6
            """);
        assertThat(slowSockets(machine)).isZero();
    }

    private static long slowSockets(Machine machine) {
        return machine.links().stream()
                .filter(link -> link.kind() == Link.Kind.SOCKET && link.gbsAToB() == LinkSpeeds.SOCKET_GBS)
                .count();
    }

    @Test
    void aCpuThatNcclDoesNotCountLeavesTheSpeedOpen() {
        assertThat(read("Architecture: aarch64\nVendor ID: ARM\nModel: 0\n" + Fixtures.SINGLE_SPACES)
                        .assumed())
                .contains("6 GB/s between CPU sockets, as NCCL 2.31 counts for this CPU");
        for (String cpu : List.of("Model: A100\n", "Vendor ID: GenuineIntel\n", "Vendor ID: Other\nCPU family: 6\n")) {
            Machine machine = read(cpu + Fixtures.SINGLE_SPACES);
            assertThat(machine.assumed()).contains("10 GB/s between CPU sockets");
            assertThat(machine.hubs().getFirst().attributes()).isEmpty();
        }
    }

    @Test
    void readsTheTableOfLinksBesideOneOfPeerAccess() {
        Machine alone = read(Fixtures.SINGLE_SPACES);
        assertThat(read("$ nvidia-smi topo -p2p r\n" + Fixtures.PEER_STATUS + "\n$ nvidia-smi topo -m\n"
                                + Fixtures.SINGLE_SPACES)
                        .links())
                .isEqualTo(alone.links());
        assertThat(read(Fixtures.SINGLE_SPACES + "\n" + Fixtures.PEER_STATUS).links())
                .isEqualTo(alone.links());
    }

    @Test
    void aCardFarFromAllGpusAddsNoWayBetweenThem() {
        String table = """
            \tGPU0\tGPU1\tNIC0\tCPU Affinity\tNUMA Affinity
            GPU0\t X \tSYS\tSYS\t0-9\t0
            GPU1\tSYS\t X \tSYS\t10-19\t1
            NIC0\tSYS\tSYS\t X \t\t
            """;
        assertThat(read(table).links().stream().filter(link -> link.kind() == Link.Kind.SOCKET))
                .hasSize(2)
                .anyMatch(link -> link.gbsAToB() == 10);
        Machine withSpeeds = new MachineReader(MatrixUnit.CLASSES, new StatedSpeeds(4, 0, 60, "")).parse("topo", table);
        assertThat(withSpeeds.assumed()).containsExactly(SpeedChoice.FULL_SLOTS, RefusedPairs.GRANTED);
        assertThat(withSpeeds.links().stream().filter(link -> link.kind() == Link.Kind.SOCKET))
                .allMatch(link -> link.gbsAToB() == 60);
    }

    @Test
    void warnsOfWhatIsCutOffAtTheEnd() {
        String table = """
            \tGPU0\tGPU1\tGPU2\tNIC0\tCPU Affinity
            GPU0\t X \tNODE\tSYS\tSYS\t0-9,20-29
            GPU1\tNODE\t X \tSYS\tSYS\t0-9,20-29
            GPU2\tSYS\tSYS\t X \tNODE\t10-19,30-39
            NIC0\tSYS\tSYS
            """;
        assertThat(read(table).warnings()).singleElement().asString().contains("row NIC0 is cut off");
        Machine clipped =
                read(table.replace("GPU1\tNODE\t X \tSYS\tSYS\t0-9,20-29", "GPU1\tNODE\t X \tSYS\tSYS\t0-9,"));
        assertThat(clipped.warnings())
                .anyMatch(warning ->
                        warning.contains("CPU affinity of GPU1 is cut off: \"0-9,\"; it" + " is read as that of GPU0"));
    }

    private static boolean reduces(Machine machine) {
        return machine.hubs().stream().anyMatch(Hub::reduces);
    }

    @ParameterizedTest
    @CsvSource({
        "NVIDIA H100 80GB HBM3, 90, 5",
        "NVIDIA H20, 90, 5",
        "NVIDIA B200, 100, 5",
        "NVIDIA GB200, 100, 5",
        "NVIDIA A100-SXM4-40GB, 80, 4",
        "NVIDIA A10G, 86, 4",
        "NVIDIA RTX A6000, 86, 4",
        "NVIDIA L40S, 89, 4",
        "NVIDIA GeForce RTX 4090, 89, 4",
        "NVIDIA RTX 6000 Ada Generation, 89, 4",
        "NVIDIA GeForce RTX 5090, 120, 5",
        "NVIDIA GeForce RTX 2080 Ti, 75, 3",
        "Tesla V100-SXM2-16GB, 70, 3",
        "Tesla T4, 75, 3",
        "Tesla P40, 61, 3",
        "NVIDIA GeForce RTX 3090, 86, 4",
        "4090, 89, 4",
        "RTX PRO 6000, 120, 5",
        "NVIDIA L4, 89, 4",
        "AMD Instinct MI300X, 0, 5",
        "AMD Instinct MI250X, 0, 4"
    })
    void knowsProducts(String model, int sm, int pcieGeneration) {
        GpuProduct product = GpuProduct.of(model).orElseThrow();
        assertThat(product.sm()).isEqualTo(sm);
        assertThat(product.pcieGeneration()).isEqualTo(pcieGeneration);
    }

    @Test
    void refusesDamagedText() {
        String table = Fixtures.SINGLE_SPACES;
        assertRefused(
                table.substring(0, table.indexOf("GPU2 SYS")),
                "3 GPUs, but after 2 rows",
                "text ends before that of GPU2");
        assertRefused(table.substring(0, table.indexOf("GPU0 X")), "3 GPUs, but after 0 rows");
        assertRefused(table.substring(table.indexOf("GPU0 X")), "names the columns, is missing");
        assertRefused(table.replace("GPU1 NV4 X SYS 0-3 0", "GPU1 NV4 X"), "topo.txt:3:", "2 of 3 cells");
        assertRefused(table.replace("GPU1 NV4 X SYS", "GPU1 NV4 SYS"), "topo.txt:3:10:", "own column");
        assertRefused(table.replace("GPU1 NV4 X SYS", "GPU1 X NV4 SYS"), "topo.txt:3:6:", "stands in column GPU0");
        assertRefused(table.replace("GPU2 SYS SYS", "GPU2 PHB SYS"), "topo.txt:4:6:", "must be symmetric");
        assertRefused(table.replace("GPU1 NV4 X", "GPU1 NVx X"), "topo.txt:3:6:", "\"NVx\"");
        assertRefused(table.replace("CPU Affinity", "CPU Affi      nity"), "topo.txt:1:16:", "wrapped or cut");
        assertRefused(table.replace(" GPU2 CPU", "\nGPU2 CPU"), "truncated or wrapped");
        assertRefused(table.replace(" GPU2 CPU", " CPU"), "more cells than the header");
        assertRefused(table.replace("GPU0 GPU1 GPU2", "GPU0 GPU1 GPU1"), "topo.txt:1:11:", "named twice");
        assertRefused("GPU0 NIC0\nGPU0 X NV1\nNIC0 NV1 X\n", "topo.txt:2:8:", "only GPUs have NVLinks");
    }

    @Test
    void warnsOfARowThatIsCutInsideTheAffinityColumns() {
        String row = "GPU3\tSYS\tSYS\tSYS\t X \tSYS\tNODE\t8-15\t1\t\tN/A\n";
        for (String cut : List.of("8-15\t1\t\tN/A", "-15\t1\t\tN/A", "\t1\t\tN/A")) {
            String text =
                    Fixtures.FOUR_WITH_CARDS.replace(row, row.replace(cut, cut.equals("-15\t1\t\tN/A") ? "-" : ""));
            assertThat(read(text).warnings())
                    .as("without %s", cut)
                    .singleElement()
                    .asString()
                    .contains("line 5 ends inside the affinity columns");
        }
    }
}

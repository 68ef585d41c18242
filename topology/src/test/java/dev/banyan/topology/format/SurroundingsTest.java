package dev.banyan.topology.format;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.banyan.InputException;
import dev.banyan.topology.Hub;
import dev.banyan.topology.Link;
import dev.banyan.topology.LinkMatrix;
import dev.banyan.topology.Machine;
import dev.banyan.topology.NoPeerAccess;
import dev.banyan.topology.internal.pcie.PcieHierarchy;
import dev.banyan.topology.internal.speed.SpeedChoice;
import dev.banyan.topology.option.MatrixUnit;
import dev.banyan.topology.option.StatedSpeeds;
import dev.banyan.topology.option.StatedSpeeds.PeerAccess;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Models, peer access and faults in the text around a table of {@code nvidia-smi topo -m}, and its affinities. */
class SurroundingsTest {
    private static final String PAIR =
            "\tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\n" + "GPU0\t X \tPHB\t0-7\t0\nGPU1\tPHB\t X \t0-7\t0\n";
    private static final String BRIDGED = PAIR.replace("PHB", "NV4");

    private static Machine read(String text) {
        return new MachineReader().parse("topo.txt", text);
    }

    private static Machine read(String text, PeerAccess access) {
        StatedSpeeds stated = new StatedSpeeds(0, 0, 0, 0, "", access);
        return new MachineReader(MatrixUnit.CLASSES, stated).parse("topo.txt", text);
    }

    private static String peers(String prompt, String status) {
        return prompt + " \tGPU0\tGPU1\t\n GPU0\tX\t" + status + "\t\n GPU1\t" + status
                + "\tX\t\n\nLegend:\n\n  X    = Self\n  OK   = Status Ok\n  CNS  = Chipset not supported\n\n";
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "GPU 0: NVIDIA A40\nGPU 1: NVIDIA A40\n",
                "GPU 0: NVIDIA A40 (UUID: GPU-1)\nGPU 1: NVIDIA A40 (UUID: GPU-2)\n",
                "GPU 0,1: NVIDIA A40\n",
                "GPU 0-1: NVIDIA A40\n",
                "GPU 0,1                 NVIDIA A40 (arch=8.6)\n",
                "GPU models and configuration: GPU 0: NVIDIA A40\nGPU 1: NVIDIA A40\n",
                "[pip] x\n2026-01-01 GPU 0: NVIDIA A40\n2026-01-01 GPU 1: NVIDIA A40\n",
                "| GPU  Name        Persistence-M |\n|   0  NVIDIA A40          On | 00000000:01:00.0 Off |\n"
                        + "|   1  NVIDIA A40          On | 00000000:02:00.0 Off |\n",
            })
    void takesModelsFromAnyList(String list) {
        Machine machine = read(list + BRIDGED);
        assertThat(LinkMatrix.of(machine).gbs(0, 1)).isEqualTo(56.25);
        assertThat(machine.devices())
                .allSatisfy(device -> assertThat(device.attributes()).containsEntry("model", "NVIDIA A40"));
        assertThat(machine.warnings()).isEmpty();
        assertThat(machine.assumed()).containsExactly(SpeedChoice.FULL_SLOTS, PcieHierarchy.HIDDEN);
    }

    @Test
    void namesModelsThatAreNotKnownOrNotUsed() {
        assertThat(read("GPU 0: GRID V100D-8Q\nGPU 1: GRID V100D-8Q\n" + PAIR).warnings())
                .containsExactly(
                        "GPU0, GPU1 are GRID V100D-8Q, a model that is not known: its speeds are assumed; state them");
        assertThat(read("GPU 0: NVIDIA A40\n" + PAIR).warnings())
                .containsExactly("the text names the model of 1 of 2 GPUs: the others are taken as equal");
        assertThat(read("GPU 0,1,2: NVIDIA A40\n" + PAIR).warnings())
                .containsExactly("the text lists 1 GPU from GPU2 on that the table does not have: left out");
        Machine other = new MachineReader(MatrixUnit.CLASSES, new StatedSpeeds(0, 0, 0, "NVIDIA L4"))
                .parse("topo.txt", "GPU 0,1: NVIDIA A40\n" + PAIR);
        assertThat(other.warnings()).singleElement().asString().contains("NVIDIA A40", "ignored", "NVIDIA L4");
    }

    @Test
    void takesEachOfSeveralModelsForItself() {
        Machine machine = read("GPU 0: NVIDIA A40\nGPU 1: NVIDIA H100 PCIe\n" + PAIR);
        assertThat(machine.links())
                .filteredOn(link -> link.kind() == Link.Kind.PCIE)
                .extracting(link -> link.gbsFrom(link.a()))
                .contains(24.0, 48.0);
        assertThat(LinkMatrix.of(machine).gbs(0, 1)).isEqualTo(24);
        assertThat(machine.warnings()).singleElement().asString().contains("2 models", "NVIDIA A40; NVIDIA H100 PCIe");
    }

    @ParameterizedTest
    @ValueSource(strings = {"CNS", "GNS", "TNS", "NS", "DR"})
    void readsPeerAccessBeforeAndAfterTheTable(String status) {
        for (String text :
                List.of(peers("", status) + PAIR, PAIR + "\n" + peers("$ nvidia-smi topo -p2p r\n", status))) {
            Machine machine = read(text);
            assertThat(NoPeerAccess.between(machine, 0, 1)).isTrue();
            assertThat(machine.warnings()).isEmpty();
        }
        assertThat(NoPeerAccess.between(read(PAIR + "\n" + peers("", "OK")), 0, 1))
                .isFalse();
        Machine bridged = read(BRIDGED + "\n" + peers("", status));
        assertThat(LinkMatrix.of(bridged).classOf(0, 1)).isEqualTo(LinkMatrix.PCIE);
    }

    @Test
    void aPairThatOneRowAloneRefusesIsRefusedWithAWarning() {
        Machine machine = read(PAIR + "\n" + peers("", "OK").replace("GPU0\tX\tOK", "GPU0\tX\tNS"));
        assertThat(NoPeerAccess.between(machine, 0, 1)).isTrue();
        assertThat(machine.warnings())
                .containsExactly(
                        "\"topo -p2p\" refuses peer access between GPU0 and GPU1 in one row and grants it in the"
                                + " other: counted as refused");
        Machine open = read(PAIR + "\n" + peers("", "NS").replace("GPU0\tX\tNS", "GPU0\tX\tU"));
        assertThat(NoPeerAccess.between(open, 0, 1)).isTrue();
        assertThat(open.warnings()).isEmpty();
    }

    @Test
    void aStatusThatIsNotKnownIsRefused() {
        String table = peers("", "OK");
        for (String text : List.of(
                table.replace("GPU1\tOK", "GPU1\tZZ"),
                table.replace("GPU1\tOK", "GPU1\tX"),
                table.replace("GPU0\tX\tOK", "GPU0\tX\tZZ"),
                table.replace("GPU0\tX", "GPU0\tOK"))) {
            assertThatThrownBy(() -> read(PAIR + "\n" + text))
                    .as(text)
                    .isInstanceOf(InputException.class)
                    .hasMessageContaining("is no status of peer access");
        }
        assertThatThrownBy(() -> read(PAIR + "\n" + peers("", "ZZ")))
                .isInstanceOf(InputException.class)
                .hasMessageStartingWith("topo.txt:5: the table that begins here has neither links nor states of peer");
        assertThat(read(PAIR + "\n" + PAIR).warnings())
                .containsExactly("a second table follows at line 5; only the first is read");
    }

    @Test
    void looksAtWhatAPeerTableIsAbout() {
        Machine overPcie = read(BRIDGED + "\n" + peers("$ nvidia-smi topo -p2p p\n", "NS"));
        assertThat(NoPeerAccess.between(overPcie, 0, 1)).isFalse();
        assertThat(NoPeerAccess.between(read(PAIR + "\n" + peers("$ nvidia-smi topo -p2p p\n", "NS")), 0, 1))
                .isTrue();
        Machine overNvlink = read(PAIR + "\n" + peers("$ nvidia-smi topo -p2p n\n", "NS"));
        assertThat(NoPeerAccess.between(overNvlink, 0, 1)).isFalse();
        assertThat(overNvlink.warnings()).singleElement().asString().contains("topo -p2p n", "line 6");
        assertThatThrownBy(() -> read(PAIR + "\n" + peers("", "NS").replace(" GPU1\tNS\tX\t\n", "")))
                .isInstanceOf(InputException.class)
                .hasMessageContaining("no whole row of its column \"GPU1\"");
    }

    @Test
    void assumesWhatDriversGrantToTheModel() {
        String cards = "GPU 0,1: NVIDIA GeForce RTX 4090\n";
        Machine machine = read(cards + PAIR);
        assertThat(NoPeerAccess.between(machine, 0, 1)).isTrue();
        assertThat(machine.assumed())
                .satisfiesExactly(
                        slots -> assertThat(slots).isEqualTo(SpeedChoice.FULL_SLOTS),
                        access -> assertThat(access).contains("GeForce", "--peer-access yes"));
        Machine patched = read(cards + PAIR, PeerAccess.YES);
        assertThat(NoPeerAccess.between(patched, 0, 1)).isFalse();
        assertThat(patched.assumed()).containsExactly(SpeedChoice.FULL_SLOTS);
        assertThat(NoPeerAccess.between(read(cards + PAIR + "\n" + peers("", "OK")), 0, 1))
                .isFalse();
        Machine measured = read(cards + PAIR + "\n" + peers("", "CNS"), PeerAccess.YES);
        assertThat(NoPeerAccess.between(measured, 0, 1)).isTrue();
        assertThat(measured.warnings())
                .containsExactly("the stated peer access is ignored for pairs of which the text says otherwise");
        assertThat(NoPeerAccess.between(read(PAIR), 0, 1)).isFalse();
        assertThat(NoPeerAccess.between(read(PAIR, PeerAccess.NO), 0, 1)).isTrue();
        for (String other : List.of("RTX 4000 Ada Generation", "RTX 5000 Ada Generation", "GeForce RTX 3090")) {
            assertThat(NoPeerAccess.between(read("GPU 0,1: NVIDIA " + other + "\n" + PAIR), 0, 1))
                    .as(other)
                    .isFalse();
        }
    }

    @Test
    void instancesHaveNeitherNvlinkNorPeerAccess() {
        String list = "GPU 0: NVIDIA A100-SXM4-40GB (UUID: GPU-1)\n"
                + "GPU 1: NVIDIA A100-SXM4-40GB (UUID: GPU-2)\n  MIG 1g.5gb      Device  0: (UUID: MIG-1)\n"
                + "GPU 2: NVIDIA A100-SXM4-40GB (UUID: GPU-3)\n";
        Machine machine = read(list + Fixtures.allToAll(3, "NV12"));
        assertThat(NoPeerAccess.between(machine, 0, 1)).isTrue();
        assertThat(NoPeerAccess.between(machine, 0, 2)).isFalse();
        assertThat(machine.links())
                .noneMatch(link -> link.kind() == Link.Kind.NVLINK && (link.a() == 1 || link.b() == 1));
        assertThat(LinkMatrix.of(machine).gbs(0, 2)).isEqualTo(300);
        assertThat(machine.warnings()).singleElement().asString().contains("GPU1 is divided into MIG instances");
    }

    @Test
    void namesGpusThatAreLostOrHaveNoNvlink() {
        assertThat(read("Unable to determine the device handle for GPU3: 0000:CA:00.0: Unknown Error\n" + PAIR)
                        .warnings())
                .singleElement()
                .asString()
                .contains("lost GPU3");
        String one = """
                GPU0 GPU1 GPU2 GPU3
            GPU0 X NV18 SYS NV18
            GPU1 NV18 X SYS NV18
            GPU2 SYS SYS X SYS
            GPU3 NV18 NV18 SYS X
            """;
        assertThat(read(one).warnings()).singleElement().asString().contains("GPU2 has no NVLink to the others");
        assertThat(read("GPU 0,1,3: NVIDIA H100 80GB HBM3\nGPU 2: NVIDIA A40\n" + one)
                        .warnings())
                .as("another model has none by design")
                .noneMatch(warning -> warning.contains("no NVLink"));
        assertThat(read(BRIDGED).warnings()).isEmpty();
    }

    @Test
    void warnsOfModelsThatCannotHaveTheLinks() {
        String switched = Fixtures.allToAll(4, "NV18");
        assertThat(read("GPU 0-3: Tesla V100-SXM2-16GB\n" + switched).warnings())
                .singleElement()
                .asString()
                .contains(
                        "GPU0, GPU1, GPU2, GPU3 have 18 NVLinks in the table, but GPUs of their model have at most 6");
        assertThat(read("GPU 0-2: NVIDIA H100\nGPU 3: NVIDIA L40S\n" + switched).warnings())
                .anyMatch(warning ->
                        warning.contains("GPU3 has 18 NVLinks in the table, but GPUs of their model have none"));
        assertThat(read("GPU 0-3: NVIDIA H100 80GB HBM3\n" + switched).warnings())
                .isEmpty();
    }

    /** A table of GPUs between which SYS stands. */
    private static String apart(String... affinities) {
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < affinities.length; i++) {
            text.append("\tGPU").append(i);
        }
        text.append("\tCPU Affinity\tNUMA Affinity\n");
        for (int i = 0; i < affinities.length; i++) {
            text.append("GPU").append(i);
            for (int j = 0; j < affinities.length; j++) {
                text.append('\t').append(i == j ? " X " : "SYS");
            }
            text.append('\t').append(affinities[i]).append('\n');
        }
        return text.toString();
    }

    private static long slow(Machine machine) {
        return machine.links().stream()
                .filter(link -> link.kind() == Link.Kind.SOCKET && link.gbsAToB() == 10)
                .count();
    }

    @Test
    void nodesOfOneAffinityAreOneCpu() {
        Machine machine = read(apart("0-7\t0", "0-7\t0", "8-15\t1", "8-15\t1"));
        assertThat(slow(machine)).isEqualTo(1);
        assertThat(LinkMatrix.of(machine).gbs(0, 1)).isEqualTo(12);
        assertThat(LinkMatrix.of(machine).gbs(0, 3)).isEqualTo(10);
        assertThat(machine.assumed()).anyMatch(phrase -> phrase.startsWith("one CPU for GPUs of the same NUMA node"));
        assertThat(machine.warnings()).isEmpty();
    }

    @Test
    void numaNodesAreHalvesOfTwoCpus() {
        Machine machine = read(apart("0-3\t3", "4-7\t1", "8-11\t7", "12-15\t5"));
        assertThat(slow(machine)).isEqualTo(1);
        LinkMatrix links = LinkMatrix.of(machine);
        assertThat(links.gbs(0, 1)).isEqualTo(12);
        assertThat(links.gbs(2, 3)).isEqualTo(12);
        assertThat(links.gbs(1, 2)).isEqualTo(10);
        assertThat(machine.assumed()).anyMatch(phrase -> phrase.startsWith("two CPUs with"));
        assertThat(machine.hubs())
                .filteredOn(hub -> hub.kind() == Hub.Kind.CPU_SOCKET)
                .extracting(Hub::name)
                .containsExactly("node3", "node1", "node7", "node5");
    }

    @Test
    void readsTablesWithoutOuterPipesAndSpelledCodes() {
        Machine table = read("""
              | GPU0 | GPU1 | GPU2 | CPU Affinity
            -- | -- | -- | -- | --
            GPU0 | X | NV2 | SYS | 0-7
            GPU1 | NV2 | X | SYS | 0-7
            GPU2 | SYS | SYS | X | 8-15
            """);
        assertThat(TopoTextFormatTest.labels(table).getFirst()).isEqualTo("X NV2 SYS");
        assertThat(table.devices().getLast().attributes()).containsEntry("cpu_affinity", "8-15");
        for (String escape : List.of("^[", "\\x1b", "\\033")) {
            assertThat(read("\t" + escape + "[4mGPU0\tGPU1\tCPU Affinity" + escape
                                    + "[0m\nGPU0\t X \tNV4\t0-7\nGPU1\tNV4\t X \t0-7\n")
                            .size())
                    .isEqualTo(2);
        }
    }
}

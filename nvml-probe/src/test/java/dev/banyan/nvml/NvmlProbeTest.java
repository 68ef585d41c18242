package dev.banyan.nvml;

import static org.assertj.core.api.Assertions.assertThat;

import dev.banyan.topology.Connection;
import dev.banyan.topology.Device;
import dev.banyan.topology.Hub;
import dev.banyan.topology.Machine;
import dev.banyan.topology.MachineProbe;
import dev.banyan.topology.NoPeerAccess;
import dev.banyan.topology.Routes;
import dev.banyan.topology.format.MachineReader;
import dev.banyan.topology.format.MachineWriter;
import dev.banyan.topology.option.MatrixUnit;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.ServiceLoader;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Whole machines, through the real binding. */
class NvmlProbeTest {
    @TempDir
    Path folder;

    private StandIn standIn;

    @BeforeEach
    void build() {
        standIn = StandIn.in(folder);
    }

    private static Machine preset(String name) {
        return Machine.preset(name);
    }

    private static void assertSameRoutes(Machine read, Machine expected) {
        Routes routes = Routes.of(read);
        Routes wanted = Routes.of(expected);
        assertThat(read.size()).isEqualTo(expected.size());
        for (int a = 0; a < read.size(); a++) {
            for (int b = 0; b < read.size(); b++) {
                assertThat(routes.between(a, b)).as(a + "-" + b).isEqualTo(wanted.between(a, b));
            }
        }
    }

    @Test
    void p3IsThePreset() {
        Machine machine = standIn.play(StandIn.machine("p3.16xlarge")).found();
        assertThat(machine.name()).isEqualTo("8x Tesla V100-SXM2-16GB");
        assertSameRoutes(machine, preset("p3.16xlarge"));
        Device first = machine.devices().getFirst();
        assertThat(first.name()).isEqualTo("GPU0");
        assertThat(first.busId()).isEqualTo("0000:00:17.0");
        assertThat(machine.devices()).extracting(Device::numa).containsExactly(0, 0, 0, 0, 1, 1, 1, 1);
        assertThat(first.attributes())
                .containsEntry("dev", "0")
                .containsEntry("model", "Tesla V100-SXM2-16GB")
                .containsEntry("sm", "70")
                .containsEntry("nvml.memory_bytes", "16945512448")
                .containsEntry("nvml.driver", "535.129.03")
                .containsEntry("nvml.nvlink_version", "2")
                .containsEntry(NoPeerAccess.ATTRIBUTE, "0000:00:1c.0 0000:00:1d.0 0000:00:1e.0");
        assertThat(machine.warnings())
                .containsExactly("the driver grants no peer access between GPU0-GPU5 (TNS, the PCIe topology does not"
                        + " support it) and 11 other pairs: copies between them go through host memory;"
                        + " nvidia-smi topo -p2p w lists all");
    }

    @Test
    void switchesOfABoxAreOneHub() {
        Machine machine = standIn.play(StandIn.machine("dgx-2")).found();
        assertSameRoutes(machine, preset("dgx-2"));
        assertThat(machine.hubs())
                .filteredOn(hub -> hub.kind() == Hub.Kind.NVSWITCH)
                .singleElement()
                .satisfies(hub -> assertThat(hub.reduces()).isFalse());
        assertThat(machine.warnings()).isEmpty();
        assertThat(machine.assumed()).containsExactly("10 GB/s between CPU sockets");
    }

    @Test
    void switchesOfH100AndLaterReduce() {
        Machine machine = standIn.play(StandIn.machine("dgx-2").replace(".0 7 0 ", ".0 9 0 "))
                .found();
        assertThat(machine.devices())
                .allSatisfy(device -> assertThat(device.attributes()).containsEntry("sm", "90"));
        assertThat(machine.hubs())
                .filteredOn(hub -> hub.kind() == Hub.Kind.NVSWITCH)
                .singleElement()
                .satisfies(hub -> assertThat(hub.reduces()).isTrue());
    }

    @Test
    void nvSwitchesThatOnlyLinuxKnowsAreFoundToo() throws Exception {
        standIn = StandIn.in(folder, "-DOLD_DRIVER").play(StandIn.machine("dgx-2"));
        for (String bus : List.of("61", "62", "63", "65", "66", "67", "c1", "c2", "c3", "c5", "c6", "c7")) {
            Path device = Files.createDirectories(folder.resolve("sys/bus/pci/devices/0000:" + bus + ":00.0"));
            Files.writeString(device.resolve("class"), "0x068000\n");
        }
        Path gpu = Files.createDirectories(folder.resolve("sys/bus/pci/devices/0000:e7:00.0"));
        Files.writeString(gpu.resolve("numa_node"), "1\n");
        Machine machine = standIn.found();
        assertSameRoutes(machine, preset("dgx-2"));
        assertThat(machine.devices()).extracting(Device::numa).endsWith(-1, 1);
    }

    @Test
    void theCpuSetsTheSpeedBetweenSockets() throws Exception {
        Files.createDirectory(folder.resolve("proc"));
        Files.writeString(
                folder.resolve("proc/cpuinfo"),
                "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 143\nmodel name\t: A Xeon\n");
        Machine machine = standIn.play(StandIn.machine("dgx-2")).found();
        assertThat(machine.assumed()).containsExactly("22 GB/s between CPU sockets, as NCCL 2.31 counts for this CPU");
    }

    @Test
    void endsThatNobodyKnowsAreLeftOut() {
        standIn = StandIn.in(folder, "-DOLD_DRIVER").play(StandIn.machine("dgx-2"));
        Machine machine = standIn.found();
        assertThat(Routes.of(machine).between(0, 4).kind()).isEqualTo(Connection.Kind.NODE);
        assertThat(machine.warnings())
                .anySatisfy(
                        warning -> assertThat(warning).startsWith("8 NVLinks lead to an unknown device 0000:61:00.0"));
    }

    @Test
    void pcieClassesAndSlotsAreThoseOfTheDriver() {
        Machine machine = standIn.play(StandIn.machine("pcie")).found();
        Routes routes = Routes.of(machine);
        assertThat(routes.between(0, 1)).isEqualTo(new Connection(Connection.Kind.PIX, 0, 24));
        assertThat(routes.between(1, 2)).isEqualTo(new Connection(Connection.Kind.NODE, 0, 12));
        assertThat(routes.between(2, 3).kind()).isEqualTo(Connection.Kind.SYS);
        assertThat(machine.devices()).extracting(Device::numa).containsExactly(0, 0, 0, 1);
        assertThat(machine.warnings()).isEmpty();
    }

    @Test
    void whatIsBrokenIsLeftOutAndReported() {
        Machine machine = standIn.play(StandIn.machine("broken")).found();
        assertThat(machine.devices()).extracting(Device::name).containsExactly("GPU0", "GPU1", "GPU2", "GPU3");
        Routes routes = Routes.of(machine);
        assertThat(routes.between(0, 1)).isEqualTo(new Connection(Connection.Kind.NVLINK, 3, 75));
        assertThat(routes.between(1, 2).kind()).isEqualTo(Connection.Kind.SYS);
        assertThat(routes.between(2, 3)).isEqualTo(new Connection(Connection.Kind.NVLINK, 3, 75));
        assertThat(machine.devices().get(3).attributes()).containsEntry(NoPeerAccess.ATTRIBUTE, "0000:07:00.0");
        assertThat(machine.warnings())
                .containsExactlyInAnyOrder(
                        "GPU4 is in MIG mode, whose partitions reach no other GPU; turn it off by nvidia-smi -i 4 -mig"
                                + " 0 and a reset; the GPU is left out",
                        "GPU5: nvmlDeviceGetHandleByIndex_v2 says NVML_ERROR_GPU_IS_LOST: the GPU has fallen off the"
                            + " bus; reboot, and if it happens again have the board, its power and its slot checked;"
                            + " the GPU is left out",
                        "GPU2 NVLink 5: nvmlDeviceGetNvLinkRemotePciInfo_v2 says NVML_ERROR_UNKNOWN: the driver has"
                                + " failed within; see dmesg for Xid errors, then reboot; the link is left out",
                        "1 NVLink leads to the GPU 0000:90:00.0, which is none of the GPUs here (hidden from this"
                                + " container or job?): left out",
                        "1 NVLink leads to the GPU 0000:b7:00.0, which is none of the GPUs here (hidden from this"
                                + " container or job?): left out",
                        "GPU0-GPU1: the two ends say that 4 and 3 NVLinks are up: the lesser is taken; see nvidia-smi"
                                + " nvlink -s, and reset the GPUs or reboot",
                        "GPU1-GPU2: only GPU1 says that NVLink is up: the pair is taken as PCIe; see nvidia-smi nvlink"
                                + " -s, and reset the GPUs or reboot",
                        "GPU2-GPU3: the two ends say that 3 and 4 NVLinks are up: the lesser is taken; see nvidia-smi"
                                + " nvlink -s, and reset the GPUs or reboot",
                        "the driver grants no peer access between GPU0-GPU3 (DR, it is disabled by a driver setting):"
                                + " copies between them go through host memory; nvidia-smi topo -p2p w lists all");
    }

    @Test
    void unevenSwitchLinksAreReportedAndKept() {
        String fewer = StandIn.machine("dgx-2").replace("link 3 5 2 1 00000000:62:00.0 switch\n", "");
        Machine machine = standIn.play(fewer).found();
        assertThat(Routes.of(machine).between(3, 9).lanes()).isEqualTo(5);
        assertThat(machine.warnings())
                .singleElement()
                .asString()
                .startsWith("fewer than 6 NVLinks to the NVSwitches are up on GPU3 (5)");
    }

    @Test
    void linkStatesAreBelievedBeforePeerStatus() {
        String contradicted = StandIn.machine("p3.16xlarge").replaceAll("(?m)^peer.*\n", "")
                + "peer 0 1 2 5\npeer 5 2 2 0\npeer 2 5 2 0\n";
        Machine machine = standIn.play(contradicted).found();
        assertSameRoutes(machine, preset("p3.16xlarge"));
        assertThat(machine.warnings())
                .hasSize(2)
                .anySatisfy(warning -> assertThat(warning)
                        .startsWith("NVLinks are up, but the driver does not use them between GPU0-GPU1 (NS, "))
                .anySatisfy(warning -> assertThat(warning)
                        .startsWith("the driver grants NVLink, but no link is up between GPU2-GPU5 "));
    }

    @Test
    void linksThatPeersMayNotUseAndLinksToCpusDoNotCount() {
        String other = StandIn.machine("p3.16xlarge")
                .replace("link 0 0 2 1 00000000:00:18.0 gpu", "link 0 0 2 0 00000000:00:18.0 gpu")
                .replace("link 1 0 2 1 00000000:00:17.0 gpu", "link 1 0 2 1 00000000:00:05.0 cpu");
        Machine machine = standIn.play(other).found();
        assertThat(Routes.of(machine).between(0, 1).kind()).isEqualTo(Connection.Kind.PIX);
        assertThat(machine.warnings())
                .anySatisfy(warning -> assertThat(warning).startsWith("1 NVLink leads to CPUs: left out"));
    }

    @Test
    void classesThatContradictEachOtherAreReported() {
        String odd = StandIn.machine("pcie").replace("level 1 2 40", "level 1 2 10");
        Machine machine = standIn.play(odd).found();
        assertThat(Routes.of(machine).between(0, 2).kind()).isEqualTo(Connection.Kind.PIX);
        assertThat(machine.warnings())
                .singleElement()
                .asString()
                .isEqualTo(
                        "PCIe classes contradict each other at GPU0-GPU2 (NODE, others make it PIX): the nearer class"
                                + " is used");
    }

    @ParameterizedTest
    @CsvSource({
        "8 6, 14.0625",
        "6 0, 20",
        "9 0, 25",
        "10 0, 50",
    })
    void lanesAreAsFastAsTheirArchitecture(String sm, double gbs) {
        String other = StandIn.machine("p3.16xlarge").replace(".0 7 0 ", ".0 " + sm + " ");
        assertThat(Routes.of(standIn.play(other).found()).between(0, 1).gbs()).isEqualTo(gbs);
    }

    @ParameterizedTest
    @ValueSource(strings = {"p3.16xlarge", "dgx-2", "pcie", "broken"})
    void machinesCanBeWrittenAndReadAgain(String name) {
        Machine machine = standIn.play(StandIn.machine(name)).found();
        MachineReader reader = new MachineReader(MatrixUnit.CLASSES);
        assertThat(reader.parse("machine.json", MachineWriter.write(machine, "json")))
                .isEqualTo(machine);
        assertSameRoutes(reader.parse("machine.xml", MachineWriter.write(machine, "nccl-xml")), machine);
    }

    @ParameterizedTest
    @ValueSource(strings = {"p3.16xlarge", "dgx-2", "pcie", "broken"})
    void answersAreTheSameEveryTime(String name) {
        standIn.play(StandIn.machine(name));
        assertThat(standIn.probe()).isEqualTo(standIn.probe());
    }

    @Test
    void linksAreAskedForUntilTheFirstThatIsNoLink() {
        standIn.play(StandIn.machine("p3.16xlarge")).found();
        assertThat(standIn.calls())
                .filteredOn(call -> call.function().equals("nvmlDeviceGetNvLinkState"))
                .hasSize(8 * 7)
                .allMatch(call -> call.code() == (call.link() < 6 ? 0 : 2));
        assertThat(standIn.calls())
                .filteredOn(call -> call.function().startsWith("nvmlDeviceGetNvLink") && call.link() > 6)
                .isEmpty();
    }

    @Test
    void eighteenLinksAreTheMost() {
        StringBuilder text = new StringBuilder("driver 535\n");
        for (int gpu = 0; gpu < 2; gpu++) {
            text.append("gpu %d 0000:0%d:00.0 9 0 85520809984 0 5 16 NVIDIA H100 80GB HBM3\nlinks %d 18\n"
                    .formatted(gpu, gpu, gpu));
            for (int link = 0; link < 18; link++) {
                text.append("link %d %d 6 1 ffffffff:ff:1f.0 switch\n".formatted(gpu, link));
            }
        }
        Machine machine = standIn.play(text.toString()).found();
        assertThat(Routes.of(machine).between(0, 1)).isEqualTo(new Connection(Connection.Kind.NVLINK, 18, 450));
        assertThat(standIn.calls()).noneMatch(call -> call.link() >= LinkQueries.MAX_LINKS);
    }

    @Test
    void itIsFoundAsAService() {
        assertThat(ServiceLoader.load(MachineProbe.class))
                .singleElement()
                .satisfies(probe -> assertThat(probe.name()).isEqualTo("nvml"));
    }
}

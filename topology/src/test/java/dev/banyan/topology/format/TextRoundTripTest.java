package dev.banyan.topology.format;

import static org.assertj.core.api.Assertions.assertThat;

import dev.banyan.topology.Device;
import dev.banyan.topology.Hub;
import dev.banyan.topology.Link;
import dev.banyan.topology.LinkMatrix;
import dev.banyan.topology.LinkSpeeds;
import dev.banyan.topology.Machine;
import dev.banyan.topology.Nic;
import dev.banyan.topology.NoPeerAccess;
import dev.banyan.topology.Presets;
import dev.banyan.topology.internal.matrix.MatrixWriter;
import dev.banyan.topology.internal.nvidia.TopoTextWriter;
import dev.banyan.topology.internal.speed.AssumedLinks;
import dev.banyan.topology.option.MatrixUnit;
import dev.banyan.topology.option.StatedSpeeds;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The readers read the same links from the text that the writers write. */
class TextRoundTripTest {
    private static final int MACHINES = 500;
    private static final double LANE_GBS = StatedSpeeds.pcieLaneGbs(3);

    private static void assertSameLinks(Machine again, Machine machine) {
        assertThat(TopoTextFormatTest.labels(again)).isEqualTo(TopoTextFormatTest.labels(machine));
        LinkMatrix expected = LinkMatrix.of(machine);
        LinkMatrix actual = LinkMatrix.of(again);
        assertThat(MatrixFormatTest.classes(actual)).isDeepEqualTo(MatrixFormatTest.classes(expected));
        for (int a = 0; a < machine.size(); a++) {
            for (int b = 0; b < machine.size(); b++) {
                assertThat(actual.gbs(a, b)).as("GB/s %d to %d", a, b).isEqualTo(expected.gbs(a, b));
            }
        }
    }

    @Test
    void topoTextKeepsRandomMachines() {
        Random random = new Random(7);
        for (int i = 0; i < MACHINES; i++) {
            Machine machine = randomMachine(random);
            assertSameLinks(new MachineReader().parse("again", TopoTextWriter.write(machine)), machine);
        }
    }

    static List<Machine> presets() {
        return Presets.all();
    }

    @ParameterizedTest
    @MethodSource("presets")
    void topoTextKeepsTheClassesOfPresets(Machine machine) {
        Machine again = new MachineReader().parse("again", TopoTextWriter.write(machine));

        assertThat(TopoTextFormatTest.labels(again)).isEqualTo(TopoTextFormatTest.labels(machine));
        for (int a = 0; a < machine.size(); a++) {
            for (int b = 0; b < a; b++) {
                assertThat(NoPeerAccess.between(again, a, b)).isEqualTo(NoPeerAccess.between(machine, a, b));
            }
        }
    }

    @ParameterizedTest
    @MethodSource("presets")
    void matricesKeepPresets(Machine preset) {
        LinkMatrix matrix = LinkMatrix.of(preset);
        String classes = MatrixWriter.write(matrix, MatrixUnit.CLASSES);
        String gbs = MatrixWriter.write(matrix, MatrixUnit.GBS);

        LinkMatrix fromClasses = LinkMatrix.of(new MachineReader().parse("classes", classes));
        assertThat(MatrixWriter.write(fromClasses, MatrixUnit.CLASSES)).isEqualTo(classes);
        LinkMatrix fromGbs = LinkMatrix.of(new MachineReader(MatrixUnit.GBS).parse("gbs", gbs));
        assertThat(MatrixWriter.write(fromGbs, MatrixUnit.GBS)).isEqualTo(gbs);
    }

    /** Sockets, bridges, switches and cards at random, with the speeds that text formats assume; NVLinks on top. */
    private static Machine randomMachine(Random random) {
        int n = 1 + random.nextInt(10);
        int cards = random.nextInt(4);
        int sockets = 1 + random.nextInt(2);
        List<Hub> hubs = new ArrayList<>();
        List<Link> links = new ArrayList<>();
        List<Integer> places = new ArrayList<>();
        for (int s = 0; s < sockets; s++) {
            int socket = n + hubs.size();
            hubs.add(Hub.of("socket", Hub.Kind.CPU_SOCKET));
            int bridges = random.nextInt(3);
            for (int b = 0; b < bridges; b++) {
                int bridge = n + hubs.size();
                hubs.add(Hub.of("bridge", Hub.Kind.HOST_BRIDGE));
                links.add(AssumedLinks.pcie(socket, bridge, LinkSpeeds.PCIE_LANES, LANE_GBS));
                addSwitches(random, n, bridge, hubs, links, places);
            }
            if (bridges == 0) {
                addSwitches(random, n, socket, hubs, links, places);
            }
        }
        for (int a = 0; a < n + hubs.size(); a++) {
            for (int b = n; b < a; b++) {
                if (a >= n && isSocket(hubs, a - n) && isSocket(hubs, b - n)) {
                    links.add(Link.duplex(b, a, Link.Kind.SOCKET, 1, LinkSpeeds.SOCKET_GBS, LinkSpeeds.SOCKET_US));
                }
            }
        }
        List<Device> devices = new ArrayList<>();
        for (int device = 0; device < n; device++) {
            devices.add(Device.named("GPU" + device));
            links.add(AssumedLinks.pcie(
                    device, places.get(random.nextInt(places.size())), LinkSpeeds.PCIE_LANES, LANE_GBS));
        }
        List<Nic> nics = new ArrayList<>();
        for (int card = 0; card < cards; card++) {
            nics.add(new Nic("mlx5_" + card, places.get(random.nextInt(places.size())), Map.of()));
        }
        addNvLinks(random, n, hubs, links);
        return new Machine("random", devices, hubs, links, nics, List.of());
    }

    private static boolean isSocket(List<Hub> hubs, int hub) {
        return hubs.get(hub).kind() == Hub.Kind.CPU_SOCKET;
    }

    private static void addSwitches(
            Random random, int n, int parent, List<Hub> hubs, List<Link> links, List<Integer> places) {
        places.add(parent);
        int switches = random.nextInt(3);
        for (int i = 0; i < switches; i++) {
            int hub = n + hubs.size();
            hubs.add(Hub.of("switch", Hub.Kind.PCIE_SWITCH));
            links.add(AssumedLinks.pcie(parent, hub, LinkSpeeds.PCIE_LANES, LANE_GBS));
            places.add(hub);
        }
    }

    private static void addNvLinks(Random random, int n, List<Hub> hubs, List<Link> links) {
        int style = random.nextInt(3);
        if (style == 1) {
            int hub = n + hubs.size();
            hubs.add(Hub.of("NVSwitch", Hub.Kind.NVSWITCH));
            for (int device = 0; device < n; device++) {
                links.add(AssumedLinks.nvLink(device, hub, 18, AssumedLinks.NVLINK_LANE_GBS));
            }
        } else if (style == 2) {
            for (int a = 0; a < n; a++) {
                for (int b = 0; b < a; b++) {
                    if (random.nextInt(3) == 0) {
                        links.add(AssumedLinks.nvLink(b, a, 1 + random.nextInt(2), AssumedLinks.NVLINK_LANE_GBS));
                    }
                }
            }
        }
    }
}

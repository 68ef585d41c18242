package dev.banyan.topology;

import dev.banyan.topology.Link.Kind;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Puts a preset together: n equal GPUs first, then hubs, from the sockets down.
 *
 * <p>What is not in the preset itself comes from {@link LinkSpeeds}; between sockets NCCL's figures are taken, those of
 * {@link Cpu}, but for older Xeons MXNet's 10 GB/s of "PCI-E connection + CPU".
 */
final class PresetBuilder {
    private static final int LANES = LinkSpeeds.PCIE_LANES;

    private final String name;
    private final Gpu gpu;
    private final int size;
    private double gbsPerPcieLane;
    private boolean peerAccessByPcie = true;
    private final int[] numa;
    private final List<Hub> hubs = new ArrayList<>();
    private final List<Link> links = new ArrayList<>();
    private final List<Integer> sockets = new ArrayList<>();

    PresetBuilder(String name, int size, Gpu gpu, int pcieGeneration) {
        this.name = name;
        this.gpu = gpu;
        this.size = size;
        gbsPerPcieLane = LinkSpeeds.pcieLaneGbs(LinkSpeeds.PCIE_GEN3_GTS * (1 << (pcieGeneration - 3)));
        numa = new int[size];
    }

    private int addHub(Hub hub) {
        hubs.add(hub);
        return size + hubs.size() - 1;
    }

    /** CPU sockets, each linked to each other one. */
    PresetBuilder sockets(int count, Cpu cpu) {
        for (int i = 0; i < count; i++) {
            Map<String, String> attributes = new LinkedHashMap<>();
            attributes.put("numaid", Integer.toString(i));
            cpu.addTo(attributes);
            int socket = addHub(new Hub("CPU " + i, Hub.Kind.CPU_SOCKET, attributes));
            for (int other : sockets) {
                links.add(Link.duplex(other, socket, Kind.SOCKET, 1, cpu.gbs, LinkSpeeds.SOCKET_US));
            }
            sockets.add(socket);
        }
        return this;
    }

    /** A PCIe switch under a hub. */
    int pcieSwitch(int parent) {
        long switches =
                hubs.stream().filter(h -> h.kind() == Hub.Kind.PCIE_SWITCH).count();
        int hub = addHub(Hub.of("PCIe switch " + switches, Hub.Kind.PCIE_SWITCH));
        pcie(parent, hub);
        return hub;
    }

    int socket(int index) {
        return sockets.get(index);
    }

    private void pcie(int upper, int lower) {
        links.add(Link.duplex(upper, lower, Kind.PCIE, LANES, LANES * gbsPerPcieLane, LinkSpeeds.PCIE_US));
    }

    /** Hangs devices {@code first..first+count-1} on a hub; {@code socket} is the socket above it. */
    void devices(int hub, int socket, int first, int count) {
        for (int device = first; device < first + count; device++) {
            numa[device] = socket;
            pcie(hub, device);
        }
    }

    /** Equal switches of {@code perSwitch} devices each, shared out evenly to the sockets in order. */
    PresetBuilder switchesOf(int perSwitch) {
        int switches = size / perSwitch;
        for (int i = 0; i < switches; i++) {
            int socket = i * sockets.size() / switches;
            devices(pcieSwitch(socket(socket)), socket, i * perSwitch, perSwitch);
        }
        return this;
    }

    /** Devices with a host bridge each, shared out evenly to the sockets in order. */
    PresetBuilder hostBridges() {
        for (int device = 0; device < size; device++) {
            int socket = device * sockets.size() / size;
            int bridge = addHub(Hub.of("Host bridge " + device, Hub.Kind.HOST_BRIDGE));
            pcie(socket(socket), bridge);
            devices(bridge, socket, device, 1);
        }
        return this;
    }

    /** Devices that hang on their sockets by links of another technology than PCIe, each of so many GB/s one way. */
    PresetBuilder onSockets(double gbs) {
        gbsPerPcieLane = gbs / LANES;
        for (int socket = 0; socket < sockets.size(); socket++) {
            int each = size / sockets.size();
            devices(socket(socket), socket, socket * each, each);
        }
        return this;
    }

    /** Direct links of equally many lanes between all devices. */
    PresetBuilder allToAll(int lanes) {
        List<int[]> pairs = new ArrayList<>();
        for (int a = 0; a < size; a++) {
            for (int b = a + 1; b < size; b++) {
                pairs.add(new int[] {a, b, lanes});
            }
        }
        return direct(pairs.toArray(int[][]::new));
    }

    /** Direct links between devices: {@code {a, b, lanes}} each. */
    PresetBuilder direct(int[][] ends) {
        for (int[] link : ends) {
            int lanes = link[2];
            links.add(Link.duplex(link[0], link[1], gpu.linkKind, lanes, lanes * gpu.gbsPerLane, LinkSpeeds.NVLINK_US));
        }
        return this;
    }

    /**
     * NVSwitches that every device reaches with the same number of lanes, as one hub: the hardware spreads
     * each transfer over all of them by address.
     */
    PresetBuilder nvSwitch(int lanes) {
        double hopUs = LinkSpeeds.nvswitchUs(Integer.parseInt(gpu.architecture));
        boolean reduces = Integer.parseInt(gpu.architecture) >= Hub.FIRST_REDUCING_SM;
        int hub = addHub(new Hub("NVSwitch", Hub.Kind.NVSWITCH, reduces, Map.of()));
        for (int device = 0; device < size; device++) {
            links.add(Link.duplex(device, hub, gpu.linkKind, lanes, lanes * gpu.gbsPerLane, hopUs));
        }
        return this;
    }

    /** The driver grants access to each other's memory to no two devices that no direct link joins. */
    PresetBuilder withoutPeerAccessByPcie() {
        peerAccessByPcie = false;
        return this;
    }

    Machine build() {
        List<Device> devices = new ArrayList<>();
        for (int i = 0; i < size; i++) {
            Map<String, String> attributes = new LinkedHashMap<>();
            attributes.put("model", gpu.model);
            if (!gpu.architecture.isEmpty()) {
                attributes.put(gpu.architectureKey, gpu.architecture);
            }
            devices.add(new Device("GPU" + i, null, numa[i], attributes));
        }
        Machine machine = new Machine(name, devices, hubs, links, List.of(), List.of());
        if (!peerAccessByPcie) {
            for (int a = 0; a < size; a++) {
                for (int b = a + 1; b < size; b++) {
                    machine = isDirect(a, b) ? machine : NoPeerAccess.mark(machine, a, b);
                }
            }
        }
        return machine;
    }

    private boolean isDirect(int a, int b) {
        return links.stream().anyMatch(link -> (link.a() == a || link.b() == a) && link.other(a) == b);
    }
}

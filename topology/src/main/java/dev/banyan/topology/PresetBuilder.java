package dev.banyan.topology;

import dev.banyan.topology.Link.Kind;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Puts a preset together: n equal GPUs first, then hubs, from the sockets down.
 *
 * <p>Bandwidths of PCIe and between sockets are the usable ones that NCCL assumes (its src/graph/topo.h and
 * topo.cc): a PCIe gen3 lane 0.75 GB/s, so 12 for x16, doubled with every generation; between sockets 10
 * for Intel up to Skylake and Cascade Lake, 16 for AMD Rome, 22 for Intel Sapphire Rapids. MXNet's
 * tree KVStore design counts the same 10 GB/s for "PCI-E connection + CPU".
 *
 * <p>Latencies are set so that their sum along a path gives what p2pBandwidthLatencyTest measures for
 * small peer writes: on V100 (DGX-1V, four-GPU nodes) 1.6 to 2.0 us over one NVLink hop, 16.4 to 17.6 us from GPU
 * to GPU through one socket (four PCIe hops) and 18.4 to 19.3 us through two; 2.28 us through DGX-2's
 * NVSwitches and 3.2 to 3.4 us through those of A100 (two hops).
 */
final class PresetBuilder {
    static final double QPI_GBS = 10;
    static final double ROME_GBS = 16;
    static final double SAPPHIRE_RAPIDS_GBS = 22;

    private static final double PCIE_HOP_US = 4.25;
    private static final double SOCKET_HOP_US = 2;
    private static final double DIRECT_HOP_US = 1.8;
    private static final int PCIE_LANES = 16;
    private static final double GEN3_GBS_PER_LANE = 0.75;

    private final String name;
    private final Gpu gpu;
    private final int size;
    private final double gbsPerPcieLane;
    private final int[] numa;
    private final List<Hub> hubs = new ArrayList<>();
    private final List<Link> links = new ArrayList<>();
    private final List<Integer> sockets = new ArrayList<>();

    PresetBuilder(String name, int size, Gpu gpu, int pcieGeneration) {
        this.name = name;
        this.gpu = gpu;
        this.size = size;
        gbsPerPcieLane = GEN3_GBS_PER_LANE * (1 << (pcieGeneration - 3));
        numa = new int[size];
    }

    private int addHub(String hubName, Hub.Kind kind) {
        hubs.add(Hub.of(hubName, kind));
        return size + hubs.size() - 1;
    }

    /** CPU sockets, each linked to each other one. */
    PresetBuilder sockets(int count, double gbs) {
        for (int i = 0; i < count; i++) {
            int socket = addHub("CPU" + i, Hub.Kind.CPU_SOCKET);
            for (int other : sockets) {
                links.add(Link.duplex(other, socket, Kind.SOCKET, 1, gbs, SOCKET_HOP_US));
            }
            sockets.add(socket);
        }
        return this;
    }

    /** A PCIe switch under a hub. */
    int pcieSwitch(int parent) {
        long switches = hubs.stream().filter(h -> h.kind() == Hub.Kind.PCIE_SWITCH).count();
        int hub = addHub("PCIe switch " + switches, Hub.Kind.PCIE_SWITCH);
        pcie(parent, hub);
        return hub;
    }

    int socket(int index) {
        return sockets.get(index);
    }

    private void pcie(int upper, int lower) {
        links.add(Link.duplex(upper, lower, Kind.PCIE, PCIE_LANES, PCIE_LANES * gbsPerPcieLane, PCIE_HOP_US));
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

    /** Direct links between devices: {@code {a, b, lanes}} each. */
    PresetBuilder direct(int[][] wires) {
        for (int[] wire : wires) {
            int lanes = wire[2];
            links.add(Link.duplex(wire[0], wire[1], gpu.linkKind, lanes, lanes * gpu.gbsPerLane, DIRECT_HOP_US));
        }
        return this;
    }

    /**
     * NVSwitches that every device reaches with the same number of lanes, as one hub: the hardware spreads
     * each transfer over all of them by address.
     */
    PresetBuilder nvSwitch(int lanes, double hopUs) {
        int hub = addHub("NVSwitch", Hub.Kind.NVSWITCH);
        for (int device = 0; device < size; device++) {
            links.add(Link.duplex(device, hub, gpu.linkKind, lanes, lanes * gpu.gbsPerLane, hopUs));
        }
        return this;
    }

    Preset describedAs(String description, String... aliases) {
        List<Device> devices = new ArrayList<>();
        for (int i = 0; i < size; i++) {
            Map<String, String> attributes = new LinkedHashMap<>();
            attributes.put("model", gpu.model);
            if (!gpu.architecture.isEmpty()) {
                attributes.put(gpu.architectureKey, gpu.architecture);
            }
            devices.add(new Device("GPU" + i, null, numa[i], attributes));
        }
        return new Preset(name, List.of(aliases), description, new Machine(name, devices, hubs, links, List.of(),
                List.of()));
    }
}

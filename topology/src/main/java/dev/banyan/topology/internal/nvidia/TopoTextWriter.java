package dev.banyan.topology.internal.nvidia;

import dev.banyan.topology.Connection;
import dev.banyan.topology.Device;
import dev.banyan.topology.Machine;
import dev.banyan.topology.Nic;
import dev.banyan.topology.NoPeerAccess;
import dev.banyan.topology.Routes;
import dev.banyan.topology.internal.peer.RefusedPairs;
import java.util.List;

/**
 * Writes a machine as {@code nvidia-smi topo -m} would print it, to compare it with a real one; where pairs have no
 * peer access, the table of {@code topo -p2p} follows. Bandwidths and hubs are lost; a pair without any path is written
 * as SYS, as it can only go through the host.
 */
public final class TopoTextWriter {
    /** Attribute of a device: the CPUs near it, as {@code topo -m} prints them. */
    static final String CPU_AFFINITY = "cpu_affinity";
    /** Attribute of a device: the NUMA column where it is not one node. */
    static final String NUMA_AFFINITY = "numa_affinity";

    private static final String LEGEND = """

        Legend:

          X    = Self
          SYS  = Connection traversing PCIe as well as the SMP interconnect between NUMA nodes (e.g., QPI/UPI)
          NODE = Connection traversing PCIe as well as the interconnect between PCIe Host Bridges within a NUMA node
          PHB  = Connection traversing PCIe as well as a PCIe Host Bridge (typically the CPU)
          PXB  = Connection traversing multiple PCIe bridges (without traversing the PCIe Host Bridge)
          PIX  = Connection traversing at most a single PCIe bridge
          NV#  = Connection traversing a bonded set of # NVLinks
        """;

    private TopoTextWriter() {}

    /** The text, with tabs between columns and a line end after every line. */
    public static String write(Machine machine) {
        Routes routes = Routes.of(machine);
        int gpus = machine.size();
        int ends = gpus + machine.nics().size();
        StringBuilder text = new StringBuilder();
        labels(ends, gpus, text);
        text.append("\tCPU Affinity\tNUMA Affinity\n");
        for (int a = 0; a < ends; a++) {
            text.append(label(a, gpus));
            for (int b = 0; b < ends; b++) {
                Connection connection = routes.between(a, b);
                text.append('\t').append(connection.kind() == Connection.Kind.NONE ? "SYS" : connection.label());
            }
            if (a < gpus) {
                Device device = machine.devices().get(a);
                String numa = device.numa() >= 0
                        ? Integer.toString(device.numa())
                        : device.attributes().getOrDefault(NUMA_AFFINITY, "N/A");
                text.append('\t').append(device.attributes().getOrDefault(CPU_AFFINITY, ""));
                text.append('\t').append(numa);
            }
            text.append('\n');
        }
        text.append(LEGEND);
        List<Nic> nics = machine.nics();
        if (!nics.isEmpty()) {
            text.append("\nNIC Legend:\n\n");
            for (int i = 0; i < nics.size(); i++) {
                text.append("  NIC")
                        .append(i)
                        .append(": ")
                        .append(nics.get(i).name())
                        .append('\n');
            }
        }
        if (RefusedPairs.any(machine)) {
            peers(machine, text);
        }
        return text.toString();
    }

    private static void peers(Machine machine, StringBuilder text) {
        int gpus = machine.size();
        text.append('\n');
        labels(gpus, gpus, text);
        text.append('\n');
        for (int a = 0; a < gpus; a++) {
            text.append(label(a, gpus));
            for (int b = 0; b < gpus; b++) {
                text.append('\t').append(a == b ? "X" : NoPeerAccess.between(machine, a, b) ? "NS" : "OK");
            }
            text.append('\n');
        }
        text.append("""

            Legend:

              X    = Self
              OK   = Status Ok
              NS   = Not supported
            """);
    }

    private static void labels(int ends, int gpus, StringBuilder text) {
        for (int end = 0; end < ends; end++) {
            text.append('\t').append(label(end, gpus));
        }
    }

    private static String label(int end, int gpus) {
        return end < gpus ? "GPU" + end : "NIC" + (end - gpus);
    }
}

package dev.banyan.study.machine;

import com.fasterxml.jackson.annotation.JsonInclude;
import dev.banyan.topology.Connection;
import dev.banyan.topology.LinkMatrix;
import dev.banyan.topology.Machine;
import dev.banyan.topology.NoPeerAccess;
import dev.banyan.topology.Routes;
import dev.banyan.topology.internal.text.LinkNames;
import java.util.List;
import java.util.function.IntFunction;
import java.util.stream.IntStream;

/**
 * The report of {@code banyan topo}, in the order of its JSON.
 *
 * @param devices number of devices
 * @param nvlinkConnected whether NVLinks alone connect all devices
 * @param rows one per device
 * @param nics the network interfaces of the description
 * @param warnings one sentence each
 * @param noPeerAccess pairs of devices that must not touch each other's memory, each two indices from 0
 */
public record TopoReport(
        int devices,
        boolean nvlinkConnected,
        List<RowReport> rows,
        @JsonInclude(JsonInclude.Include.NON_EMPTY) List<NicReport> nics,
        List<String> warnings,
        List<List<Integer>> noPeerAccess) {
    /**
     * The links of a device to each of all.
     *
     * @param name what the description calls the device
     * @param weights of the link matrix
     * @param gbs bandwidth one way, from this device, in GB/s
     * @param classes before the rule: 0 none, 1 PCIe, 2 one NVLink, 3 two or more
     * @param connections to all devices and then all network interfaces, in the words of {@code nvidia-smi topo -m}
     */
    public record RowReport(
            String name, List<Double> weights, List<Double> gbs, List<Integer> classes, List<String> connections) {}

    /** A network interface and its connections, as those of a device. */
    public record NicReport(String name, List<String> connections) {}

    public static TopoReport of(Machine machine, LinkMatrix links, List<String> warnings) {
        int n = links.size();
        Routes routes = Routes.of(machine);
        int ends = n + machine.nics().size();
        return new TopoReport(
                n,
                links.nvlinkConnected(),
                IntStream.range(0, n)
                        .mapToObj(device -> new RowReport(
                                machine.devices().get(device).name(),
                                row(n, other -> links.weight(device, other)),
                                row(n, other -> links.gbs(device, other)),
                                row(n, other -> links.classOf(device, other)),
                                row(ends, other -> label(machine, routes.between(device, other)))))
                        .toList(),
                IntStream.range(n, ends)
                        .mapToObj(nic -> new NicReport(
                                machine.nics().get(nic - n).name(),
                                row(ends, other -> label(machine, routes.between(nic, other)))))
                        .toList(),
                warnings,
                noPeerAccess(machine));
    }

    private static List<List<Integer>> noPeerAccess(Machine machine) {
        return IntStream.range(0, machine.size())
                .boxed()
                .flatMap(a -> IntStream.range(a + 1, machine.size())
                        .filter(b -> NoPeerAccess.between(machine, a, b))
                        .mapToObj(b -> List.of(a, b)))
                .toList();
    }

    private static String label(Machine machine, Connection connection) {
        return connection.kind() == Connection.Kind.NVLINK
                ? connection.label().replace("NV", LinkNames.direct(machine).replace("NVLink", "NV"))
                : connection.label();
    }

    private static <T> List<T> row(int n, IntFunction<T> cell) {
        return IntStream.range(0, n).mapToObj(cell).toList();
    }
}

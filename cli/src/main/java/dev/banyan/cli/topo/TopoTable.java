package dev.banyan.cli.topo;

import dev.banyan.cli.output.Assumptions;
import dev.banyan.cli.output.TerminalText;
import dev.banyan.study.machine.ChosenMachine;
import dev.banyan.study.machine.TopoReport;
import dev.banyan.study.machine.TopoReport.NicReport;
import dev.banyan.study.machine.TopoReport.RowReport;
import dev.banyan.study.text.Numbers;
import dev.banyan.study.text.TextTable;
import dev.banyan.topology.Connection;
import dev.banyan.topology.Device;
import dev.banyan.topology.Hub;
import dev.banyan.topology.Machine;
import dev.banyan.topology.Routes;
import dev.banyan.topology.internal.text.LinkNames;
import dev.banyan.topology.internal.text.ModelNames;
import java.io.PrintWriter;
import java.util.Iterator;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/** Prints the links of a machine for people. */
public record TopoTable(ChosenMachine chosen, TopoReport report) {
    public void print(PrintWriter out) {
        Machine machine = chosen.machine();
        String title = "# " + TerminalText.of(machine.name()) + ": ";
        int devices = report.devices();
        if (devices == 0) {
            out.println(title + "no devices");
            return;
        }
        String direct = LinkNames.direct(machine);
        boolean hasDirect =
                machine.links().stream().anyMatch(link -> link.kind().isNvLinkClass());
        String connected = (report.nvlinkConnected()
                        ? "connected by %s"
                        : hasDirect ? "not connected by %s alone" : "without %s")
                .formatted(direct);
        out.println(title + (devices == 1 ? "1 device" : devices + " devices, " + connected));
        String models = ModelNames.counted(machine.devices().stream()
                .flatMap(device -> Stream.ofNullable(device.attributes().get("model"))));
        if (!models.isEmpty() && !machine.name().equals(models)) {
            out.println("# " + TerminalText.of(models));
        }
        Assumptions.line(chosen.assumed()).ifPresent(line -> out.println("# " + line));
        List<RowReport> rows = report.rows();
        List<List<Integer>> noPeerAccess = report.noPeerAccess();
        if (!noPeerAccess.isEmpty()) {
            String pairs = noPeerAccess.size() == devices * (devices - 1) / 2
                    ? "any two devices"
                    : noPeerAccess.stream()
                            .map(pair ->
                                    TerminalText.of(rows.get(pair.getFirst()).name() + " and "
                                            + rows.get(pair.getLast()).name()))
                            .collect(Collectors.joining(", "));
            out.println("# no peer access between " + pairs + ": copies between them go through the host");
        }
        List<String> names = Stream.concat(
                        rows.stream().map(RowReport::name),
                        report.nics().stream().map(NicReport::name))
                .map(TerminalText::of)
                .toList();
        List<List<String>> connections = Stream.concat(
                        rows.stream().map(RowReport::connections),
                        report.nics().stream().map(NicReport::connections))
                .toList();
        long numaNodes = machine.devices().stream().map(Device::numa).distinct().count();
        long sockets = machine.hubs().stream()
                .filter(hub -> hub.kind() == Hub.Kind.CPU_SOCKET)
                .count();
        if (sockets == 1 && numaNodes > 1) {
            out.println("# " + numaNodes + " NUMA nodes without SYS between them: they count as one socket");
        }
        String shared = sharedSwitches(machine);
        if (!shared.isEmpty()) {
            out.println("# GPUs that share a PCIe switch: " + TerminalText.of(shared));
        }
        printMatrix(
                out,
                (direct.equals("NVLink") ? "NV#: that many NVLinks" : direct + "#: that many links")
                        + "; PIX, PXB: PCIe switches; PHB, NODE: host bridges; SYS: between NUMA nodes"
                        + (connections.stream().anyMatch(row -> row.contains("-")) ? "; -: no path is described" : ""),
                names,
                connections.stream());
        printMatrix(
                out,
                "GB/s one way, from row to column; 0 where trees have no link"
                        + (machine.hubs().stream().anyMatch(hub -> hub.kind() == Hub.Kind.NVSWITCH)
                                ? "; behind an NVSwitch, a GPU's rate to all others together"
                                : ""),
                names.subList(0, devices),
                rows.stream().map(row -> row.gbs().stream().map(Numbers::plain).toList()));
    }

    /** Returns the devices of each PCIe switch that the table does not show, as NVLinks lie beside it. */
    private static String sharedSwitches(Machine machine) {
        Routes routes = Routes.of(machine);
        return IntStream.range(0, machine.hubs().size())
                .filter(hub -> machine.hubs().get(hub).kind() == Hub.Kind.PCIE_SWITCH)
                .mapToObj(hub -> IntStream.range(0, machine.size())
                        .filter(device -> areLinked(machine, device, machine.size() + hub))
                        .boxed()
                        .toList())
                .filter(devices -> devices.stream()
                        .anyMatch(device ->
                                routes.between(devices.getFirst(), device).kind() == Connection.Kind.NVLINK))
                .map(devices -> devices.stream()
                        .map(device -> machine.devices().get(device).name())
                        .collect(Collectors.joining(" and ")))
                .collect(Collectors.joining("; "));
    }

    private static boolean areLinked(Machine machine, int device, int hub) {
        return machine.links().stream()
                .anyMatch(link -> Math.min(link.a(), link.b()) == device && Math.max(link.a(), link.b()) == hub);
    }

    private static void printMatrix(PrintWriter out, String title, List<String> names, Stream<List<String>> cells) {
        out.println("#");
        out.println("# " + title);
        TextTable table = new TextTable(line("", names));
        Iterator<String> name = names.iterator();
        cells.forEach(row -> table.row(line(name.next(), row)));
        table.lines().forEach(out::println);
    }

    private static List<String> line(String first, List<String> others) {
        return Stream.concat(Stream.of(first), others.stream()).toList();
    }
}

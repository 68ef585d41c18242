package dev.banyan.cli.topo;

import com.fasterxml.jackson.annotation.JsonIgnore;
import com.fasterxml.jackson.annotation.JsonInclude;
import dev.banyan.cli.output.Assumptions;
import dev.banyan.cli.output.TerminalText;
import dev.banyan.cli.output.TextTable;
import dev.banyan.study.text.Numbers;
import dev.banyan.topology.Connection;
import dev.banyan.topology.LinkMatrix;
import dev.banyan.topology.Machine;
import dev.banyan.topology.NoPeerAccess;
import dev.banyan.topology.Routes;
import dev.banyan.topology.internal.text.LinkNames;
import java.io.PrintWriter;
import java.util.Iterator;
import java.util.List;
import java.util.function.IntFunction;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * The report of {@code banyan topo}, in the order of its JSON.
 *
 * @param machine the machine's name
 * @param devices number of devices
 * @param nvlinkConnected whether NVLinks alone connect all devices
 * @param rows one per device
 * @param nics the network interfaces of the description
 * @param warnings one sentence each
 * @param noPeerAccess pairs of devices that must not touch each other's memory, each two indices from 0
 * @param assumed speeds that the description leaves open
 * @param direct the kind of link that joins GPUs directly: NVLink or xGMI
 */
public record TopoReport(
        @JsonIgnore String machine,
        int devices,
        boolean nvlinkConnected,
        List<RowReport> rows,
        @JsonInclude(JsonInclude.Include.NON_EMPTY) List<NicReport> nics,
        List<String> warnings,
        List<List<Integer>> noPeerAccess,
        @JsonIgnore List<String> assumed,
        @JsonIgnore String direct) {
    /**
     * The links of a device to each of all.
     *
     * @param name what the description calls the device
     * @param weights of the link matrix
     * @param gbs bandwidth one way, from this device, in GB/s
     * @param classes before the rule: 0 none, 1 PCIe, 2 one NVLink, 3 two or more
     * @param connections to all devices and then all network interfaces, in the words of {@code nvidia-smi topo -m}
     */
    record RowReport(
            String name, List<Double> weights, List<Double> gbs, List<Integer> classes, List<String> connections) {}

    /** A network interface and its connections, as those of a device. */
    record NicReport(String name, List<String> connections) {}

    public static TopoReport of(Machine machine, LinkMatrix links, List<String> warnings) {
        int n = links.size();
        Routes routes = Routes.of(machine);
        int ends = n + machine.nics().size();
        return new TopoReport(
                machine.name(),
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
                noPeerAccess(machine),
                machine.assumed(),
                LinkNames.direct(machine));
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

    public void printTable(PrintWriter out) {
        String title = "# " + TerminalText.of(machine) + ": ";
        if (devices == 0) {
            out.println(title + "no devices");
            return;
        }
        String connected = (nvlinkConnected ? "connected by %s" : "not connected by %s alone").formatted(direct);
        out.println(title + (devices == 1 ? "1 device" : devices + " devices, " + connected));
        Assumptions.line(assumed).ifPresent(line -> out.println("# " + line));
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
                        rows.stream().map(RowReport::name), nics.stream().map(NicReport::name))
                .map(TerminalText::of)
                .toList();
        printMatrix(
                out,
                (direct.equals("NVLink") ? "NV#: that many NVLinks" : direct + "#: that many links")
                        + "; PIX, PXB: PCIe switches; PHB, NODE: host bridges; SYS: between sockets",
                names,
                Stream.concat(
                        rows.stream().map(RowReport::connections), nics.stream().map(NicReport::connections)));
        printMatrix(
                out,
                "GB/s one way, from row to column; 0 where trees have no link",
                names.subList(0, devices),
                rows.stream().map(row -> row.gbs().stream().map(Numbers::plain).toList()));
    }

    private static void printMatrix(PrintWriter out, String title, List<String> names, Stream<List<String>> cells) {
        out.println("#");
        out.println("# " + title);
        TextTable table =
                new TextTable(Stream.concat(Stream.of(""), names.stream()).toArray(String[]::new));
        Iterator<String> name = names.iterator();
        cells.forEach(row ->
                table.row(Stream.concat(Stream.of(name.next()), row.stream()).toArray(String[]::new)));
        table.lines().forEach(out::println);
    }
}

package dev.banyan.cli.topo;

import com.fasterxml.jackson.annotation.JsonIgnore;
import dev.banyan.cli.output.Assumptions;
import dev.banyan.cli.output.TerminalText;
import dev.banyan.study.text.Numbers;
import dev.banyan.topology.LinkMatrix;
import dev.banyan.topology.Machine;
import dev.banyan.topology.NoPeerAccess;
import dev.banyan.topology.internal.text.LinkNames;
import java.io.PrintWriter;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.function.Function;
import java.util.function.IntFunction;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * The report of {@code banyan topo}, in the order of its JSON.
 *
 * @param machine the machine's name
 * @param devices number of devices
 * @param nvlinkConnected whether NVLinks alone connect all devices
 * @param rows one per device
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
     */
    record RowReport(String name, List<Double> weights, List<Double> gbs, List<Integer> classes) {}

    public static TopoReport of(Machine machine, LinkMatrix links, List<String> warnings) {
        int n = links.size();
        return new TopoReport(
                machine.name(),
                n,
                links.nvlinkConnected(),
                IntStream.range(0, n)
                        .mapToObj(device -> new RowReport(
                                machine.devices().get(device).name(),
                                row(n, other -> links.weight(device, other)),
                                row(n, other -> links.gbs(device, other)),
                                row(n, other -> links.classOf(device, other))))
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
        printMatrix(
                out, "link matrix: 0 none, 1/n PCIe, 2 one %s, 3 two or more".formatted(direct), RowReport::weights);
        printMatrix(out, "GB/s one way, from row to column; 0 where trees have no link", RowReport::gbs);
    }

    private void printMatrix(PrintWriter out, String title, Function<RowReport, List<Double>> values) {
        out.println("#");
        out.println("# " + title);
        String[][] cells = rows.stream()
                .map(row -> values.apply(row).stream().map(Numbers::plain).toArray(String[]::new))
                .toArray(String[][]::new);
        List<String> shown =
                rows.stream().map(row -> TerminalText.of(row.name())).toList();
        int label = width(shown.toArray(String[]::new));
        int width = Math.max(
                label, Arrays.stream(cells).mapToInt(TopoReport::width).max().orElse(0));
        out.println(line("", label, width, shown::get));
        for (int a = 0; a < devices; a++) {
            String[] row = cells[a];
            out.println(line(shown.get(a), label, width, b -> row[b]));
        }
    }

    private String line(String head, int label, int width, IntFunction<String> cell) {
        StringBuilder line = new StringBuilder(pad(head, -label));
        for (int b = 0; b < devices; b++) {
            line.append("  ").append(pad(cell.apply(b), width));
        }
        return line.toString();
    }

    private static String pad(String text, int width) {
        return String.format(Locale.ROOT, "%" + width + "s", text);
    }

    private static int width(String[] cells) {
        return Arrays.stream(cells).mapToInt(String::length).max().orElse(1);
    }
}

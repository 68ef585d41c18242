package dev.banyan.cli;

import dev.banyan.cli.output.Assumptions;
import dev.banyan.cli.output.Numbers;
import dev.banyan.cli.output.TerminalText;
import dev.banyan.topology.Device;
import dev.banyan.topology.LinkMatrix;
import dev.banyan.topology.Machine;
import java.io.PrintWriter;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.function.IntFunction;

/**
 * What {@code banyan topo} reports, in the order of its JSON.
 *
 * @param machine the machine's name
 * @param devices number of devices
 * @param names what the description calls each device
 * @param matrix weights of the link matrix
 * @param gbs one-way bandwidth from row to column in GB/s
 * @param nvlinkConnected whether NVLinks alone connect all devices
 * @param warnings one sentence each
 * @param assumed speeds that the description leaves open
 * @param classes classes of the pairs before the rule: 0 none, 1 PCIe, 2 one NVLink, 3 two or more
 */
record TopoReport(
        String machine,
        int devices,
        List<String> names,
        List<double[]> matrix,
        List<double[]> gbs,
        boolean nvlinkConnected,
        List<String> warnings,
        List<String> assumed,
        List<int[]> classes) {
    static TopoReport of(Machine machine, LinkMatrix links, List<String> warnings) {
        int n = links.size();
        double[][] matrix = new double[n][n];
        double[][] gbs = new double[n][n];
        int[][] classes = new int[n][n];
        for (int a = 0; a < n; a++) {
            for (int b = 0; b < n; b++) {
                matrix[a][b] = links.weight(a, b);
                gbs[a][b] = links.gbs(a, b);
                classes[a][b] = links.classOf(a, b);
            }
        }
        List<String> names = machine.devices().stream().map(Device::name).toList();
        return new TopoReport(
                machine.name(),
                n,
                names,
                List.of(matrix),
                List.of(gbs),
                links.nvlinkConnected(),
                warnings,
                machine.assumed(),
                List.of(classes));
    }

    void printTable(PrintWriter out) {
        String title = "# " + TerminalText.of(machine) + ": ";
        if (devices == 0) {
            out.println(title + "no devices");
            return;
        }
        String connected = nvlinkConnected ? "connected by NVLink" : "not connected by NVLink alone";
        out.println(title + (devices == 1 ? "1 device" : devices + " devices, " + connected));
        Assumptions.line(assumed).ifPresent(line -> out.println("# " + line));
        printMatrix(out, "link matrix: 0 none, 1/n PCIe, 2 one NVLink, 3 two NVLinks or more", matrix);
        printMatrix(out, "GB/s one way, from row to column; 0 where trees have no link", gbs);
    }

    private void printMatrix(PrintWriter out, String title, List<double[]> values) {
        out.println("#");
        out.println("# " + title);
        String[][] cells = values.stream()
                .map(row -> Arrays.stream(row).mapToObj(Numbers::plain).toArray(String[]::new))
                .toArray(String[][]::new);
        List<String> shown = names.stream().map(TerminalText::of).toList();
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

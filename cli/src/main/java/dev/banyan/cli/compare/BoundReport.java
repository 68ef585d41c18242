package dev.banyan.cli.compare;

import com.fasterxml.jackson.annotation.JsonIgnore;
import com.fasterxml.jackson.annotation.JsonInclude;
import dev.banyan.cli.input.ChosenMachine;
import dev.banyan.cli.output.Assumptions;
import dev.banyan.cli.output.CertificateReport;
import dev.banyan.cli.output.Numbers;
import dev.banyan.cli.output.TableFormat;
import dev.banyan.cli.output.TerminalText;
import dev.banyan.cli.output.TextTable;
import dev.banyan.schedule.type.Collective;
import dev.banyan.topology.Link;
import dev.banyan.trees.bound.Bound;
import dev.banyan.trees.network.Network;
import java.io.PrintWriter;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The report of {@code banyan bound}, in the order of its JSON.
 *
 * @param machine the machine's name
 * @param devices the devices that take part, by their numbers in the whole machine, in the order of ranks
 * @param relays devices that may forward for them
 * @param rows one per collective
 * @param warnings one sentence each
 * @param assumed speeds that the description leaves open
 * @param rates how PCIe is counted; absent where that needs no word
 */
record BoundReport(
        @JsonIgnore String machine,
        List<Integer> devices,
        List<Integer> relays,
        List<RowReport> rows,
        List<String> warnings,
        @JsonIgnore List<String> assumed,
        @JsonInclude(JsonInclude.Include.NON_EMPTY) String rates) {
    /**
     * The bound of one collective over the links that plans use.
     *
     * @param collective as nccl-tests name it
     * @param root rank, where the collective has one
     * @param counted what the bound counts; absent where that is all that the machine has
     * @param algbwGBs algbw in GB/s, as nccl-tests define it
     * @param busbwGBs the same times nccl-tests' factor
     * @param bound algbw, exact
     * @param certificate why
     * @param beyond greater limits, which count more; absent where the bound is what no schedule can exceed
     */
    @JsonInclude(JsonInclude.Include.NON_EMPTY)
    record RowReport(
            String collective,
            @Nullable Integer root,
            String counted,
            double algbwGBs,
            double busbwGBs,
            String bound,
            CertificateReport certificate,
            List<Limit> beyond) {
        static RowReport of(Collective collective, int root, ChosenMachine chosen, int[] relays, Network network) {
            Bound bound = Limit.bound(collective, network, root);
            double algbw = bound.gbs().doubleValue();
            return new RowReport(
                    collective.label(),
                    collective.hasRoot() ? root : null,
                    Limit.counted(network, collective),
                    algbw,
                    algbw * collective.busFactor(network.ranks()),
                    Numbers.exact(bound.gbs()),
                    CertificateReport.of(bound, network, collective),
                    Limit.beyond(chosen, relays, network, collective, root, bound));
        }
    }

    static BoundReport of(ChosenMachine chosen, int[] relays, int root) {
        Network network = chosen.network(relays);
        return new BoundReport(
                chosen.machine().name(),
                chosen.group(),
                Arrays.stream(relays).boxed().toList(),
                Arrays.stream(Collective.values())
                        .map(collective -> RowReport.of(collective, root, chosen, relays, network))
                        .toList(),
                Stream.concat(chosen.machine().warnings().stream(), network.warnings().stream())
                        .toList(),
                chosen.machine().assumed(),
                countsPcie(network, chosen) ? PcieRates.sentence(chosen.machine()) : "");
    }

    /** Returns whether some bound is one of PCIe links. */
    private static boolean countsPcie(Network network, ChosenMachine chosen) {
        Network all = network.leavesOutLinks() ? chosen.describedLinks() : network;
        return IntStream.range(0, all.arcs()).anyMatch(arc -> all.kind(arc) == Link.Kind.PCIE);
    }

    void print(PrintWriter out, TableFormat format) {
        boolean several = rows.stream().anyMatch(row -> !row.beyond().isEmpty());
        TextTable table = several
                ? new TextTable("collective", "root", "algbw\n(GB/s)", "busbw\n(GB/s)", "counted")
                : new TextTable("collective", "root", "algbw\n(GB/s)", "busbw\n(GB/s)");
        for (RowReport row : rows) {
            addLine(table, several, row, row.algbwGBs(), row.busbwGBs(), row.counted());
            for (Limit limit : row.beyond()) {
                addLine(table, several, row, limit.algbwGBs(), limit.busbwGBs(), limit.counted());
            }
        }
        boolean markdown = format == TableFormat.markdown;
        String comment = markdown ? "" : "# ";
        out.println(comment + TerminalText.of(machine) + ": what no schedule between its " + devices.size()
                + " devices can exceed"
                + (assumed.isEmpty() ? "" : " if what is assumed is right")
                + condition(several, !rates.isEmpty())
                + (relays.isEmpty() ? "" : ", relays " + relays.toString().replace(" ", "")));
        Assumptions.line(assumed).ifPresent(line -> out.println(comment + line));
        if (!rates.isEmpty()) {
            out.println(comment + rates);
        }
        out.println(comment.strip());
        (markdown ? table.markdown() : table.lines()).forEach(out::println);
        out.println(comment.strip());
        String item = markdown ? "- " : comment;
        for (RowReport row : rows) {
            out.println(item + row.collective() + counted(row.counted()) + ": "
                    + TerminalText.of(row.certificate().sentence()));
            for (Limit limit : row.beyond()) {
                out.println(item + row.collective() + counted(limit.counted()) + ": "
                        + TerminalText.of(limit.certificate().sentence()));
            }
        }
    }

    private static void addLine(
            TextTable table, boolean several, RowReport row, double algbw, double busbw, String counted) {
        String root = row.root() == null ? "-" : row.root().toString();
        if (several) {
            table.row(row.collective(), root, Numbers.plain(algbw), Numbers.plain(busbw), counted);
        } else {
            table.row(row.collective(), root, Numbers.plain(algbw), Numbers.plain(busbw));
        }
    }

    /** Returns what the limits depend on. */
    private static String condition(boolean several, boolean rated) {
        if (several) {
            return ", by the links" + (rated ? ", rates" : "") + " and abilities of switches that are counted";
        }
        return rated ? ", by the rates that are counted" : "";
    }

    private static String counted(String counted) {
        return counted.isEmpty() ? "" : " (" + counted + ")";
    }
}

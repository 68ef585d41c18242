package dev.banyan.cli.compare;

import com.fasterxml.jackson.annotation.JsonInclude;
import dev.banyan.cli.input.ChosenMachine;
import dev.banyan.cli.output.CertificateReport;
import dev.banyan.cli.output.Numbers;
import dev.banyan.cli.output.TableFormat;
import dev.banyan.cli.output.TerminalText;
import dev.banyan.cli.output.TextTable;
import dev.banyan.schedule.type.Collective;
import dev.banyan.trees.bound.AllReduceBound;
import dev.banyan.trees.bound.Bound;
import dev.banyan.trees.bound.GatherBound;
import dev.banyan.trees.bound.RootBound;
import dev.banyan.trees.network.Network;
import dev.banyan.trees.packing.allreduce.AllReducePacking;
import java.io.PrintWriter;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * What {@code banyan bound} reports, in the order of its JSON.
 *
 * @param machine the machine's name
 * @param devices the devices that take part, by their numbers in the whole machine, in the order of ranks
 * @param relays devices that may forward for them
 * @param rows one per collective
 * @param multicast by how much reductions in a switch could exceed the bound of an all-reduce, if a switch reduces
 * @param warnings one sentence each
 */
@JsonInclude(JsonInclude.Include.NON_NULL)
record BoundReport(
        String machine,
        List<Integer> devices,
        List<Integer> relays,
        List<RowReport> rows,
        @Nullable String multicast,
        List<String> warnings) {
    /**
     * The bound of one collective.
     *
     * @param collective as nccl-tests name it
     * @param root rank, where the collective has one
     * @param algbwGBs what no schedule can exceed, as nccl-tests define it
     * @param busbwGBs the same times nccl-tests' factor
     * @param bound algbw, exact
     * @param certificate why
     */
    @JsonInclude(JsonInclude.Include.NON_NULL)
    record RowReport(
            String collective,
            @Nullable Integer root,
            double algbwGBs,
            double busbwGBs,
            String bound,
            CertificateReport certificate) {
        static RowReport of(Collective collective, int root, Bound bound, Network network) {
            double algbw = bound.gbs().doubleValue();
            return new RowReport(
                    collective.label(),
                    collective.hasRoot() ? root : null,
                    algbw,
                    algbw * collective.busFactor(network.ranks()),
                    Numbers.exact(bound.gbs()),
                    CertificateReport.of(bound, network, collective));
        }
    }

    static BoundReport of(ChosenMachine chosen, int[] relays, int root) {
        Network network = chosen.network(relays);
        List<RowReport> rows = Arrays.stream(Collective.values())
                .map(collective -> RowReport.of(collective, root, bound(collective, network, root), network))
                .toList();
        double allReduce = bound(Collective.ALL_REDUCE, network, root).gbs().doubleValue();
        return new BoundReport(
                chosen.machine().name(),
                chosen.group(),
                Arrays.stream(relays).boxed().toList(),
                rows,
                MulticastRemark.of(chosen.machine(), allReduce).orElse(null),
                Stream.concat(chosen.machine().warnings().stream(), network.warnings().stream())
                        .toList());
    }

    private static Bound bound(Collective collective, Network network, int root) {
        return switch (collective) {
            case ALL_REDUCE ->
                AllReduceBound.applies(network)
                        ? AllReduceBound.of(network)
                        : AllReducePacking.of(network).bound();
            case REDUCE -> RootBound.reduce(network, root);
            case BROADCAST -> RootBound.broadcast(network, root);
            case REDUCE_SCATTER -> GatherBound.reduceScatter(network);
            case ALL_GATHER -> GatherBound.allGather(network);
        };
    }

    void print(PrintWriter out, TableFormat format) {
        TextTable table = new TextTable("collective", "root", "algbw\n(GB/s)", "busbw\n(GB/s)");
        for (RowReport row : rows) {
            table.row(
                    row.collective(),
                    row.root() == null ? "-" : row.root().toString(),
                    Numbers.plain(row.algbwGBs()),
                    Numbers.plain(row.busbwGBs()));
        }
        boolean markdown = format == TableFormat.markdown;
        String comment = markdown ? "" : "# ";
        out.println(comment + TerminalText.of(machine) + ": what no schedule between its " + devices.size()
                + " devices can exceed"
                + (relays.isEmpty() ? "" : ", relays " + relays.toString().replace(" ", "")));
        out.println(comment.strip());
        (markdown ? table.markdown() : table.lines()).forEach(out::println);
        out.println(comment.strip());
        for (RowReport row : rows) {
            out.println((markdown ? "- " : comment) + row.collective() + ": "
                    + row.certificate().sentence());
        }
        if (multicast != null) {
            out.println((markdown ? "- " : comment) + multicast);
        }
    }
}

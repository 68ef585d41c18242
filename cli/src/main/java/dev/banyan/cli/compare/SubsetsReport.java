package dev.banyan.cli.compare;

import com.fasterxml.jackson.annotation.JsonIgnore;
import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.annotation.JsonProperty;
import dev.banyan.cli.compare.SubsetSummary.Spread;
import dev.banyan.cli.input.ChosenMachine;
import dev.banyan.cli.output.Numbers;
import dev.banyan.cli.output.Progress;
import dev.banyan.cli.output.TableFormat;
import dev.banyan.cli.output.TerminalText;
import dev.banyan.cli.output.TextTable;
import java.io.PrintWriter;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The report of {@code banyan trees --all-subsets}, in the order of its JSON.
 *
 * @param machine the machine's name
 * @param devices the devices whose sets were tried, by their numbers in the whole machine
 * @param sizes figures by size
 * @param total figures over all
 * @param subsets the sets
 * @param listed whether people want to see every set
 */
@JsonInclude(JsonInclude.Include.NON_NULL)
public record SubsetsReport(
        @JsonIgnore String machine,
        List<Integer> devices,
        List<SubsetSummary> sizes,
        SubsetSummary total,
        @JsonProperty("rows") List<SubsetRow> subsets,
        @JsonIgnore boolean listed) {
    /** Greatest number of sets that are tried. */
    public static final int MOST_SETS = 1 << 16;

    private static final int LEAST_SIZE = 3;

    /**
     * Tries every connected set of the chosen devices: those of at least three, or those of one size.
     *
     * @param size the only size, at least 2, or null
     * @param relays what may forward for a set, or null where that was not asked for
     * @throws IllegalArgumentException if there are no such sets or too many: the message says what to do
     */
    public static SubsetsReport of(
            ChosenMachine chosen,
            @Nullable Integer size,
            @Nullable Function<ChosenMachine, int[]> relays,
            PrintWriter err) {
        int n = chosen.group().size();
        int least = size == null ? Math.min(n, LEAST_SIZE) : size;
        int most = size == null ? n : size;
        if (least < 2 || most > n) {
            throw new IllegalArgumentException("--all-subsets=" + size + ": sets have 2.." + n + " devices here");
        }
        BigInteger count = DeviceSets.count(n, least, most);
        if (count.compareTo(BigInteger.valueOf(MOST_SETS)) > 0) {
            throw new IllegalArgumentException(n + " devices have " + count + " subsets, more than " + MOST_SETS
                    + "; name up to 16 devices by --devices, or one small size, e.g. --all-subsets=3");
        }
        List<SubsetRow> rows = new ArrayList<>();
        try (Progress progress = Progress.start("subsets", count.intValueExact(), err)) {
            for (int[] devices : DeviceSets.of(chosen, least, most)) {
                ChosenMachine set = chosen.with(devices);
                int[] forwarding = relays == null ? null : relays.apply(set);
                if (DeviceSets.connected(set, forwarding == null ? new int[0] : forwarding)) {
                    rows.add(SubsetRow.of(set, forwarding));
                }
                progress.step();
            }
        }
        if (rows.isEmpty()) {
            throw new IllegalArgumentException("NVLink connects no such set of the devices of "
                    + chosen.machine().name() + "; name others by --devices");
        }
        List<SubsetSummary> sizes = rows.stream()
                .collect(Collectors.groupingBy(SubsetRow::size, TreeMap::new, Collectors.toList()))
                .values()
                .stream()
                .map(some -> SubsetSummary.of(some.getFirst().size(), some))
                .toList();
        return new SubsetsReport(
                chosen.machine().name(), chosen.group(), sizes, SubsetSummary.of(null, rows), rows, size != null);
    }

    /** Prints the summary by size, or every set of the one size. */
    public void print(PrintWriter out, TableFormat format) {
        TextTable table = listed ? sets() : summary();
        String title = TerminalText.of(machine) + ": " + subsets.size()
                + (subsets.size() == 1 ? " connected subset of " : " connected subsets of ") + devices.size()
                + " devices, ratios to the bound" + (listed ? "" : " as mean (min)");
        if (format == TableFormat.markdown) {
            out.println(title);
            out.println();
            table.markdown().forEach(out::println);
        } else {
            out.println("# " + title);
            out.println("# rate, trees, depth" + (listed ? "" : " and time")
                    + " are those of the packing; kernighan-lin, rings" + " and star as in 'banyan compare'");
            out.println("#");
            table.lines().forEach(out::println);
        }
    }

    private TextTable summary() {
        List<String> columns = new ArrayList<>(List.of(
                "size",
                "subsets",
                "NVLink\nring",
                "min rate\n(GB/s)",
                "mean\n(GB/s)",
                "max\n(GB/s)",
                "packing",
                "kernighan-lin",
                "rings",
                "rings\nover NVLink",
                "star",
                "trees\n(most)",
                "depth\n(most)",
                "planning\n(ms)"));
        boolean relays = total.relayGain() != null;
        if (relays) {
            columns.addAll(List.of("relays gain\nmean (max)", "faster\nwith"));
        }
        TextTable table = new TextTable(columns.toArray(String[]::new));
        for (SubsetSummary summary : sizes) {
            table.row(cells(summary, String.valueOf(summary.size())));
        }
        table.row(cells(total, "all"));
        return table;
    }

    private static String[] cells(SubsetSummary summary, String name) {
        Spread overNvlink = summary.ringsOverNvlink();
        List<String> cells = new ArrayList<>(List.of(
                name,
                String.valueOf(summary.subsets()),
                String.valueOf(summary.nvlinkRings()),
                decimals(summary.rateGBs().min()),
                decimals(summary.rateGBs().mean()),
                decimals(summary.rateGBs().max()),
                meanAndMin(summary.packing()),
                meanAndMin(summary.kernighanLin()),
                meanAndMin(summary.rings()),
                overNvlink == null ? "-" : meanAndMin(overNvlink),
                meanAndMin(summary.star()),
                String.valueOf(summary.mostTrees()),
                String.valueOf(summary.greatestDepth()),
                Numbers.format("%.2f", summary.meanGenerationMs())));
        Spread gain = summary.relayGain();
        if (gain != null) {
            cells.add(Numbers.format("%.2f (%.2f)", gain.mean(), gain.max()));
            cells.add(String.valueOf(summary.fasterWithRelays()));
        }
        return cells.toArray(String[]::new);
    }

    private TextTable sets() {
        List<String> columns = new ArrayList<>(
                List.of("devices", "rate\n(GB/s)", "packing", "kernighan-lin", "rings", "star", "trees", "depth"));
        boolean relays = total.relayGain() != null;
        if (relays) {
            columns.addAll(List.of("with relays\n(GB/s)", "gain"));
        }
        TextTable table = new TextTable(columns.toArray(String[]::new));
        for (SubsetRow row : subsets) {
            List<String> cells = new ArrayList<>(List.of(
                    row.name(),
                    decimals(row.rateGBs()),
                    decimals(row.packing()),
                    decimals(row.kernighanLin()),
                    decimals(row.rings()),
                    decimals(row.star()),
                    String.valueOf(row.trees()),
                    String.valueOf(row.depth())));
            Double withRelays = row.rateWithRelaysGBs();
            if (withRelays != null) {
                cells.add(decimals(withRelays));
                cells.add(Numbers.format("%.2f", row.gain()));
            }
            table.row(cells.toArray(String[]::new));
        }
        return table;
    }

    private static String meanAndMin(Spread ratio) {
        return decimals(ratio.mean()) + " (" + decimals(ratio.min()) + ")";
    }

    private static String decimals(double value) {
        return Numbers.format("%.3f", value);
    }
}

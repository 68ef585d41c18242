package dev.banyan.cli.compare;

import com.fasterxml.jackson.annotation.JsonIgnore;
import com.fasterxml.jackson.annotation.JsonInclude;
import dev.banyan.cli.input.ChosenMachine;
import dev.banyan.cli.input.RelayChoice;
import dev.banyan.cli.output.Assumptions;
import dev.banyan.cli.output.CertificateReport;
import dev.banyan.cli.output.MarkdownText;
import dev.banyan.cli.output.Numbers;
import dev.banyan.cli.output.Progress;
import dev.banyan.cli.output.TableFormat;
import dev.banyan.cli.output.TerminalText;
import dev.banyan.cli.output.TextTable;
import dev.banyan.schedule.plan.AlgorithmChoice;
import dev.banyan.schedule.type.Collective;
import dev.banyan.simulate.Profiles;
import dev.banyan.trees.bound.Bound;
import dev.banyan.trees.network.Network;
import dev.banyan.trees.packing.allreduce.AllReducePacking;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.commons.numbers.fraction.BigFraction;
import org.jspecify.annotations.Nullable;

/**
 * The report of {@code banyan compare}, in the order of its JSON.
 *
 * @param machine the machine's name
 * @param devices the devices that take part, by their numbers in the whole machine, in the order of ranks
 * @param relays devices that may forward for them
 * @param counted what the bound counts; absent where that is all that the machine has
 * @param boundGBs what no allreduce over these links can exceed, with the relays if there are any
 * @param bound the same, exact
 * @param certificate why
 * @param beyond greater limits, which count more; absent where the bound is what no schedule can exceed
 * @param boundWithoutRelaysGBs the bound without relays, where there are any
 * @param hint relays that would make it faster, if there are some and none were named
 * @param rows one per way
 * @param warnings one sentence each
 * @param assumed speeds that the description leaves open
 */
@JsonInclude(JsonInclude.Include.NON_NULL)
record CompareReport(
        @JsonIgnore String machine,
        List<Integer> devices,
        List<Integer> relays,
        @JsonInclude(JsonInclude.Include.NON_EMPTY) String counted,
        double boundGBs,
        String bound,
        CertificateReport certificate,
        @JsonInclude(JsonInclude.Include.NON_EMPTY) List<Limit> beyond,
        @Nullable Double boundWithoutRelaysGBs,
        @Nullable String hint,
        List<RowReport> rows,
        List<String> warnings,
        @JsonIgnore List<String> assumed) {
    /** Steps of progress. */
    static final int STEPS = Contender.values().length + 1;

    /**
     * One way to carry it; without figures where it refuses the machine.
     *
     * @param ratio rate over bound; absent where it goes over links that the bound leaves out, faster than those
     *     that it is about
     * @param depth greatest number of hops between devices from a root to the last; of an imported schedule, in a
     *     chain of steps that wait for each other; absent where a switch reduces
     * @param trees number of trees or rings, where it is known
     * @param generationMs least time to build it, warm, in ms, where it was built
     * @param refusal why there are no figures
     * @param schedule where it was imported from, if it was
     * @param remark what its figures are worth, if they are not those of links alone
     */
    @JsonInclude(JsonInclude.Include.NON_NULL)
    record RowReport(
            String name,
            @Nullable Double rateGBs,
            @Nullable Double ratio,
            @Nullable Integer depth,
            @Nullable Integer trees,
            @Nullable Double generationMs,
            @Nullable String refusal,
            ImportedSchedule.@Nullable Origin schedule,
            @Nullable String remark) {
        static RowReport of(Trial trial, BigFraction bound) {
            WayFigures figures = trial.figures();
            return figures == null
                    ? new RowReport(trial.name(), null, null, null, null, null, trial.refusal(), null, null)
                    : new RowReport(
                            trial.name(),
                            figures.rateGbs().doubleValue(),
                            ratio(figures.rateGbs(), bound),
                            figures.depth(),
                            figures.trees(),
                            trial.generationMs(),
                            null,
                            null,
                            null);
        }

        static @Nullable Double ratio(BigFraction rate, BigFraction bound) {
            return rate.compareTo(bound) > 0
                    ? null
                    : (Double) rate.divide(bound).doubleValue();
        }
    }

    static CompareReport of(
            ChosenMachine chosen,
            int[] relays,
            List<ImportedSchedule> imported,
            List<ImportedRings> rings,
            Progress progress) {
        Network network = chosen.network(relays);
        Bound bound = AllReducePacking.of(network).bound();
        Bound alone = relays.length == 0
                ? null
                : AllReducePacking.of(chosen.network()).bound();
        List<Trial> trials = new ArrayList<>();
        for (Contender contender : Contender.values()) {
            trials.add(Trial.warm(contender, chosen));
            progress.step();
            if (contender == Contender.PACKING && relays.length > 0) {
                trials.add(Trial.warm("packing+relays", () -> {
                    WayFigures figures = WayFigures.of(AllReducePacking.of(chosen.network(relays)));
                    return () -> figures;
                }));
            }
        }
        progress.step();
        List<RowReport> rows = new ArrayList<>();
        trials.forEach(trial -> rows.add(RowReport.of(trial, bound.gbs())));
        List<Limit> beyond = Limit.beyond(chosen, relays, network, Collective.ALL_REDUCE, -1, bound);
        rows.add(nccl(chosen, bound.gbs(), beyond));
        for (ImportedSchedule schedule : imported) {
            rows.add(schedule.row(free(schedule.schedule().algorithm(), rows), chosen, network, bound));
        }
        for (ImportedRings ring : rings) {
            rows.add(ring.row(free("nccl file", rows), bound.gbs()));
        }
        return new CompareReport(
                chosen.machine().name(),
                chosen.group(),
                Arrays.stream(relays).boxed().toList(),
                Limit.counted(network, Collective.ALL_REDUCE),
                bound.gbs().doubleValue(),
                Numbers.exact(bound.gbs()),
                CertificateReport.of(bound, network, Collective.ALL_REDUCE),
                beyond,
                alone == null ? null : alone.gbs().doubleValue(),
                relays.length > 0
                        ? null
                        : RelayChoice.of(chosen).map(RelayChoice::hint).orElse(null),
                List.copyOf(rows),
                Stream.concat(chosen.machine().warnings().stream(), network.warnings().stream())
                        .toList(),
                chosen.machine().assumed());
    }

    /** NCCL as the simulator has it, beside ways that are rated by their links alone. */
    private static RowReport nccl(ChosenMachine chosen, BigFraction bound, List<Limit> beyond) {
        String name = AlgorithmChoice.NCCL.label();
        try {
            SimulatedNccl nccl = new SimulatedNccl(chosen.machine(), Profiles.of(chosen.machine()));
            double rate = nccl.rateGbs(Collective.ALL_REDUCE);
            boolean goesAround = nccl.goesAroundRings(Collective.ALL_REDUCE);
            return new RowReport(
                    name,
                    rate,
                    rate > bound.doubleValue() ? null : (Double) (rate / bound.doubleValue()),
                    goesAround ? chosen.machine().size() - 1 : null,
                    goesAround ? nccl.rings().rings().rings().size() : null,
                    null,
                    null,
                    null,
                    nccl.remark() + shareBeyond(rate, bound, beyond));
        } catch (IllegalArgumentException e) {
            return new RowReport(name, null, null, null, null, null, e.getMessage(), null, null);
        }
    }

    /** Returns NCCL's share of the least limit that it does not exceed, if it exceeds the bound. */
    private static String shareBeyond(double rate, BigFraction bound, List<Limit> beyond) {
        return rate <= bound.doubleValue()
                ? ""
                : beyond.stream()
                        .filter(limit -> limit.algbwGBs() >= rate)
                        .findFirst()
                        .map(limit -> String.format(
                                Locale.ROOT,
                                "; %.0f%% of the bound (%s)",
                                100 * rate / limit.algbwGBs(),
                                limit.counted()))
                        .orElse("");
    }

    /** The name, with a number after it where a row before has it. */
    private static String free(String name, List<RowReport> rows) {
        Set<String> taken = rows.stream().map(RowReport::name).collect(Collectors.toSet());
        return IntStream.iterate(1, number -> number + 1)
                .mapToObj(number -> number == 1 ? name : name + " (" + number + ")")
                .filter(candidate -> !taken.contains(candidate))
                .findFirst()
                .orElseThrow();
    }

    void print(PrintWriter out, TableFormat format) {
        TextTable table =
                new TextTable("allreduce", "rate\n(GB/s)", "ratio\nto bound", "depth", "trees", "planning\n(ms)");
        for (RowReport row : rows) {
            if (row.refusal() != null) {
                table.remark(row.name(), "- " + row.refusal());
            } else {
                table.row(
                        TerminalText.of(row.name()),
                        decimals(3, row.rateGBs()),
                        row.ratio() == null ? "-" : decimals(3, row.ratio()),
                        row.depth() == null ? "-" : String.valueOf(row.depth()),
                        row.trees() == null ? "-" : String.valueOf(row.trees()),
                        row.generationMs() == null ? "-" : decimals(2, row.generationMs()));
            }
        }
        List<String> notes = notes();
        if (format == TableFormat.markdown) {
            header().forEach(line -> out.println(MarkdownText.of(line.replaceFirst("^# ", "")) + "\n"));
            table.markdown().forEach(out::println);
            if (!notes.isEmpty()) {
                out.println();
                notes.forEach(line -> out.println("- " + MarkdownText.of(line)));
            }
        } else {
            header().forEach(out::println);
            out.println("#");
            table.lines().forEach(out::println);
            if (!notes.isEmpty()) {
                out.println("#");
                notes.forEach(line -> out.println("# " + line));
            }
        }
    }

    /** Returns the conditions of the figures beside the links of the bound, and the origin of an imported schedule. */
    private List<String> notes() {
        List<String> lines = new ArrayList<>();
        for (RowReport row : rows) {
            if (row.remark() != null) {
                lines.add(TerminalText.of(row.remark()));
            } else if (row.refusal() == null && row.ratio() == null) {
                lines.add(TerminalText.of(row.name()) + ": faster over links that the bound leaves out (PCIe beside"
                        + " NVLink, or host memory between devices without a path)");
            }
            ImportedSchedule.Origin origin = row.schedule();
            if (origin != null) {
                lines.add(TerminalText.of(row.name() + ": " + origin.task() + ", from " + origin.file()
                        + (origin.collective().equals(Collective.ALL_REDUCE.label())
                                ? ""
                                : "; its bound: " + origin.certificate().sentence())
                        + (origin.allLinks()
                                ? "; goes between devices that the links of the bound do not join, so rated on all"
                                        + " links"
                                : "")));
            }
        }
        return lines;
    }

    private List<String> header() {
        List<String> lines = new ArrayList<>();
        String which = devices.toString().replace(" ", "");
        lines.add("# " + TerminalText.of(machine) + ": allreduce between " + devices.size() + " devices " + which
                + (relays.isEmpty() ? "" : ", relays " + relays.toString().replace(" ", "")));
        lines.add("# bound" + (counted.isEmpty() ? "" : " (" + counted + ")") + ": "
                + TerminalText.of(certificate.sentence())
                + (boundWithoutRelaysGBs == null ? "" : "; without relays " + Numbers.gbs(boundWithoutRelaysGBs)));
        Assumptions.line(assumed).ifPresent(line -> lines.add("# " + line));
        beyond.forEach(limit -> lines.add("# " + limit.sentence()));
        if (hint != null) {
            lines.add("# hint: " + TerminalText.of(hint));
        }
        return lines;
    }

    private static String decimals(int count, @Nullable Double value) {
        return String.format(Locale.ROOT, "%." + count + "f", value);
    }
}

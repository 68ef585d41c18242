package dev.banyan.gpuday;

import dev.banyan.simulate.Constant;
import dev.banyan.simulate.Profile;
import dev.banyan.study.measured.Calibration;
import dev.banyan.study.measured.P2pReader;
import dev.banyan.study.text.FigureText;
import dev.banyan.study.text.Numbers;
import dev.banyan.topology.Machine;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;

/**
 * Computes constants from a folder of {@code scripts/gpu-day.sh}.
 *
 * <ul>
 *   <li>Those of links, and {@code host.duplex}, from its probe, as {@link Calibration} does.
 *   <li>{@code reduceGbs}: what sums of two arrays read and write.
 *   <li>{@code launchUs}: what each further node adds to a graph of independent nodes, from end to end.
 *   <li>{@code kernelUs}: what each further node adds to a chain, less {@code launchUs}.
 *   <li>{@code collectiveUs}: a graph of one node from end to end, less what a node adds to a chain.
 *   <li>{@code copyEngines}: the most copies to peers that ran at once; where there are no peers, to the host. Where
 *       all ran at once that is a lower bound, which replaces smaller values only.
 *   <li>{@code program.launchStepUs}: what each further GPU adds to the host's time of launches by a thread for each;
 *       it stays with one GPU.
 *   <li>{@code program.launchUs}: a kernel on one GPU from end to end, less {@code program.endUs}, which stays.
 *   <li>{@code program.flagUs}: half the median round trip of a flag between two GPUs, relaxed and with a fence.
 *   <li>{@code program.storeFraction}: the median, over pairs of GPUs, of what stores of a kernel reach of a copy.
 * </ul>
 *
 * <p>A constant that is measured has no range.
 */
public final class DayConstants {
    private static final String END_TO_END = "graph launch, end to end";
    private static final String GPUS = "GPUs";
    private static final String COPIES = "copy engines";
    private static final String STORES = "stores of the source's kernel";

    private final DayFolder day;
    private final Profile base;
    private final Map<Constant, Profile.Value> found = new EnumMap<>(Constant.class);

    private DayConstants(DayFolder day, Profile base) {
        this.day = day;
        this.base = base;
    }

    /**
     * A profile with what the folder has.
     *
     * @param machine that was measured
     * @param base the rest
     * @param name of the new profile
     * @throws IllegalArgumentException if the folder has none of the figures, or its probe is of another machine
     */
    public static Calibration calibrate(DayFolder day, Machine machine, Profile base, String name) {
        DayConstants constants = new DayConstants(day, base);
        // Copies within one GPU are no copies between GPUs.
        day.copies()
                .filter(file -> machine.size() > 1)
                .map(P2pReader::read)
                .map(report -> Calibration.of(report, machine, base, name))
                .ifPresent(copies -> copies.measured()
                        .forEach(constant -> constants.found.put(
                                constant,
                                new Profile.Value(
                                        copies.profile().get(constant),
                                        copies.profile().source(constant)))));
        constants.reductions();
        constants.launches();
        constants.copyEngines();
        constants.programLaunches();
        constants.flags();
        constants.stores();
        if (constants.found.isEmpty()) {
            throw new IllegalArgumentException(day
                    + " has no figure that a profile needs: none of probe, graph-launch, reductions, copies-at-once,"
                    + " kernel-launch, flags and peer-bandwidth has measured anything; see its summary.txt");
        }
        Map<Constant, Profile.Value> values = new EnumMap<>(base.constants());
        values.replaceAll((constant, value) -> new Profile.Value(
                value.value(),
                value.low(),
                value.high(),
                "not measured; taken from " + base.name() + ": " + value.source()));
        values.putAll(constants.found);
        return new Calibration(new Profile(name, values), List.copyOf(constants.found.keySet()), List.of());
    }

    private void reductions() {
        day.figures("reductions", "reduction, read and written").stream()
                .filter(figure -> "2".equals(figure.of().get("inputs")))
                .findFirst()
                .ifPresent(figure -> put(
                        Constant.REDUCE_GBS,
                        figure.median(),
                        "sums of two arrays of " + figure.of().get("bytes of each") + " bytes, read and written"
                                + spread(figure)));
    }

    private void launches() {
        Optional<Slope> independent = slope("independent nodes on one GPU");
        Optional<Slope> chain = slope("chain on one GPU");
        independent.ifPresent(
                slope -> put(Constant.LAUNCH_US, slope.perNode(), "a further independent node of " + slope));
        if (independent.isPresent() && chain.isPresent()) {
            put(
                    Constant.KERNEL_US,
                    chain.get().perNode() - independent.get().perNode(),
                    "a further node of " + chain.get() + " that are a chain, less that of one that is independent");
        }
        chain.ifPresent(slope -> put(
                Constant.COLLECTIVE_US,
                slope.first() - slope.perNode(),
                "a graph of one node from end to end, less a further node of a chain, from " + slope));
    }

    /**
     * Times of graphs by their number of nodes.
     *
     * @param first of the smallest graph in us
     * @param last of the largest graph in us
     * @param nodes of the largest graph
     * @param least nodes of the smallest graph
     */
    private record Slope(double first, double last, int nodes, int least) {
        double perNode() {
            return Math.max(0, (last - first) / (nodes - least));
        }

        @Override
        public String toString() {
            return "graphs of " + least + " to " + nodes + " nodes (" + FigureText.us(first) + " and "
                    + FigureText.us(last) + " us)";
        }
    }

    private Optional<Slope> slope(String shape) {
        List<Figure> figures = day.figures("graph-launch", END_TO_END).stream()
                .filter(figure -> shape.equals(figure.of().get("shape")) && nodes(figure) > 0)
                .sorted(Comparator.comparingInt(DayConstants::nodes))
                .toList();
        if (figures.size() < 2) {
            return Optional.empty();
        }
        Figure first = figures.getFirst();
        Figure last = figures.getLast();
        return Optional.of(new Slope(first.median(), last.median(), nodes(last), nodes(first)));
    }

    private static int nodes(Figure figure) {
        return number(figure, "nodes");
    }

    /** A whole number of a figure's setting; 0 where there is none. */
    private static int number(Figure figure, String key) {
        String number = figure.of().getOrDefault(key, "");
        return number.matches("[0-9]{1,7}") ? Integer.parseInt(number) : 0;
    }

    private void copyEngines() {
        for (String way : List.of("to peers, one after the other", "to the host")) {
            List<Figure> figures = day.figures("copies-at-once", "copies that ran at once").stream()
                    .filter(figure -> way.equals(figure.of().get("way")))
                    .toList();
            if (!figures.isEmpty()) {
                copyEngines(way, figures);
                return;
            }
        }
    }

    private void copyEngines(String way, List<Figure> figures) {
        Figure best =
                figures.stream().max(Comparator.comparingDouble(Figure::median)).orElseThrow();
        int tried = figures.stream()
                .mapToInt(figure -> number(figure, "copies"))
                .max()
                .orElseThrow();
        double engines = Math.max(1, Math.rint(best.median()));
        if (engines < tried || engines > base.get(Constant.COPY_ENGINES)) {
            put(
                    Constant.COPY_ENGINES,
                    engines,
                    "copies " + way + " that ran at once, by when the first of " + number(best, "copies") + " ended"
                            + spread(best) + "; up to " + tried + " were tried");
        }
    }

    private void programLaunches() {
        List<Figure> host = launches("kernel launch, host", "one per GPU");
        if (host.size() > 1) {
            Figure one = host.getFirst();
            Figure all = host.getLast();
            put(
                    Constant.PROGRAM_LAUNCH_STEP_US,
                    Math.max(0, all.median() - one.median()) / (number(all, GPUS) - number(one, GPUS)),
                    "the host's time of launches by a thread for each of " + number(one, GPUS) + " to "
                            + number(all, GPUS) + " GPUs" + spread(all));
        }
        launches("kernel launch, end to end", "one for all GPUs").stream()
                .filter(figure -> number(figure, GPUS) == 1)
                .findFirst()
                .ifPresent(figure -> put(
                        Constant.PROGRAM_LAUNCH_US,
                        figure.median() - base.get(Constant.PROGRAM_END_US),
                        "a kernel that does nothing from end to end" + spread(figure) + ", less program.endUs"));
    }

    /** Returns figures of launches, from few GPUs on. */
    private List<Figure> launches(String name, String threads) {
        return day.figures("kernel-launch", name).stream()
                .filter(figure -> threads.equals(figure.of().get("threads")))
                .sorted(Comparator.comparingInt(figure -> number(figure, GPUS)))
                .toList();
    }

    private void flags() {
        double[] rounds = day.figures("flags", "flag round trip").stream()
                .filter(figure -> figure.of().getOrDefault("access", "").startsWith("relaxed"))
                .filter(figure -> !figure.of().getOrDefault("between", "").startsWith("two blocks"))
                .mapToDouble(Figure::median)
                .sorted()
                .toArray();
        if (rounds.length > 0) {
            put(
                    Constant.PROGRAM_FLAG_US,
                    rounds[rounds.length / 2] / 2,
                    "half a round trip of a flag, relaxed with a fence, median of " + rounds.length + " pairs of GPUs");
        }
    }

    private void stores() {
        List<Figure> all = day.figures("peer-bandwidth", "peer bandwidth");
        double[] fractions = all.stream()
                .filter(figure -> STORES.equals(figure.of().get("by")))
                .flatMapToDouble(figure -> all.stream()
                        .filter(copy -> COPIES.equals(copy.of().get("by"))
                                && Objects.equals(
                                        copy.of().get("from"), figure.of().get("from"))
                                && Objects.equals(
                                        copy.of().get("to"), figure.of().get("to")))
                        .mapToDouble(copy -> figure.median() / copy.median()))
                .sorted()
                .toArray();
        if (fractions.length > 0) {
            put(
                    Constant.PROGRAM_STORE_FRACTION,
                    fractions[fractions.length / 2],
                    "stores of a kernel over copies, median of " + fractions.length + " pairs of GPUs");
        }
    }

    private static String spread(Figure figure) {
        return ", median of " + figure.samples() + " from " + FigureText.constant(figure.least()) + " to "
                + FigureText.constant(figure.greatest());
    }

    /** Leaves out what is impossible, which only a figure of no meaning can be. */
    private void put(Constant constant, double value, String source) {
        double rounded = Double.parseDouble(Numbers.format("%.4f", Math.max(0, value)));
        if (constant.allows(rounded)) {
            found.put(constant, new Profile.Value(rounded, day + ": " + source));
        }
    }
}

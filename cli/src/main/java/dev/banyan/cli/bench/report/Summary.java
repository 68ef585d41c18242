package dev.banyan.cli.bench.report;

import dev.banyan.cli.bench.call.CopyBound;
import dev.banyan.schedule.plan.AlgorithmChoice;
import dev.banyan.schedule.plan.AlgorithmConfig;
import dev.banyan.simulate.RangedCosts.TimeRange;
import dev.banyan.study.text.ByteSize;
import dev.banyan.study.text.ChoiceText;
import dev.banyan.study.text.Numbers;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.BiFunction;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** The results of a sweep: algorithms side by side, the sizes where one overtakes another, and the bounds. */
public final class Summary {
    private static final int LEAST_WIDTH = 13;
    /** The times that {@link #comparison} compares of measured calls. */
    public static final String MEDIANS =
            "median time (us) out of place in this run (the times above are means, ranges reach from the 5th to the"
                    + " 95th percentile; other programs on the machine change both)";

    private final List<AlgorithmConfig> algorithms;
    /** Rows of one size, smallest size first. */
    private final List<List<Row>> bySize;
    /** Width of a column of times. */
    private final int column;

    private final Map<AlgorithmConfig, String> remarks;

    /** @param rows at least one; each size with the same algorithms, in the same order */
    public Summary(List<Row> rows) {
        this(rows, Map.of());
    }

    /**
     * @param rows at least one; each size with the same algorithms, in the same order
     * @param remarks words beside the names of some algorithms
     */
    public Summary(List<Row> rows, Map<AlgorithmConfig, String> remarks) {
        this.remarks = remarks;
        algorithms = rows.stream().map(Row::algorithm).distinct().toList();
        column = width(algorithms.stream()
                .flatMap(algorithm -> Stream.of(ChoiceText.algorithm(algorithm), inBrackets(algorithm))));
        bySize = List.copyOf(rows.stream()
                .collect(Collectors.groupingBy(Row::bytes, TreeMap::new, Collectors.toList()))
                .values());
    }

    /**
     * Algorithms side by side, where there are several, and where one overtakes another.
     *
     * @param times what times they are, in words
     */
    public List<String> comparison(String times) {
        List<String> lines = new ArrayList<>();
        if (algorithms.size() > 1) {
            lines.add("#");
            lines.addAll(table(times));
        }
        crossover().ifPresent(lines::add);
        return lines;
    }

    /**
     * Times out of place, size by algorithm. The least of each size, with all that take as long, is marked where their
     * ranges overlap with none of a longer time.
     *
     * @param times what times they are, in words
     */
    List<String> table(String times) {
        List<String> lines = new ArrayList<>();
        List<List<Row>> unmarked = new ArrayList<>();
        for (List<Row> rows : bySize) {
            Row best = best(rows);
            Map<Boolean, List<Row>> byTie =
                    rows.stream().collect(Collectors.partitioningBy(row -> us(row) == us(best)));
            List<Row> others = Objects.requireNonNull(byTie.get(false));
            double most = Objects.requireNonNull(byTie.get(true)).stream()
                    .mapToDouble(Summary::most)
                    .max()
                    .orElseThrow();
            boolean wins = !others.isEmpty() && others.stream().allMatch(row -> most < least(row));
            String mark = wins ? "*" : " ";
            if (!wins) {
                unmarked.add(rows);
            }
            lines.add(rows.stream()
                    .map(row -> Numbers.format("%" + column + ".1f%s", us(row), us(row) == us(best) ? mark : " "))
                    .collect(Collectors.joining("", Numbers.format("# %10s", size(best)), "")));
        }
        lines.addAll(0, headings(Numbers.format("# %10s", "size")));
        int marked = bySize.size() - unmarked.size();
        lines.addFirst("# " + times
                + (marked > 0 ? "; * is the least, ties included, where no range of a longer time overlaps" : ""));
        if (!unmarked.isEmpty()) {
            lines.add("# "
                    + (marked > 0
                            ? "no certain winner at " + unmarked.size() + " of " + bySize.size() + " sizes: "
                            : "no size has a certain winner: ")
                    + openRanges(unmarked));
        }
        return lines;
    }

    /** Returns why the least of some sizes is not marked. */
    private static String openRanges(List<List<Row>> unmarked) {
        if (unmarked.stream().anyMatch(Summary::overlapAtBest)) {
            boolean isOpenToo = unmarked.stream().anyMatch(rows -> !overlapAtBest(rows) || hasOpenRival(rows));
            return "the ranges of the fastest overlap" + (isOpenToo ? " or are not known" : "");
        }
        if (unmarked.stream().flatMap(List::stream).allMatch(Summary::isOpen)) {
            return "no range is known";
        }
        if (unmarked.stream().allMatch(rows -> isOpen(best(rows)))) {
            return unmarked.stream()
                    .map(rows -> ChoiceText.name(best(rows).algorithm()))
                    .distinct()
                    .collect(Collectors.joining(", of ", "no range is known of ", ", the fastest"));
        }
        Map<String, Long> open = unmarked.stream()
                .flatMap(List::stream)
                .filter(Summary::isOpen)
                .collect(Collectors.groupingBy(
                        row -> ChoiceText.name(row.algorithm()), LinkedHashMap::new, Collectors.counting()));
        // Those without any range come last, so that "at some sizes" is not taken for theirs.
        String names = open.entrySet().stream()
                .sorted(Map.Entry.comparingByValue())
                .map(each -> each.getKey() + (each.getValue() < unmarked.size() ? " at some sizes" : ""))
                .collect(Collectors.joining(", of "));
        boolean areKnownClear = unmarked.stream()
                .allMatch(rows -> !isOpen(best(rows))
                        && rows.stream().anyMatch(row -> us(row) != us(best(rows)) && !isOpen(row)));
        return "no range is known of " + names
                + (areKnownClear ? "; the known ranges of others do not reach that of the fastest" : "");
    }

    /** Returns whether the fastest of a size has a range, which overlaps with that of another time, or with all. */
    private static boolean overlapAtBest(List<Row> rows) {
        Row best = best(rows);
        return !isOpen(best)
                && (rows.stream().allMatch(row -> us(row) == us(best))
                        || rows.stream()
                                .anyMatch(row -> us(row) != us(best) && !isOpen(row) && least(row) <= most(best)));
    }

    /** Returns whether a time without a range is within that of the fastest. */
    private static boolean hasOpenRival(List<Row> rows) {
        Row best = best(rows);
        return rows.stream().anyMatch(row -> isOpen(row) && us(row) <= most(best));
    }

    private static Row best(List<Row> rows) {
        return rows.stream().min(Comparator.comparingDouble(Summary::us)).orElseThrow();
    }

    /** Returns the heading of the columns: the algorithms, and the generators of their trees below. */
    private List<String> headings(String first) {
        List<String> lines = new ArrayList<>();
        lines.add(headings(first, ChoiceText::algorithm));
        if (algorithms.stream().anyMatch(algorithm -> !inBrackets(algorithm).isEmpty())) {
            lines.add(headings("#" + " ".repeat(first.length() - 1), this::inBrackets));
        }
        return lines;
    }

    /** Returns the generator of an algorithm's trees or the remark on it, in brackets, or an empty text. */
    private String inBrackets(AlgorithmConfig algorithm) {
        String generator = ChoiceText.generator(algorithm);
        return ChoiceText.name(generator, remarks.get(algorithm)).strip();
    }

    /** Returns the name of an algorithm with its remark. */
    private String name(AlgorithmConfig algorithm) {
        return ChoiceText.name(ChoiceText.name(algorithm), remarks.get(algorithm));
    }

    private static int width(Stream<String> texts) {
        return texts.mapToInt(String::length).reduce(LEAST_WIDTH, Math::max);
    }

    /** Returns the name of a row's algorithm, as wide as the longest. */
    private String name(Row row) {
        return Numbers.format("%" + width(algorithms.stream().map(this::name)) + "s", name(row.algorithm()));
    }

    private String headings(String first, Function<AlgorithmConfig, String> heading) {
        return algorithms.stream()
                .map(algorithm -> Numbers.format("%" + column + "s ", heading.apply(algorithm)))
                .collect(Collectors.joining("", first, ""));
    }

    /**
     * Returns the size from which on several trees, packed ones rather than others, are faster than one, ranges
     * included; nothing where not both were measured, or where the largest size does not tell them apart. Packing that
     * has a remark is one in the switch, without trees.
     */
    Optional<String> crossover() {
        List<AlgorithmChoice> choices =
                algorithms.stream().map(AlgorithmConfig::algorithm).toList();
        int single = choices.indexOf(AlgorithmChoice.SINGLE_TREE);
        int packing = choices.indexOf(AlgorithmChoice.PACKING);
        boolean isOfTrees = packing >= 0 && !remarks.containsKey(algorithms.get(packing));
        int several = isOfTrees ? packing : choices.indexOf(AlgorithmChoice.MULTI_TREE);
        if (single < 0 || several < 0) {
            return Optional.empty();
        }
        Row from = null;
        for (List<Row> rows : bySize) {
            boolean beaten = isFaster(rows.get(several), rows.get(single));
            from = !beaten ? null : from == null ? rows.get(several) : from;
        }
        String against = "# several trees against one: " + choices.get(several).label() + " is ";
        if (from != null) {
            return Optional.of(
                    from.bytes() == bySize.getFirst().getFirst().bytes()
                            ? against + "faster than single-tree at every size here"
                            : against + "faster than single-tree from " + size(from)
                                    + " on, with ranges that do not overlap");
        }
        List<Row> largest = bySize.getLast();
        return isFaster(largest.get(single), largest.get(several))
                ? Optional.of(against + "slower than single-tree at the largest size here")
                : Optional.empty();
    }

    /** Returns whether the times of one row are less than those of another, ranges included. */
    private static boolean isFaster(Row row, Row than) {
        return most(row) < least(than);
    }

    /**
     * Returns what {@code auto} takes, by size, as {@code -a} takes it, and which of its protocols the model of NCCL
     * does; nothing of those that were not predicted.
     */
    public List<String> choices() {
        List<String> choices = new ArrayList<>();
        choices.addAll(choices(AlgorithmChoice.AUTO, ChoiceText::of));
        List<String> parameters = new ArrayList<>();
        if (choices.stream().anyMatch(choice -> choice.contains("/"))) {
            parameters.add("after /: the greatest number of trees or rings");
        }
        if (choices.stream().anyMatch(choice -> choice.contains("@"))) {
            parameters.add("after @: the length of the longest chunk");
        }
        if (!parameters.isEmpty()) {
            choices.add("# (" + String.join("; ", parameters) + ")");
        }
        choices.addAll(choices(
                AlgorithmChoice.NCCL,
                (chosen, bytes) -> chosen.contains("/") ? chosen.substring(chosen.indexOf('/') + 1) : ""));
        return choices;
    }

    /** Returns one line, or none where nothing was chosen. */
    private List<String> choices(AlgorithmChoice of, BiFunction<String, Long, String> name) {
        List<String> choices = new ArrayList<>();
        String last = null;
        for (List<Row> rows : bySize) {
            for (Row row : rows) {
                String apart = row.outOfPlace().choice();
                String inPlace = row.inPlace().choice();
                if (row.algorithm().algorithm() != of
                        || apart == null
                        || name.apply(apart, row.bytes()).isEmpty()) {
                    continue;
                }
                String named = name.apply(apart, row.bytes());
                String namedInPlace = inPlace == null ? named : name.apply(inPlace, row.bytes());
                String choice = named + (namedInPlace.equals(named) ? "" : " (in place " + namedInPlace + ")");
                if (!choice.equals(last)) {
                    choices.add(choice + (bySize.size() == 1 ? "" : " from " + size(row)));
                    last = choice;
                }
            }
        }
        return choices.isEmpty()
                ? List.of()
                : List.of("# " + (bySize.size() == 1 ? "" : "at these sizes ")
                        + (of == AlgorithmChoice.NCCL ? "the model of " : "") + of.label() + " takes "
                        + String.join(", ", choices));
    }

    /** Times in place beside those of the loop written by hand; nothing where that was not measured. */
    public List<String> besideLoop() {
        if (bySize.getFirst().getFirst().loopUs() == null) {
            return List.of();
        }
        List<String> lines = new ArrayList<>();
        lines.add("# in turns with a loop written by hand on the same buffers: median time (us) in place (the times"
                + " above are means)");
        lines.addAll(headings(Numbers.format("# %10s%" + column + "s ", "size", "loop")));
        for (List<Row> rows : bySize) {
            double loop = rows.stream()
                    .mapToDouble(row -> Objects.requireNonNull(row.loopUs()))
                    .min()
                    .orElseThrow();
            lines.add(rows.stream()
                    .map(row ->
                            Numbers.format("%" + column + ".1f ", row.inPlace().medianUs()))
                    .collect(Collectors.joining(
                            "", Numbers.format("# %10s%" + column + ".1f ", size(rows.getFirst()), loop), "")));
        }
        lines.add("#");
        return lines;
    }

    /** The memory's bounds at the largest size, out of place and in place, and each algorithm's share of them. */
    public List<String> expectation(CopyBound apart, CopyBound inPlace) {
        List<Row> largest = bySize.getLast();
        Row any = largest.getFirst();
        long traffic = any.call().leastTraffic(any.count());
        double leastApart = apart.leastUs(traffic);
        double leastInPlace = inPlace.leastUs(traffic);
        List<String> lines = new ArrayList<>();
        lines.add(Numbers.format(
                "# what to expect: at the speed of a plain copy by all cores (of these buffers %.0f us, onto themselves"
                        + " %.0f us),",
                apart.nanos() / 1e3, inPlace.nanos() / 1e3));
        lines.add(Numbers.format(
                "# %s of %s over %d ranks reaches %.2f GB/s algbw out of place and %.2f in place. Share by medians,"
                        + " out of place and in place:",
                any.call().collective().label(),
                size(any),
                any.call().ranks(),
                any.bytes() / leastApart / 1e3,
                any.bytes() / leastInPlace / 1e3));
        boolean faster = false;
        for (Row row : largest) {
            double apartShare = leastApart / us(row);
            double inPlaceShare = leastInPlace / row.inPlace().medianUs();
            faster |= Math.max(apartShare, inPlaceShare) > 1;
            lines.add(Numbers.format(
                    "# %s  %3.0f%%  %3.0f%%",
                    name(row), 100 * Math.min(1, apartShare), 100 * Math.min(1, inPlaceShare)));
        }
        if (faster) {
            lines.add("# (100% also where the call was faster than the copy, as it can be by noise or in caches)");
        }
        return lines;
    }

    /**
     * Returns the bound of the links, and each algorithm's share of it at the largest size.
     *
     * @param gbs the bound in GB/s algbw
     * @param counted which links and abilities of switches the bound counts; empty where it counts all
     */
    public List<String> shareOf(double gbs, String counted) {
        List<Row> largest = bySize.getLast();
        Row any = largest.getFirst();
        List<String> lines = new ArrayList<>();
        lines.add("# what to expect: the links carry " + any.call().collective().label() + " over "
                + any.call().ranks() + " ranks at no more than " + Numbers.gbs(gbs) + " algbw"
                + (counted.isEmpty() ? "" : " (" + counted + ")") + ". Share of that at " + size(any) + ":");
        for (Row row : largest) {
            TimeRange range = row.outOfPlace().range();
            String share = Numbers.format(
                            "# %s  %3.0f%%", name(row), 100 * row.outOfPlace().algbwGBs() / gbs)
                    + (range == null
                            ? ""
                            : Numbers.format(
                                    " (%.0f%% to %.0f%%)",
                                    share(row, range.mostUs(), gbs), share(row, range.leastUs(), gbs)));
            boolean same = row.inPlace().algbwGBs() == row.outOfPlace().algbwGBs();
            lines.add(share
                    + (same
                            ? ""
                            : Numbers.format(
                                    ", in place %.0f%%", 100 * row.inPlace().algbwGBs() / gbs)));
        }
        return lines;
    }

    /** Returns the percentage of a bound that a row reaches in a time. */
    private static double share(Row row, double us, double gbs) {
        return Math.min(100, 100 * row.bytes() / us / 1e3 / gbs);
    }

    /** Returns whether a row is a prediction without a range. */
    private static boolean isOpen(Row row) {
        return row.outOfPlace().range() == null;
    }

    /** Returns the least time that a row could have; 0 of a prediction without a range. */
    private static double least(Row row) {
        TimeRange range = row.outOfPlace().range();
        return range == null ? 0 : range.leastUs();
    }

    private static double most(Row row) {
        TimeRange range = row.outOfPlace().range();
        return range == null ? Double.POSITIVE_INFINITY : range.mostUs();
    }

    private static double us(Row row) {
        return row.outOfPlace().medianUs();
    }

    private static String size(Row row) {
        return new ByteSize(row.bytes()).label();
    }
}

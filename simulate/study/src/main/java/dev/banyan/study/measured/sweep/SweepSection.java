package dev.banyan.study.measured.sweep;

import dev.banyan.config.internal.Quote;
import dev.banyan.study.measured.sweep.Lines.Word;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** One run of nccl-tests while its lines are read: header, heading, rows and footer. */
final class SweepSection {
    /** Programs of nccl-tests whose columns may look like those of another one. */
    private static final Set<String> OTHERS =
            Set.of("sendrecv", "alltoall", "alltoallv", "gather", "scatter", "hypercube");

    private final Lines lines;
    private final List<SweepRank> ranks = new ArrayList<>();
    private final Set<Integer> numbers = new HashSet<>();
    private final Set<String> programs = new LinkedHashSet<>();
    private final Map<List<String>, Group> groups = new LinkedHashMap<>();
    private @Nullable String stated;
    private @Nullable String commanded;
    private @Nullable SweepColumns columns;
    private @Nullable String stopped;
    private int perProcess;
    private boolean isFailed;

    SweepSection(Lines lines) {
        this.lines = lines;
    }

    /** The rows of one type, operation and root. */
    private static final class Group {
        private final List<MeasuredSweep.Row> rows = new ArrayList<>();
        private WrongResults wrong = WrongResults.UNKNOWN;
        private boolean isInPlaceUnchecked = true;
        private boolean isOutOfPlaceChecked;
        private int inPlace;
        /** Rows with times out of place and in place. */
        private int whole;

        private double best;
        private SweepRates rates = SweepRates.UNKNOWN;
    }

    boolean hasRows() {
        return !groups.isEmpty();
    }

    @Nullable
    SweepColumns columns() {
        return columns;
    }

    List<SweepRank> ranks() {
        return ranks;
    }

    void rank(SweepRank rank) {
        // A header that is printed again replaces the first; without MPI all ranks are 0.
        if (!numbers.add(rank.rank()) && rank.rank() > 0) {
            ranks.clear();
            numbers.clear();
            numbers.add(rank.rank());
        }
        ranks.add(rank);
    }

    void stated(String program) {
        stated = program;
    }

    void mentioned(Set<String> names) {
        programs.addAll(names);
    }

    /** The last command line that names a program is that of the rows. */
    void commanded(@Nullable String program) {
        commanded = program;
    }

    void perProcess(int devices) {
        perProcess = devices;
    }

    void heading(SweepColumns found) {
        columns = found;
    }

    void failed() {
        isFailed = true;
    }

    void stopped(String line) {
        stopped = stopped == null ? line : stopped;
    }

    Optional<String> stopped() {
        return Optional.ofNullable(stopped);
    }

    void row(int line, SweepColumns under, SweepColumns.Cells cells) {
        if (!cells.size().text().matches("[0-9]{1,18}")) {
            throw lines.wrong(
                    line,
                    cells.size().column(),
                    "'" + Quote.of(cells.size().text()) + "' is no size in bytes; a whole number is needed");
        }
        long bytes = Long.parseLong(cells.size().text());
        int place =
                cells.figures().getFirst().isEmpty() || isBlank(cells.figures().getFirst()) ? 1 : 0;
        if (place == cells.figures().size()) {
            throw lines.wrong(line, 0, "the row has no time; give whole rows");
        }
        List<Word> figures = cells.figures().get(place);
        double us = lines.number(line, figures.getFirst(), "time in us");
        if (bytes == 0) {
            return;
        }
        if (!(us > 0)) {
            throw lines.wrong(line, figures.getFirst().column(), "a time of 0 us; measure with more iterations");
        }
        Group group = groups.computeIfAbsent(cells.labels(), _ -> new Group());
        group.rows.add(new MeasuredSweep.Row(bytes, us));
        group.inPlace += place;
        group.whole += cells.figures().stream().noneMatch(List::isEmpty) ? 1 : 0;
        wrong(group, under, cells);
        if (bytes / us > group.best) {
            group.best = bytes / us;
            // Old versions print another algbw for collectives whose size is the sum of all counts.
            group.rates = SweepRates.of(
                    bytes / us / 1e3, figures.size() > 2 ? rate(figures.get(2)) : Double.NaN, parts(bytes, cells));
        }
    }

    private static boolean isBlank(List<Word> figures) {
        return figures.getFirst().text().equalsIgnoreCase("n/a");
    }

    private static double rate(Word word) {
        return word.text().matches("[0-9]{1,15}(\\.[0-9]{1,15})?([eE]\\+?[0-9]{1,2})?")
                ? Double.parseDouble(word.text())
                : Double.NaN;
    }

    /** The column behind busbw has the wrong elements, or the error in old versions. */
    private static void wrong(Group group, SweepColumns under, SweepColumns.Cells cells) {
        List<String> printed = new ArrayList<>();
        for (int i = 0; i < cells.figures().size(); i++) {
            List<Word> figures = cells.figures().get(i);
            if (figures.size() > 3) {
                printed.add(figures.get(3).text());
                boolean isChecked = WrongResults.isChecked(figures.get(3).text());
                group.isOutOfPlaceChecked |= i == 0 && isChecked;
                group.isInPlaceUnchecked &= i == 0 || !isChecked;
            }
        }
        group.wrong = group.wrong.with(printed, !under.nameBehind(0, 3).startsWith("err"));
    }

    /** Returns how many times the bytes of the count the size has; 0 if the type is not known. */
    private static int parts(long bytes, SweepColumns.Cells cells) {
        String count = cells.count().text();
        int element = cells.labels().isEmpty() ? 0 : elementBytes(cells.labels().getFirst());
        if (element == 0 || !count.matches("[0-9]{1,15}")) {
            return 0;
        }
        long one = Long.parseLong(count) * element;
        return one == 0 || bytes % one != 0 || bytes / one > 1 << 20 ? 0 : (int) (bytes / one);
    }

    private static int elementBytes(String type) {
        return switch (type) {
            case "int8", "uint8", "char", "f8e4m3", "f8e5m2", "fp8_e4m3", "fp8_e5m2" -> 1;
            case "half", "bfloat16" -> 2;
            case "float", "int32", "uint32", "int" -> 4;
            case "double", "int64", "uint64" -> 8;
            default -> 0;
        };
    }

    /** Returns a sweep for each type, operation and root. */
    List<MeasuredSweep> sweeps() {
        List<MeasuredSweep> sweeps = new ArrayList<>();
        if (columns != null) {
            SweepColumns under = columns;
            groups.forEach((labels, group) -> sweeps.add(
                    new MeasuredSweep(lines.source(), under.line() + 1, true, group.rows, run(under, labels, group))));
        }
        return sweeps;
    }

    private SweepRun run(SweepColumns under, List<String> labels, Group group) {
        List<String> remarks = new ArrayList<>();
        if (group.inPlace > 0) {
            remarks.add("Times in place are taken where the file has none out of place");
        }
        if (group.whole > 0 && group.whole < group.rows.size()) {
            remarks.add(group.rows.size() - group.whole + " of " + group.rows.size()
                    + " rows have times of one kind alone, out of place or in place: the file is cut there");
        }
        if (groups.size() > 1) {
            remarks.add("This sweep has the rows of " + String.join(" ", labels) + " alone, of " + groups.size()
                    + " kinds under the same heading");
        }
        boolean isAlltoall = group.isOutOfPlaceChecked
                && group.isInPlaceUnchecked
                && under.times().size() > 1
                && group.whole > 0
                && group.inPlace == 0;
        String operation = redop(labels);
        // A heading that names a program with an operation is right, whatever was checked.
        boolean isNamed = stated != null && SweepLayout.namesOperation(operation);
        Optional<String> layout = SweepLayout.of(
                under.hasRoot(),
                operation,
                root(labels),
                group.rates,
                isAlltoall && !isNamed,
                !group.isOutOfPlaceChecked && group.isInPlaceUnchecked);
        return new SweepRun(
                ranks,
                program(layout),
                layout,
                group.rates,
                group.wrong.withFooter(isFailed),
                stopped(),
                perProcess,
                remarks);
    }

    /**
     * Returns the program of the header, or of the command line if Banyan has no such collective; any other that is
     * mentioned counts where columns leave it open.
     */
    private Optional<String> program(Optional<String> layout) {
        if (stated != null) {
            return Optional.of(stated);
        }
        if (commanded != null && OTHERS.contains(commanded)) {
            return Optional.of(commanded);
        }
        boolean isOpen = layout.isEmpty()
                || layout.get().equals(SweepRun.GATHER_OR_ALLTOALL)
                || (layout.get().equals("all_gather") && programs.contains("alltoall"));
        return isOpen && programs.size() == 1 ? Optional.of(programs.iterator().next()) : Optional.empty();
    }

    private static String redop(List<String> labels) {
        return labels.size() > 1 && !isNumber(labels.get(1)) ? labels.get(1).toLowerCase(Locale.ROOT) : "";
    }

    private static String root(List<String> labels) {
        return labels.size() > 1 && isNumber(labels.getLast()) ? labels.getLast() : "";
    }

    private static boolean isNumber(String text) {
        return text.matches("-?[0-9]{1,6}");
    }
}

package dev.banyan.cli.figures;

import dev.banyan.cli.output.TextTable;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.OptionalLong;

/** The page that shows the figures, in Markdown. */
record Page(String machine, String profile, InFlight inFlight, ArrayBound arrayBound, Speedups speedups) {
    private static final long SMALL = 4 << 10;
    private static final long LARGE = 64 << 20;

    List<String> lines() {
        List<String> lines = new ArrayList<>();
        lines.add("figures of " + machine + " with profile " + profile);
        lines.addAll(order().markdown());
        lines.add(crossovers());
        lines.add("best " + arrayBound.best());
        lines.addAll(arrayBound.csv());
        lines.addAll(speedups.peaks().markdown());
        lines.addAll(speedups.stepTimes().markdown());
        return lines;
    }

    private TextTable order() {
        TextTable table = new TextTable("in flight", "size of each", "from the fastest to the slowest");
        for (int count : List.of(1, 150)) {
            for (long bytes : List.of(SMALL, LARGE)) {
                table.row(
                        Integer.toString(count),
                        bytes == SMALL ? "4 KiB" : "64 MiB",
                        String.join(" < ", inFlight.order(count, bytes)));
            }
        }
        return table;
    }

    private String crossovers() {
        List<String> all = InFlight.COUNTS.stream()
                .map(count -> elements(inFlight.crossover(count)) + " with " + count + " in flight")
                .toList();
        return String.join(", ", all);
    }

    private static String elements(OptionalLong elements) {
        return elements.isPresent()
                ? String.format(Locale.ROOT, "%.1fM floats", elements.getAsLong() / 1e6)
                : "nowhere";
    }
}

package dev.banyan.page.document;

import dev.banyan.study.figures.ArrayBound;
import dev.banyan.study.figures.InFlight;
import dev.banyan.study.figures.Speedups;
import dev.banyan.study.figures.Speedups.Times;
import dev.banyan.study.text.Numbers;
import dev.banyan.study.text.PageTemplate;
import dev.banyan.study.text.TextTable;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.OptionalLong;
import java.util.function.ToDoubleFunction;

/** The page that shows the figures, in Markdown. */
public record FiguresPage(String machine, String profile, InFlight inFlight, ArrayBound arrayBound, Speedups speedups) {
    private static final long SMALL = 4 << 10;
    private static final long LARGE = 64 << 20;

    /** The original design's: over the parameter server, over NCCL. */
    private static final Map<String, double[]> ORIGINAL = Map.of(
            "resnet-50", new double[] {1.19, 1.33},
            "vgg-16", new double[] {5.89, 1.06},
            "inception-v3", new double[] {1.15, 1.34},
            "alexnet", new double[] {6.60, 1.42});

    public String text() {
        return PageTemplate.fill(
                FiguresPage.class,
                "figures.md",
                Map.of(
                        "machine",
                        machine,
                        "profile",
                        profile,
                        "order",
                        markdown(order()),
                        "crossovers",
                        crossovers(),
                        "best-ms",
                        ms(arrayBound.best().communicationUs()),
                        "best-bound",
                        Numbers.format("%,d", arrayBound.best().bound()),
                        "over-server",
                        markdown(peaks(0, Times::serverUs)),
                        "over-nccl",
                        markdown(peaks(1, Times::ncclUs)),
                        "step-times",
                        markdown(stepTimes())));
    }

    private static String markdown(TextTable table) {
        return String.join("\n", table.markdown());
    }

    /** Returns the speedups of steps over another store, over trees and over the packed forest. */
    private TextTable peaks(int column, ToDoubleFunction<Times> other) {
        TextTable table = new TextTable(
                "model",
                "original",
                "trees,\noverlap",
                "trees,\nno overlap",
                "packed forest,\noverlap",
                "packed forest,\nno overlap");
        for (String model : speedups.models()) {
            double[] original = Objects.requireNonNull(ORIGINAL.get(model), model);
            table.row(
                    model,
                    number(original[column]),
                    number(speedups.peak(
                            model,
                            row -> other.applyAsDouble(row.overlap())
                                    / row.overlap().treesUs())),
                    number(speedups.peak(
                            model,
                            row -> other.applyAsDouble(row.noOverlap())
                                    / row.noOverlap().treesUs())),
                    number(speedups.peak(
                            model,
                            row -> other.applyAsDouble(row.overlap())
                                    / row.overlap().packedUs())),
                    number(speedups.peak(
                            model,
                            row -> other.applyAsDouble(row.noOverlap())
                                    / row.noOverlap().packedUs())));
        }
        return table;
    }

    /** Steps in ms, with overlap and without. */
    private TextTable stepTimes() {
        TextTable table = new TextTable(
                "model", "images\nper GPU", "compute", "NCCL ring", "parameter server", "trees", "packed forest");
        for (Speedups.Row row : speedups.rows()) {
            table.row(
                    row.model(),
                    Integer.toString(row.batch()),
                    ms(row.computeUs()),
                    both(row, Times::ncclUs),
                    both(row, Times::serverUs),
                    both(row, Times::treesUs),
                    both(row, Times::packedUs));
        }
        return table;
    }

    private static String both(Speedups.Row row, ToDoubleFunction<Times> time) {
        return ms(time.applyAsDouble(row.overlap())) + " / " + ms(time.applyAsDouble(row.noOverlap()));
    }

    private static String ms(double us) {
        return Numbers.format("%.1f", us / 1e3);
    }

    private static String number(double ratio) {
        return Numbers.format("%.2f", ratio);
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
        return elements.isPresent() ? Numbers.format("%.1fM floats", elements.getAsLong() / 1e6) : "nowhere";
    }
}

package dev.banyan.cli.bench.report;

import dev.banyan.cli.bench.call.Measurement;
import dev.banyan.simulate.RangedCosts.TimeRange;
import dev.banyan.study.text.ChoiceText;
import dev.banyan.study.text.Numbers;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** The table that readers and parsers of nccl-tests know: their columns, their widths, {@code #} for comments. */
public enum NcclTable {
    /** With a column of wrong elements. */
    MEASURED,
    /**
     * Without: nothing was computed that could be wrong. With the range of times out of place, and of what is in place
     * the time alone, where it is another.
     */
    PREDICTED;

    public List<String> header() {
        return List.of(
                heading("", "", "", "", "")
                        + (this == MEASURED
                                ? "           out-of-place                       in-place          "
                                : "           out-of-place        out-of-place  in-place"),
                heading("size", "count", "type", "redop", "root")
                        + headings("time", "algbw", "busbw", "#wrong")
                        + (this == MEASURED
                                ? headings("time", "algbw", "busbw", "#wrong")
                                : predicted("range", "time")),
                heading("(B)", "(elements)", "", "", "")
                        + headings("(us)", "(GB/s)", "(GB/s)", "")
                        + (this == MEASURED ? headings("(us)", "(GB/s)", "(GB/s)", "") : predicted("(us)", "(us)")));
    }

    private static String heading(String size, String count, String type, String op, String root) {
        return Numbers.format("# %10s  %12s  %8s  %6s  %6s", size, count, type, op, root);
    }

    private String headings(String time, String algbw, String busbw, String wrong) {
        String figures = Numbers.format("  %7s  %6s  %6s", time, algbw, busbw);
        return this == MEASURED ? Numbers.format("%s %6s", figures, wrong) : figures;
    }

    private static String predicted(String range, String inPlace) {
        return Numbers.format("  %16s  %8s", range, inPlace);
    }

    public String row(Row row) {
        return Numbers.format(
                "%12d  %12d  %8s  %6s  %6d%s%s",
                row.bytes(),
                row.count(),
                row.call().typeLabel(),
                row.call().opLabel(),
                row.call().root(),
                cells(row.outOfPlace()),
                this == MEASURED
                        ? cells(row.inPlace())
                        : predicted(range(row.outOfPlace().range()), inPlace(row)));
    }

    /** Returns the last lines of a measured sweep. */
    public static List<String> footer(List<Row> rows) {
        long wrong = rows.stream().mapToLong(Row::wrong).sum();
        boolean checked = rows.stream().allMatch(row -> row.outOfPlace().wrong() != null);
        String verdict = !checked ? "not checked" : wrong + (wrong == 0 ? " OK" : " FAILED");
        List<String> lines = new ArrayList<>();
        lines.add("# Out of bounds values : " + verdict);
        Map<String, Double> averages = rows.stream()
                .collect(Collectors.groupingBy(
                        row -> ChoiceText.name(row.algorithm()),
                        LinkedHashMap::new,
                        Collectors.averagingDouble(row ->
                                (row.outOfPlace().busbwGBs() + row.inPlace().busbwGBs()) / 2)));
        averages.forEach((name, average) -> lines.add(
                Numbers.format("# Avg bus bandwidth    : %.4f", average) + (averages.size() == 1 ? "" : " " + name)));
        return lines;
    }

    private String cells(Measurement measured) {
        String figures = Numbers.format(
                "  %7s  %6.2f  %6.2f", time(measured.timeUs()), measured.algbwGBs(), measured.busbwGBs());
        String wrong = measured.wrong() == null ? "N/A" : measured.wrong().toString();
        return this == MEASURED ? Numbers.format("%s %6s", figures, wrong) : figures;
    }

    private static String range(@Nullable TimeRange range) {
        return range == null ? "-" : time(range.leastUs()) + ".." + time(range.mostUs());
    }

    private static String inPlace(Row row) {
        return row.inPlace().timeUs() == row.outOfPlace().timeUs()
                ? "same"
                : time(row.inPlace().timeUs());
    }

    private static String time(double us) {
        return us >= 10_000
                ? Numbers.format("%.0f", us)
                : us >= 100 ? Numbers.format("%.1f", us) : Numbers.format("%.2f", us);
    }
}

package dev.banyan.cli.bench;

import java.util.List;
import java.util.Locale;

/** The table that readers and parsers of nccl-tests know: their columns, their widths, {@code #} for comments. */
final class NcclTable {
    private NcclTable() {}

    static List<String> header() {
        return List.of(
                heading("", "", "", "", "") + "           out-of-place                       in-place          ",
                heading("size", "count", "type", "redop", "root")
                        + headings("time", "algbw", "busbw", "#wrong").repeat(2),
                heading("(B)", "(elements)", "", "", "") + headings("(us)", "(GB/s)", "(GB/s)", "").repeat(2));
    }

    private static String heading(String size, String count, String type, String op, String root) {
        return String.format(Locale.ROOT, "# %10s  %12s  %8s  %6s  %6s", size, count, type, op, root);
    }

    private static String headings(String time, String algbw, String busbw, String wrong) {
        return String.format(Locale.ROOT, "  %7s  %6s  %6s %6s", time, algbw, busbw, wrong);
    }

    static String row(Row row) {
        return String.format(Locale.ROOT, "%12d  %12d  %8s  %6s  %6d%s%s",
                row.bytes(),
                row.count(),
                row.call().element().label(),
                row.call().opLabel(),
                row.call().root(),
                cells(row.outOfPlace()),
                cells(row.inPlace()));
    }

    static List<String> footer(List<Row> rows) {
        long wrong = rows.stream().mapToLong(Row::wrong).sum();
        double average = rows.stream()
                .mapToDouble(row -> (row.outOfPlace().busbwGBs() + row.inPlace().busbwGBs()) / 2)
                .average()
                .orElse(0);
        boolean checked = rows.stream().allMatch(row -> row.outOfPlace().wrong() != null);
        String verdict = !checked ? "not checked" : wrong + (wrong == 0 ? " OK" : " FAILED");
        return List.of(
                "# Out of bounds values : " + verdict,
                String.format(Locale.ROOT, "# Avg bus bandwidth    : %.4f", average));
    }

    private static String cells(Measurement measured) {
        return String.format(Locale.ROOT, "  %7s  %6.2f  %6.2f %6s",
                time(measured.timeUs()),
                measured.algbwGBs(),
                measured.busbwGBs(),
                measured.wrong() == null ? "N/A" : measured.wrong().toString());
    }

    private static String time(double us) {
        return String.format(Locale.ROOT, us >= 10_000 ? "%.0f" : us >= 100 ? "%.1f" : "%.2f", us);
    }
}

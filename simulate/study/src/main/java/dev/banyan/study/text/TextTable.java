package dev.banyan.study.text;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * Rows of figures: for a terminal, with aligned columns and headings that begin with {@code #}, or in
 * Markdown. Not safe for use from several threads at once.
 */
public final class TextTable {
    private final List<String> headings;
    private final List<String> units;
    private final List<List<String>> rows = new ArrayList<>();

    /**
     * @param columns headings, each with its unit after a line feed where it has one; the first column is
     *     aligned to the left, the others to the right
     */
    public TextTable(List<String> columns) {
        headings = columns.stream().map(column -> part(column, 0)).toList();
        units = columns.stream().map(column -> part(column, 1)).toList();
    }

    /** Creates a table of the same kind. */
    public TextTable(String... columns) {
        this(List.of(columns));
    }

    private static String part(String column, int index) {
        String[] lines = column.split("\n", -1);
        return index < lines.length ? lines[index] : "";
    }

    /** Adds a row of as many cells as there are columns. */
    public void row(List<String> cells) {
        if (cells.size() != headings.size()) {
            throw new IllegalArgumentException(cells.size() + " cells for " + headings.size() + " columns");
        }
        rows.add(List.copyOf(cells));
    }

    /** Adds a row of the same kind. */
    public void row(String... cells) {
        row(List.of(cells));
    }

    /** Adds a row that has no figures but says why. */
    public void remark(String name, String why) {
        rows.add(List.of(name, why));
    }

    /** For a terminal. */
    public List<String> lines() {
        int[] widths = IntStream.range(0, headings.size()).map(this::width).toArray();
        List<String> lines = new ArrayList<>();
        lines.add("# " + aligned(headings, widths));
        if (units.stream().anyMatch(unit -> !unit.isEmpty())) {
            lines.add("# " + aligned(units, widths));
        }
        rows.forEach(row -> lines.add("  " + aligned(row, widths)));
        return lines;
    }

    private int width(int column) {
        int widest = Math.max(headings.get(column).length(), units.get(column).length());
        for (List<String> row : rows) {
            if (row.size() == headings.size() || column == 0) {
                widest = Math.max(widest, row.get(column).length());
            }
        }
        return widest;
    }

    private String aligned(List<String> cells, int[] widths) {
        StringBuilder line = new StringBuilder(pad(cells.getFirst(), -widths[0]));
        for (int i = 1; i < cells.size(); i++) {
            line.append("  ").append(cells.size() < widths.length ? cells.get(i) : pad(cells.get(i), widths[i]));
        }
        return line.toString().stripTrailing();
    }

    private static String pad(String text, int width) {
        return String.format(Locale.ROOT, "%" + width + "s", text);
    }

    /** In GitHub's Markdown. */
    public List<String> markdown() {
        List<String> lines = new ArrayList<>();
        lines.add(cells(IntStream.range(0, headings.size())
                .mapToObj(i -> (headings.get(i) + " " + units.get(i)).strip())
                .toList()));
        lines.add("|---" + "|---:".repeat(headings.size() - 1) + "|");
        for (List<String> row : rows) {
            lines.add(cells(row) + " |".repeat(headings.size() - row.size()));
        }
        return lines;
    }

    private static String cells(List<String> cells) {
        return cells.stream()
                .map(cell -> MarkdownText.of(cell).replace("|", "\\|"))
                .collect(Collectors.joining(" | ", "| ", " |"));
    }
}

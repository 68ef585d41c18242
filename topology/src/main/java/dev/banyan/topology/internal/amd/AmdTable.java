package dev.banyan.topology.internal.amd;

import dev.banyan.InputException;
import dev.banyan.config.internal.Quote;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;

/**
 * A square table of {@code rocm-smi --showtopo} or {@code amd-smi topology}: a title, a line of names, and a row per
 * name. It may be a Markdown table.
 *
 * @param names of the GPUs, e.g. {@code GPU0} or {@code 0000:0c:00.0}
 * @param cells by row and column
 * @param line number of the title's line, from 1
 */
record AmdTable(List<String> names, List<List<String>> cells, int line) {
    private static final Pattern SPACES = Pattern.compile("\\s+");
    /** A line without a cell: blank, a rule of a Markdown table, or the begin or end of a Markdown block. */
    private static final Pattern EMPTY = Pattern.compile("[\\s|:-]*|\\s*```\\w*\\s*");
    /** Marks that Markdown puts between and around cells. */
    private static final Pattern MARKS = Pattern.compile("[|*`]");

    private static final int MAX_DEVICES = 1024;

    /**
     * Finds the first table of a title.
     *
     * @param tool what to run again, for messages
     * @throws InputException if it is there and not whole
     */
    static Optional<AmdTable> find(String source, List<String> lines, Pattern title, String tool) {
        for (int i = 0; i < lines.size(); i++) {
            if (title.matcher(lines.get(i)).find()) {
                return Optional.of(read(source, lines, i, tool));
            }
        }
        return Optional.empty();
    }

    private static AmdTable read(String source, List<String> lines, int title, String tool) {
        int header = next(lines, title + 1);
        List<String> names = header < lines.size() ? words(lines.get(header)) : List.of();
        if (names.isEmpty() || names.size() > MAX_DEVICES) {
            throw new InputException(
                    source,
                    title + 1,
                    0,
                    "no line of GPUs follows this title; run \"" + tool + "\" again and keep all");
        }
        List<List<String>> cells = new ArrayList<>();
        int line = header;
        for (String name : names) {
            line = next(lines, line + 1);
            List<String> row = line < lines.size() ? words(lines.get(line)) : List.of();
            if (row.isEmpty() || !row.getFirst().equals(name)) {
                throw new InputException(
                        source,
                        Math.min(line + 1, lines.size()),
                        0,
                        "the table is cut: its header names " + names.size() + " GPUs but the row of " + Quote.of(name)
                                + " is missing; run \"" + tool + "\" again and keep all");
            }
            if (row.size() != names.size() + 1) {
                throw new InputException(
                        source,
                        line + 1,
                        0,
                        "row " + Quote.of(name) + " has " + (row.size() - 1) + " cells for " + names.size()
                                + " GPUs: the text is cut or wrapped; run \"" + tool + "\" again into a file");
            }
            cells.add(row.subList(1, row.size()));
        }
        return new AmdTable(names, cells, title + 1);
    }

    private static int next(List<String> lines, int from) {
        int line = from;
        while (line < lines.size() && EMPTY.matcher(lines.get(line)).matches()) {
            line++;
        }
        return line;
    }

    private static List<String> words(String line) {
        String plain = MARKS.matcher(line).replaceAll(" ").strip();
        return plain.isEmpty() ? List.of() : List.of(SPACES.split(plain));
    }

    /** Number of GPUs. */
    int size() {
        return names.size();
    }

    /** The cell of a pair. */
    String cell(int row, int column) {
        return cells.get(row).get(column);
    }
}

package dev.banyan.study.measured;

import dev.banyan.InputException;
import dev.banyan.study.measured.Lines.Word;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * Reads what nccl-tests print, or a table of it with commas, whose heading begins with {@code size}. Of each row
 * the size and the time out of place are taken, wherever the heading has them; rows of 0 bytes, which nccl-tests
 * print for sizes that can't be shared out, are left out. Safe for use from any thread.
 */
public final class NcclSweepReader {
    private static final String NEED = "; give what nccl-tests printed, or a table with commas whose heading is"
            + " size_bytes,...,oop_time_us,...";

    private final Lines lines;

    private NcclSweepReader(Lines lines) {
        this.lines = lines;
    }

    /**
     * Reads a file.
     *
     * @throws InputException if it can't be read or understood
     */
    public static MeasuredSweep read(Path file) {
        return new NcclSweepReader(Lines.read(file)).sweep();
    }

    /**
     * Reads a text.
     *
     * @param source what to call the text in messages, e.g. the file's name
     * @throws InputException if it can't be understood
     */
    static MeasuredSweep parse(String source, String text) {
        return new NcclSweepReader(Lines.of(source, text)).sweep();
    }

    private MeasuredSweep sweep() {
        for (int line = 0; line < lines.lines().size(); line++) {
            String text = lines.lines().get(line);
            String low = text.strip().toLowerCase(Locale.ROOT);
            if (low.startsWith("size") && low.contains(",")) {
                return commas(line, columns(Lines.cells(low)));
            }
            if (low.matches("#\\s*size\\s.*\\btime\\b.*")) {
                return console(line, columns(Lines.words(low.replaceFirst("#", " "))));
            }
        }
        throw new InputException(lines.source(), 0, 0, "holds no sweep" + NEED);
    }

    private static List<String> columns(List<Word> words) {
        return words.stream().map(Word::text).toList();
    }

    private MeasuredSweep commas(int heading, List<String> columns) {
        int time = columns.indexOf("oop_time_us");
        if (time < 0) {
            time = columns.indexOf("time_us");
        }
        if (time < 0) {
            throw lines.wrong(heading, 0, "the heading has no column oop_time_us" + NEED);
        }
        List<MeasuredSweep.Row> rows = new ArrayList<>();
        for (int line = heading + 1; line < lines.lines().size(); line++) {
            String text = lines.lines().get(line);
            if (text.isBlank() || text.startsWith("#")) {
                continue;
            }
            List<Word> cells = Lines.cells(text);
            if (cells.size() != columns.size()) {
                throw lines.wrong(
                        line, 0, cells.size() + " cells under a heading of " + columns.size() + "; give whole rows");
            }
            add(line, cells.getFirst(), cells.get(time), rows);
        }
        return sweepOf(heading, rows);
    }

    /** Columns are counted from the end: reductions and roots may be blank. */
    private MeasuredSweep console(int heading, List<String> columns) {
        int fromEnd = columns.size() - columns.indexOf("time");
        List<MeasuredSweep.Row> rows = new ArrayList<>();
        for (int line = heading + 1; line < lines.lines().size(); line++) {
            List<Word> words = Lines.words(lines.lines().get(line));
            if (words.isEmpty() || !words.getFirst().text().matches("[0-9]+")) {
                continue;
            }
            if (words.size() < fromEnd + 3 || words.size() > columns.size()) {
                throw lines.wrong(
                        line, 0, words.size() + " figures under a heading of " + columns.size() + "; give whole rows");
            }
            add(line, words.getFirst(), words.get(words.size() - fromEnd), rows);
        }
        return sweepOf(heading, rows);
    }

    private MeasuredSweep sweepOf(int heading, List<MeasuredSweep.Row> rows) {
        if (rows.isEmpty()) {
            throw lines.wrong(heading, 0, "no row follows this heading" + NEED);
        }
        return new MeasuredSweep(lines.source(), rows);
    }

    private void add(int line, Word size, Word time, List<MeasuredSweep.Row> rows) {
        if (!size.text().matches("[0-9]{1,18}")) {
            throw lines.wrong(
                    line,
                    size.column(),
                    "'" + Lines.quoted(size.text()) + "' is no size in bytes; a whole" + " number is needed");
        }
        long bytes = Long.parseLong(size.text());
        double us = lines.number(line, time, "time in us");
        if (bytes > 0 && !(us > 0)) {
            throw lines.wrong(line, time.column(), "a time of 0 us; measure with more iterations");
        }
        if (bytes > 0) {
            rows.add(new MeasuredSweep.Row(bytes, us));
        }
    }
}

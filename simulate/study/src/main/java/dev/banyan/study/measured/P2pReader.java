package dev.banyan.study.measured;

import dev.banyan.InputException;
import dev.banyan.config.internal.Quote;
import dev.banyan.study.measured.P2pReport.Measure;
import dev.banyan.study.measured.sweep.Lines;
import dev.banyan.study.measured.sweep.Lines.Word;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Reads what p2pBandwidthLatencyTest prints, as text or as Markdown, or any part of it that holds a whole title,
 * heading and rows from device 0 on. Text between is skipped, and so are the latencies as the CPU sees them and, where
 * writes were measured too, the matrices of reads. Safe for use from any thread.
 */
public final class P2pReader {
    /** Marks that Markdown puts before, between and around words. */
    private static final Pattern MARKS = Pattern.compile("[#*|`]");
    /** A line without a word: blank, the begin or end of a Markdown block, or the rule of a Markdown table. */
    private static final Pattern EMPTY = Pattern.compile("[\\s|:-]*|\\s*```\\w*\\s*");

    private final Lines lines;
    private final Map<Measure, PairMatrix> matrices = new EnumMap<>(Measure.class);

    private P2pReader(Lines lines) {
        this.lines = lines;
    }

    /**
     * Reads a file.
     *
     * @throws InputException if it can't be read or understood
     */
    public static P2pReport read(Path file) {
        return new P2pReader(Lines.read(file)).report();
    }

    /**
     * Reads a text.
     *
     * @param source what to call the text in messages, e.g. the file's name
     * @throws InputException if it can't be understood
     */
    static P2pReport parse(String source, String text) {
        return new P2pReader(Lines.of(source, text)).report();
    }

    private P2pReport report() {
        int size = 0;
        for (int line = 0; line < lines.lines().size(); line++) {
            String title =
                    MARKS.matcher(lines.lines().get(line)).replaceAll(" ").strip();
            Measure measure = measure(title);
            if (measure == null) {
                continue;
            }
            PairMatrix matrix = matrix(nextContent(line + 1), title);
            if (size > 0 && matrix.size() != size) {
                throw lines.wrong(
                        line,
                        0,
                        "this matrix is of " + matrix.size() + " devices, those above of " + size
                                + "; give the output of one run");
            }
            size = matrix.size();
            if (!title.contains("Reads")) {
                matrices.put(measure, matrix);
            } else {
                matrices.putIfAbsent(measure, matrix);
            }
        }
        if (matrices.isEmpty()) {
            throw new InputException(
                    lines.source(), 0, 0, "holds no matrix of p2pBandwidthLatencyTest; give all" + " that it printed");
        }
        return new P2pReport(lines.source(), matrices);
    }

    private static @Nullable Measure measure(String title) {
        if (title.equals("P2P Connectivity Matrix")) {
            return Measure.ACCESS;
        }
        boolean peer = title.contains("P2P=Enabled");
        if (!title.contains(" Matrix (") || (!peer && !title.contains("P2P=Disabled"))) {
            return null;
        }
        if (title.startsWith("Unidirectional ")) {
            return peer ? Measure.ONE_WAY_PEER : Measure.ONE_WAY_STAGED;
        }
        if (title.startsWith("Bidirectional ")) {
            return peer ? Measure.BOTH_WAYS_PEER : Measure.BOTH_WAYS_STAGED;
        }
        return title.startsWith("P2P=") ? (peer ? Measure.LATENCY_PEER : Measure.LATENCY_STAGED) : null;
    }

    /**
     * Returns the index of the next line that is neither blank nor the begin of a Markdown block, nor a rule of one.
     */
    private int nextContent(int from) {
        int line = from;
        while (line < lines.lines().size()
                && EMPTY.matcher(lines.lines().get(line)).matches()) {
            line++;
        }
        return line;
    }

    /** The words of a line, without the marks of Markdown. */
    private List<Word> words(int line) {
        return Lines.words(MARKS.matcher(lines.lines().get(line)).replaceAll(" "));
    }

    /** @param start index of the line of the heading */
    private PairMatrix matrix(int start, String title) {
        List<Word> heading = start < lines.lines().size() ? words(start) : List.of();
        int size = heading.size() - 1;
        if (size < 2 || !heading.getFirst().text().matches("D\\\\D|GPU")) {
            throw lines.wrong(
                    Math.min(start, lines.lines().size() - 1),
                    0,
                    "no heading 'D\\D 0 1 ...' follows '" + Quote.of(title)
                            + "'; give all that p2pBandwidthLatencyTest printed");
        }
        for (int column = 0; column < size; column++) {
            Word word = heading.get(column + 1);
            if (!word.text().equals(Integer.toString(column))) {
                throw lines.wrong(
                        start,
                        word.column(),
                        "'" + Quote.of(word.text()) + "' in place of device " + column
                                + "; columns are the devices from 0 on");
            }
        }
        List<double[]> rows = new ArrayList<>();
        for (int line = nextContent(start + 1);
                line < lines.lines().size() && rows.size() < size;
                line = nextContent(line + 1)) {
            List<Word> words = words(line);
            if (words.isEmpty() || !words.getFirst().text().matches("[0-9]+")) {
                break;
            }
            rows.add(row(line, words, rows.size(), size));
        }
        if (rows.isEmpty()) {
            throw lines.wrong(
                    start,
                    0,
                    "no row of device 0 follows this heading; give all that" + " p2pBandwidthLatencyTest printed");
        }
        return new PairMatrix(rows.toArray(double[][]::new));
    }

    private double[] row(int line, List<Word> words, int device, int size) {
        if (!words.getFirst().text().equals(Integer.toString(device))) {
            throw lines.wrong(
                    line,
                    words.getFirst().column(),
                    "row of device "
                            + Quote.of(words.getFirst().text()) + " in place of device " + device
                            + "; rows are the devices from 0 on");
        }
        if (words.size() != size + 1) {
            throw lines.wrong(
                    line,
                    0,
                    "row of device " + device + " has " + (words.size() - 1) + " figures for " + size
                            + " devices; give whole rows");
        }
        double[] row = new double[size];
        for (int column = 0; column < size; column++) {
            row[column] = lines.number(line, words.get(column + 1), "figure of devices " + device + " and " + column);
        }
        return row;
    }
}

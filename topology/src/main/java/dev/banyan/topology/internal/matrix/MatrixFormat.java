package dev.banyan.topology.internal.matrix;

import dev.banyan.InputException;
import dev.banyan.topology.LinkMatrix;
import dev.banyan.topology.Machine;
import dev.banyan.topology.internal.matrix.MatrixMachine.Entry;
import dev.banyan.topology.internal.text.MachineFormat;
import dev.banyan.topology.internal.text.Token;
import dev.banyan.topology.option.MatrixUnit;
import dev.banyan.topology.option.StatedSpeeds;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A plain n x n matrix. Spaces, tabs or commas separate columns; rows are separated by line ends, {@code /} or
 * {@code ;}, or by the brackets of a nested list; {@code #} begins a comment.
 *
 * <p>Entries are the classic link classes (0 none; above 0 up to 1 PCIe, as the rule of {@link
 * LinkMatrix} writes 1/n; 2 one NVLink; 3 two), symmetric, or with {@link MatrixUnit#GBS} bandwidths
 * from row to column in GB/s. The class of a pair follows from its slower direction: PCIe up to 16 GB/s (a PCIe 3.0
 * x16 slot), one NVLink below 37.5 (one and a half NVLinks of 25), and several above. So PCIe 4.0 and 5.0 slots, which
 * are as fast as an NVLink, pass for one. The links of PCIe's class are {@link dev.banyan.topology.Link.Kind#OTHER}:
 * no bound and no packing leaves out a link of such a matrix.
 *
 * <p>A second n x n block after the first is peer access, as 0/1 or as the {@code v} and {@code .} that
 * MXNet's log prints, with or without the log's prefix; see {@link PeerAccess}. A file that holds only
 * {@code v} and {@code .} is read as one NVLink where there is access and PCIe where there is none.
 */
public final class MatrixFormat implements MachineFormat {
    /** Largest n. */
    static final int MAX_DEVICES = 1024;

    private static final Pattern LOG_PREFIX = Pattern.compile("^\\s*\\[\\d\\d:\\d\\d:\\d\\d\\] \\S+:\\d+: ?");
    private static final Pattern LOG_REMARK = Pattern.compile("^\\s*only \\d+ out of \\d+ GPU pairs .*");
    private static final Pattern PIECE = Pattern.compile("[\\[\\];/]|[^\\s,;/\\[\\]]+");

    private final MatrixUnit unit;
    private final StatedSpeeds stated;

    public MatrixFormat(MatrixUnit unit, StatedSpeeds stated) {
        this.unit = unit;
        this.stated = stated;
    }

    @Override
    public boolean leavesSpeedsOpen() {
        return unit == MatrixUnit.CLASSES;
    }

    @Override
    public boolean recognizes(String text) {
        for (String line : (Iterable<String>) text.lines()::iterator) {
            Matcher piece = PIECE.matcher(content(line));
            while (piece.find()) {
                String first = piece.group();
                if (!first.equals("[")) {
                    return MatrixMachine.isNumber(first) || isMarks(first);
                }
            }
        }
        return false;
    }

    /** Returns whether a piece consists of {@code v} and {@code .}, as one or several marks of peer access. */
    private static boolean isMarks(String text) {
        return text.chars().allMatch(c -> c == 'v' || c == '.');
    }

    /** A line without comment, log prefix and log remarks; what is removed leaves spaces. */
    private static String content(String raw) {
        String line = Token.plainSpaces(raw);
        int comment = line.indexOf('#');
        String rest = comment < 0 ? line : line.substring(0, comment);
        Matcher prefix = LOG_PREFIX.matcher(rest);
        if (prefix.find()) {
            rest = " ".repeat(prefix.end()) + rest.substring(prefix.end());
        }
        return LOG_REMARK.matcher(rest).matches() ? "" : rest;
    }

    @Override
    public Machine read(String source, String text) {
        return new MatrixMachine(source, rows(source, text), stated).build(unit);
    }

    private static List<List<Entry>> rows(String source, String text) {
        List<String> lines = text.lines().map(MatrixFormat::content).toList();
        boolean nested = nested(lines);
        List<List<Entry>> rows = new ArrayList<>();
        rows.add(new ArrayList<>());
        for (int line = 1; line <= lines.size(); line++) {
            Matcher piece = PIECE.matcher(lines.get(line - 1));
            while (piece.find()) {
                switch (piece.group()) {
                    case "/", ";", "]" -> endRow(rows);
                    case "[" -> {
                        // Only its end matters.
                    }
                    default -> addEntries(rows.getLast(), piece.group(), line, piece.start() + 1);
                }
                if (rows.getLast().size() > MAX_DEVICES || rows.size() > 2 * MAX_DEVICES + 1) {
                    throw new InputException(
                            source,
                            line,
                            0,
                            "is a matrix of more than " + MAX_DEVICES + " columns or rows; at most " + MAX_DEVICES
                                    + " devices are read");
                }
            }
            if (!nested) {
                endRow(rows);
            }
        }
        rows.removeIf(List::isEmpty);
        return rows;
    }

    private static void endRow(List<List<Entry>> rows) {
        if (!rows.getLast().isEmpty()) {
            rows.add(new ArrayList<>());
        }
    }

    private static void addEntries(List<Entry> row, String text, int line, int column) {
        if (!isMarks(text)) {
            row.add(new Entry(text, line, column));
            return;
        }
        for (int i = 0; i < text.length(); i++) {
            row.add(new Entry(text.substring(i, i + 1), line, column + i));
        }
    }

    /** Returns whether brackets lie within brackets: then brackets, not line ends, separate the rows. */
    private static boolean nested(List<String> lines) {
        int depth = 0;
        for (String line : lines) {
            for (int i = 0; i < line.length(); i++) {
                depth += line.charAt(i) == '[' ? 1 : line.charAt(i) == ']' ? -1 : 0;
                if (depth > 1) {
                    return true;
                }
            }
        }
        return false;
    }
}

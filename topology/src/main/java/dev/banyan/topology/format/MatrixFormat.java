package dev.banyan.topology.format;

import dev.banyan.topology.Device;
import dev.banyan.topology.Hub;
import dev.banyan.topology.Link;
import dev.banyan.topology.LinkMatrix;
import dev.banyan.topology.LinkSpeeds;
import dev.banyan.topology.Machine;
import dev.banyan.topology.PeerAccess;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A plain n x n matrix. Columns are parted by spaces, tabs or commas; rows by line ends, {@code /} or
 * {@code ;}, or by the brackets of a nested list; {@code #} begins a comment.
 *
 * <p>Entries are the classic link classes (0 none; above 0 up to 1 PCIe, as the rule of {@link
 * LinkMatrix} writes 1/n; 2 one NVLink; 3 two), symmetric, or with {@link MatrixUnit#GBS} bandwidths
 * from row to column in GB/s. A bandwidth is read as PCIe up to 16 GB/s (a PCIe 3.0 x16 slot), as one
 * NVLink below 37.5 (one and a half NVLinks of 25), and as several above, by the slower direction. So
 * PCIe 4.0 and 5.0 slots, which are as fast as an NVLink, pass for one.
 *
 * <p>A second n x n block after the first is peer access, as 0/1 or as the {@code v} and {@code .} that
 * MXNet's log prints, with or without the log's prefix; see {@link PeerAccess}. A file that holds only
 * {@code v} and {@code .} is read as one NVLink where there is access and PCIe where there is none.
 */
final class MatrixFormat implements MachineFormat {
    /** Largest n. */
    static final int MAX_DEVICES = 1024;

    private static final double MAX_PCIE_GBS = 16;
    private static final double MIN_NVLINKS_GBS = 1.5 * AssumedLinks.NVLINK_LANE_GBS;

    private static final Pattern LOG_PREFIX = Pattern.compile("^\\s*\\[\\d\\d:\\d\\d:\\d\\d\\] \\S+:\\d+: ?");
    private static final Pattern LOG_REMARK = Pattern.compile("^\\s*only \\d+ out of \\d+ GPU pairs .*");
    private static final Pattern PIECE = Pattern.compile("[\\[\\];/]|[^\\s,;/\\[\\]]+");
    private static final Pattern NUMBER = Pattern.compile("[+-]?(\\d+\\.?\\d*|\\.\\d+)([eE][+-]?\\d{1,5})?");
    private static final Pattern NOT_FINITE = Pattern.compile("(?i)[+-]?(nan|inf|infinity)");

    private final MatrixUnit unit;

    MatrixFormat(MatrixUnit unit) {
        this.unit = unit;
    }

    /** One entry: a number, or a mark of peer access. */
    private record Entry(String text, int column) {
        boolean isMark() {
            return isMarks(text);
        }
    }

    private record Row(int line, List<Entry> entries) {}

    @Override
    public String name() {
        return "matrix";
    }

    @Override
    public boolean recognizes(String text) {
        for (String line : (Iterable<String>) text.lines()::iterator) {
            String content = content(line);
            Matcher piece = PIECE.matcher(content);
            while (piece.find()) {
                String first = piece.group();
                if (!first.equals("[")) {
                    return NUMBER.matcher(first).matches()
                            || NOT_FINITE.matcher(first).matches()
                            || isMarks(first);
                }
            }
        }
        return false;
    }

    /** Whether a piece consists of {@code v} and {@code .}, as one or several marks of peer access. */
    private static boolean isMarks(String text) {
        for (int i = 0; i < text.length(); i++) {
            if (text.charAt(i) != 'v' && text.charAt(i) != '.') {
                return false;
            }
        }
        return true;
    }

    /** A line without comment, log prefix and log remarks; what is taken away leaves spaces. */
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
        List<Row> rows = rows(source, text);
        if (rows.isEmpty()) {
            throw new MachineFormatException(source, 0, 0, "holds no matrix; write n rows of n numbers");
        }
        int n = rows.getFirst().entries().size();
        for (int r = 0; r < rows.size(); r++) {
            int columns = rows.get(r).entries().size();
            if (columns != n) {
                throw new MachineFormatException(
                        source,
                        rows.get(r).line(),
                        0,
                        "row " + (r % n + 1) + " has " + columns
                                + " columns but the first row has " + n
                                + "; all rows need the same number, and a file holds"
                                + " one machine");
            }
        }
        if (rows.size() != n && rows.size() != 2 * n) {
            throw new MachineFormatException(
                    source,
                    rows.getLast().line(),
                    0,
                    "the matrix has " + rows.size() + " rows of " + n
                            + " columns; it must be square (a second square block is peer access)");
        }
        List<String> warnings = new ArrayList<>();
        if (rows.getFirst().entries().getFirst().isMark()) {
            if (rows.size() != n) {
                throw new MachineFormatException(
                        source,
                        rows.get(n).line(),
                        0,
                        "a second block follows one of peer access; put the matrix of numbers first");
            }
            return fromClasses(source, accessClasses(access(source, rows)), warnings);
        }
        double[][] values = values(source, rows.subList(0, n), warnings);
        if (unit == MatrixUnit.GBS) {
            if (rows.size() != n) {
                throw new MachineFormatException(
                        source,
                        rows.get(n).line(),
                        0,
                        "peer access belongs to link classes; leave it out where the matrix is in GB/s");
            }
            return fromBandwidths(source, rows, values, warnings);
        }
        int[][] classes = classes(source, rows, values);
        if (rows.size() == 2 * n) {
            PeerAccess reconciled = PeerAccess.reconcile(classes, access(source, rows.subList(n, 2 * n)));
            classes = reconciled.classes();
            reconciled.warning().ifPresent(warnings::add);
        }
        return fromClasses(source, classes, warnings);
    }

    private static List<Row> rows(String source, String text) {
        List<String> lines = text.lines().map(MatrixFormat::content).toList();
        boolean nested = nested(lines);
        List<Row> rows = new ArrayList<>();
        List<Entry> entries = new ArrayList<>();
        int begun = 1;
        for (int line = 1; line <= lines.size(); line++) {
            Matcher piece = PIECE.matcher(lines.get(line - 1));
            while (piece.find()) {
                String symbol = piece.group();
                boolean ends = symbol.equals("/") || symbol.equals(";") || symbol.equals("]");
                if (ends) {
                    entries = flush(rows, entries, begun);
                } else if (!symbol.equals("[")) {
                    if (entries.isEmpty()) {
                        begun = line;
                    }
                    addEntries(entries, symbol, piece.start() + 1);
                    if (entries.size() > MAX_DEVICES || rows.size() > 2 * MAX_DEVICES) {
                        throw new MachineFormatException(
                                source,
                                line,
                                0,
                                "is a matrix of more than " + MAX_DEVICES + " columns or rows; at most " + MAX_DEVICES
                                        + " devices are read");
                    }
                }
            }
            if (!nested) {
                entries = flush(rows, entries, begun);
            }
        }
        flush(rows, entries, begun);
        return rows;
    }

    private static List<Entry> flush(List<Row> rows, List<Entry> entries, int line) {
        if (entries.isEmpty()) {
            return entries;
        }
        rows.add(new Row(line, entries));
        return new ArrayList<>();
    }

    private static void addEntries(List<Entry> entries, String text, int column) {
        if (!isMarks(text)) {
            entries.add(new Entry(text, column));
            return;
        }
        for (int i = 0; i < text.length(); i++) {
            entries.add(new Entry(text.substring(i, i + 1), column + i));
        }
    }

    /** Whether brackets lie within brackets: then they, not line ends, part the rows. */
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

    private static double[][] values(String source, List<Row> rows, List<String> warnings) {
        int n = rows.size();
        double[][] values = new double[n][n];
        boolean diagonal = false;
        for (int a = 0; a < n; a++) {
            Row row = rows.get(a);
            for (int b = 0; b < n; b++) {
                Entry entry = row.entries().get(b);
                double value = number(source, row.line(), entry);
                diagonal |= a == b && value != 0;
                values[a][b] = a == b ? 0 : value;
            }
        }
        if (diagonal) {
            warnings.add("entries on the diagonal of the matrix are ignored: a device has no link to itself");
        }
        return values;
    }

    private static double number(String source, int line, Entry entry) {
        String text = entry.text();
        if (text.length() == 1 && text.charAt(0) >= '0' && text.charAt(0) <= '9') {
            return text.charAt(0) - '0';
        }
        double value = NUMBER.matcher(text).matches() ? Double.parseDouble(text) : Double.NaN;
        if (Double.isNaN(value) && !NOT_FINITE.matcher(text).matches()) {
            throw new MachineFormatException(source, line, entry.column(), quote(entry) + " is not a number");
        }
        if (!(value >= 0) || Double.isInfinite(value)) {
            throw new MachineFormatException(
                    source,
                    line,
                    entry.column(),
                    quote(entry) + " is not allowed; entries are finite and not negative");
        }
        return value;
    }

    private static String quote(Entry entry) {
        String text = entry.text();
        return "entry \"" + (text.length() > 20 ? text.substring(0, 20) + "..." : text) + "\"";
    }

    private static int[][] classes(String source, List<Row> rows, double[][] values) {
        int n = values.length;
        int[][] classes = new int[n][n];
        for (int a = 0; a < n; a++) {
            for (int b = 0; b < n; b++) {
                double value = values[a][b];
                if (value > 0 && value <= 1) {
                    classes[a][b] = LinkMatrix.PCIE;
                } else if (value == 0 || value == LinkMatrix.NVLINK || value == LinkMatrix.NVLINKS) {
                    classes[a][b] = (int) value;
                } else {
                    Entry entry = rows.get(a).entries().get(b);
                    throw new MachineFormatException(
                            source,
                            rows.get(a).line(),
                            entry.column(),
                            quote(entry)
                                    + " is no link class (0 none, 1 PCIe, 2 one NVLink, 3 two or more); if the entries"
                                    + " are GB/s, say so (--unit gbs)");
                }
            }
        }
        for (int a = 0; a < n; a++) {
            for (int b = 0; b < a; b++) {
                if (classes[a][b] != classes[b][a]) {
                    Entry entry = rows.get(a).entries().get(b);
                    throw new MachineFormatException(
                            source,
                            rows.get(a).line(),
                            entry.column(),
                            quote(entry)
                                    + " from device " + a + " to " + b + " differs from the way back, "
                                    + quote(rows.get(b).entries().get(a)) + "; link classes are symmetric");
                }
            }
        }
        return classes;
    }

    private static boolean[][] access(String source, List<Row> rows) {
        int n = rows.size();
        boolean[][] access = new boolean[n][n];
        for (int a = 0; a < n; a++) {
            for (int b = 0; b < n; b++) {
                Entry entry = rows.get(a).entries().get(b);
                access[a][b] = switch (entry.text()) {
                    case "v", "1" -> true;
                    case ".", "0" -> false;
                    default ->
                        throw new MachineFormatException(
                                source,
                                rows.get(a).line(),
                                entry.column(),
                                quote(entry)
                                        + " is no peer access; write v or 1 where the row's device may access the"
                                        + " column's, else . or 0");
                };
            }
        }
        return access;
    }

    private static int[][] accessClasses(boolean[][] access) {
        int n = access.length;
        int[][] classes = new int[n][n];
        for (int a = 0; a < n; a++) {
            for (int b = 0; b < n; b++) {
                if (a != b) {
                    classes[a][b] = access[a][b] && access[b][a] ? LinkMatrix.NVLINK : LinkMatrix.PCIE;
                }
            }
        }
        return classes;
    }

    /** PCIe that reaches every pair goes through one hub, as it is shared; else it links just the pairs named. */
    private static Machine fromClasses(String source, int[][] classes, List<String> warnings) {
        int n = classes.length;
        boolean pcie = false;
        boolean complete = true;
        for (int a = 0; a < n; a++) {
            for (int b = 0; b < a; b++) {
                pcie |= classes[a][b] == LinkMatrix.PCIE;
                complete &= classes[a][b] > LinkMatrix.NONE;
            }
        }
        List<Link> links = new ArrayList<>();
        for (int a = 0; a < n; a++) {
            for (int b = a + 1; b < n; b++) {
                if (classes[a][b] >= LinkMatrix.NVLINK) {
                    int lanes = classes[a][b] - LinkMatrix.PCIE;
                    links.add(AssumedLinks.nvLink(a, b, lanes, AssumedLinks.NVLINK_LANE_GBS));
                } else if (classes[a][b] == LinkMatrix.PCIE && !complete) {
                    links.add(AssumedLinks.pcie(a, b));
                }
            }
        }
        List<Hub> hubs = new ArrayList<>();
        if (pcie && complete) {
            hubs.add(Hub.of("host", Hub.Kind.CPU_SOCKET));
            for (int device = 0; device < n; device++) {
                links.add(AssumedLinks.pcie(device, n));
            }
        }
        return machine(source, n, hubs, links, warnings);
    }

    private static Machine fromBandwidths(String source, List<Row> rows, double[][] gbs, List<String> warnings) {
        int n = gbs.length;
        List<Link> links = new ArrayList<>();
        for (int a = 0; a < n; a++) {
            for (int b = a + 1; b < n; b++) {
                double slower = Math.min(gbs[a][b], gbs[b][a]);
                double faster = Math.max(gbs[a][b], gbs[b][a]);
                if (faster == 0) {
                    continue;
                }
                if (slower == 0) {
                    int row = gbs[a][b] == 0 ? a : b;
                    int column = a + b - row;
                    throw new MachineFormatException(
                            source,
                            rows.get(row).line(),
                            rows.get(row).entries().get(column).column(),
                            "0 GB/s from device " + row + " to " + column + " but " + faster
                                    + " back; a link works both ways");
                }
                boolean nvlink = slower > MAX_PCIE_GBS;
                int lanes = slower < MIN_NVLINKS_GBS
                        ? 1
                        : (int) Math.max(2, Math.round(slower / AssumedLinks.NVLINK_LANE_GBS));
                links.add(new Link(
                        a,
                        b,
                        nvlink ? Link.Kind.NVLINK : Link.Kind.PCIE,
                        nvlink ? lanes : LinkSpeeds.PCIE_LANES,
                        gbs[a][b],
                        gbs[b][a],
                        nvlink ? LinkSpeeds.NVLINK_US : LinkSpeeds.PCIE_US));
            }
        }
        return machine(source, n, List.of(), links, warnings);
    }

    private static Machine machine(String source, int n, List<Hub> hubs, List<Link> links, List<String> warnings) {
        List<Device> devices = new ArrayList<>();
        for (int device = 0; device < n; device++) {
            devices.add(Device.named("GPU" + device));
        }
        return new Machine(MachineReader.machineName(source), devices, hubs, links, List.of(), warnings);
    }
}

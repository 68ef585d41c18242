package dev.banyan.topology.internal.nvidia;

import dev.banyan.InputException;
import dev.banyan.topology.Connection;
import dev.banyan.topology.internal.nvidia.TopoTable.Row;
import dev.banyan.topology.internal.text.Token;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Finds and checks the matrix in a capture of {@code nvidia-smi topo -m}: plain text of any driver, also
 * with other output around it, or a markdown table. For one text; not reusable.
 */
final class TopoTableParser {
    static final Pattern GPU = Pattern.compile("GPU\\d{1,4}");
    /** Largest number of columns. */
    private static final int MAX_ENDS = 1024;
    /** Longest line of a table, in characters: no name or cell of its columns takes more than 64. */
    private static final int MAX_LINE = 64 * MAX_ENDS;

    private static final Pattern TITLE = Pattern.compile("CPU\\s?Affinity|NUMA\\s?Affinity|GPU\\s?NUMA\\s?ID");
    /** Names that drivers print side by side in concatenated headers, then any other name. */
    private static final Pattern COLUMN = Pattern.compile(TITLE.pattern() + "|" + GPU.pattern()
            + "|NIC\\d+|mlx\\d+_\\d+|[^\\s|]+?(?=CPU\\s?Affinity|NUMA\\s?Affinity|GPU\\d|[\\s|]|$)");

    private static final Pattern ROW_NAME = Pattern.compile("GPU\\d{1,4}|NIC\\d{1,4}|mlx\\d+_\\d+");
    private static final Pattern BROKEN_TITLE = Pattern.compile("CPU|GPU|NUMA|ID|Af\\w*|\\w*nity");
    private static final Pattern HEADER_START = Pattern.compile("\\s*GPU\\d{1,4}(?![:\\d\\]])");
    /** A row behind something that is neither white space nor a cell of a markdown table. */
    private static final Pattern PREFIXED_ROW =
            Pattern.compile("([^\\s|].{0,100}?)GPU\\d{1,4}\\s+(X|NV\\d+|PIX|PXB|PSB|PHB|NODE|SYS|SOC)(?!\\S)");

    private static final Pattern MARKDOWN_GPU = Pattern.compile("\\|[ \\t]{0,80}GPU\\d{1,4}[ \\t]{0,80}\\|");
    private static final Pattern MARKDOWN_RULE = Pattern.compile("[\\s|:-]+");
    private static final Pattern LEGEND = Pattern.compile("\\s*(X|SYS|SOC|NODE|PHB|PXB|PIX|PSB|NV#|OK)\\s*=\\s*(.*)");
    private static final Pattern CARD = Pattern.compile("\\s*(NIC\\d+):\\s*(\\S+)\\s*");
    private static final Pattern PROMPT = Pattern.compile("topo\\s+(-mp|-p2p|-m)\\b");

    private static final String RERUN =
            "; run \"nvidia-smi topo -m > topo.txt\" and read that file, which no terminal has wrapped or cut";

    private final String source;
    private final List<String> lines;
    private final List<String> warnings = new ArrayList<>();
    private final List<Token> titles = new ArrayList<>();

    TopoTableParser(String source, String text) {
        this.source = source;
        List<String> plain = text.lines().map(Token::plain).toList();
        lines = findTable(plain, 0) < 0 ? withoutPrefix(plain) : plain;
    }

    /**
     * Blanks what logs and quoting mails put in front of each line of a table, e.g. {@code "> "} or a time, if it is
     * equally long on the header and the first row; columns stay.
     */
    private static List<String> withoutPrefix(List<String> lines) {
        for (int i = 1; i < lines.size(); i++) {
            String line = lines.get(i);
            Matcher row = line.length() <= MAX_LINE && line.contains("GPU") ? PREFIXED_ROW.matcher(line) : null;
            if (row != null && row.lookingAt()) {
                int length = row.end(1);
                List<String> blanked =
                        lines.stream().map(each -> blank(each, length)).toList();
                int header = i - 1;
                while (header > 0 && blanked.get(header).isBlank()) {
                    header--;
                }
                return findTable(blanked, header) == header ? blanked : lines;
            }
        }
        return lines;
    }

    private static String blank(String line, int length) {
        return line.length() <= length ? "" : " ".repeat(length) + line.substring(length);
    }

    /** Returns whether there is a header followed by a row of it. */
    boolean hasTable() {
        return findTable(lines, 0) >= 0;
    }

    /** Returns whether there is at least a line that could be the header, or a row without header. */
    boolean hasTraces() {
        return lines.stream().anyMatch(line -> isHeader(line) || isRow(line));
    }

    /**
     * Reads the table.
     *
     * @throws InputException if it is not that of {@code topo -m}, or incomplete
     */
    TopoTable parse() {
        int header = findTable(lines, 0);
        if (header < 0) {
            header = firstTrace();
        } else if (showsPeerAccess(header)) {
            int links = findTable(lines, nextContent(lines, header + 1));
            header = links < 0 ? header : links;
        }
        checkPrompt(header);
        boolean markdown = isMarkdown(lines.get(header));
        List<Token> columns = markdown ? pipeCells(lines.get(header)) : columns(lines.get(header));
        List<Token> ends = ends(header, columns, markdown);
        List<@Nullable Row> rows = new ArrayList<>(Collections.nCopies(ends.size(), null));
        int next = readRows(header, markdown ? columns : null, ends, rows);
        int second = findTable(lines, next);
        Map<String, String> legend = new LinkedHashMap<>();
        Map<String, String> cards = new HashMap<>();
        for (int i = next; i < (second < 0 ? lines.size() : second); i++) {
            Matcher entry = LEGEND.matcher(lines.get(i));
            Matcher card = CARD.matcher(lines.get(i));
            if (entry.matches()) {
                legend.put(entry.group(1), entry.group(2));
            } else if (card.matches()) {
                cards.put(card.group(1), card.group(2));
            }
        }
        checkClipped(next, ends, cards);
        if (second >= 0) {
            warnings.add("a second table follows at line " + (second + 1) + "; only the first is read");
        }
        checkTopoM(header, legend, rows);
        warnings.addAll(CutRows.warnings(lines, ends, rows));
        checkSymmetry(ends, rows);
        boolean old = legend.containsKey("SOC") || anyCell(rows, "SOC");
        return new TopoTable(ends.stream().map(Token::text).toList(), rows, old, cards, warnings);
    }

    // Finding the table.

    private static boolean isMarkdown(String line) {
        return line.stripLeading().startsWith("|");
    }

    private static boolean isHeader(String line) {
        return beginsLikeTable(line) && !hasCell(line);
    }

    private static boolean isRow(String line) {
        return beginsLikeTable(line) && hasCell(line);
    }

    private static boolean beginsLikeTable(String line) {
        if (line.length() > MAX_LINE || !line.contains("GPU")) {
            return false;
        }
        return HEADER_START.matcher(line).lookingAt()
                || (isMarkdown(line) && MARKDOWN_GPU.matcher(line).find());
    }

    private static boolean hasCell(String line) {
        return Token.words(line).stream().anyMatch(TopoTableParser::isCell);
    }

    private static boolean isCell(Token word) {
        return TopoCell.of(word.text()) != null || TopoCell.isPeerStatus(word.text());
    }

    private static int findTable(List<String> lines, int from) {
        for (int i = from; i < lines.size(); i++) {
            if (isHeader(lines.get(i))) {
                int next = nextContent(lines, i + 1);
                if (next < lines.size() && isRow(lines.get(next))) {
                    return i;
                }
            }
        }
        return -1;
    }

    /** The next line, from an index, that is neither blank nor a markdown rule. */
    private static int nextContent(List<String> lines, int from) {
        int i = from;
        while (i < lines.size()
                && (lines.get(i).isBlank()
                        || MARKDOWN_RULE.matcher(lines.get(i)).matches())) {
            i++;
        }
        return i;
    }

    private int firstTrace() {
        int i = 0;
        while (!isHeader(lines.get(i)) && !isRow(lines.get(i))) {
            i++;
        }
        if (isRow(lines.get(i))) {
            throw refuse(i, 0, "the line above the first row, which names the columns, is missing" + RERUN);
        }
        return i;
    }

    /** Returns whether the first row under a header is one of {@code topo -p2p}. */
    private boolean showsPeerAccess(int header) {
        return Token.words(lines.get(nextContent(lines, header + 1))).stream()
                .anyMatch(word -> TopoCell.isPeerStatus(word.text()));
    }

    /** The last prompt above a table is the table's. */
    private void checkPrompt(int header) {
        for (int i = header - 1; i >= 0; i--) {
            Matcher prompt = PROMPT.matcher(lines.get(i));
            if (prompt.find()) {
                if (!prompt.group(1).equals("-m")) {
                    throw refuseKind(i, prompt.group(1));
                }
                return;
            }
        }
    }

    private InputException refuseKind(int line, String option) {
        return refuse(
                line,
                0,
                option.equals("-mp")
                        ? "this is output of \"nvidia-smi topo -mp\", which hides NVLink and shows the PCIe path"
                                + " instead; run \"nvidia-smi topo -m\""
                        : "this is output of \"nvidia-smi topo -p2p\", which says whether peer access works but not"
                                + " over which links; run \"nvidia-smi topo -m\"");
    }

    // The header.

    private static List<Token> columns(String line) {
        List<Token> columns = new ArrayList<>();
        Matcher matcher = COLUMN.matcher(line);
        while (matcher.find()) {
            columns.add(new Token(matcher.group(), matcher.start() + 1));
        }
        return columns;
    }

    private static List<Token> pipeCells(String line) {
        List<Token> cells = new ArrayList<>();
        int start = line.indexOf('|') + 1;
        for (int end = line.indexOf('|', start); end >= 0; end = line.indexOf('|', start)) {
            String raw = line.substring(start, end);
            String text = raw.strip();
            cells.add(new Token(text, start + 1 + Math.max(0, raw.indexOf(text))));
            start = end + 1;
        }
        return cells;
    }

    private List<Token> ends(int header, List<Token> columns, boolean markdown) {
        List<Token> ends = new ArrayList<>();
        Set<String> seen = new HashSet<>();
        for (Token column : columns) {
            String name = column.text();
            if (TITLE.matcher(name).matches()) {
                titles.add(column);
            } else if (BROKEN_TITLE.matcher(name).matches()) {
                throw refuse(
                        header,
                        column.column(),
                        "\"" + name + "\" is a piece of a column's title: the text was"
                                + " wrapped or cut by a terminal" + RERUN);
            } else if (!name.isEmpty() || !markdown) {
                if (!seen.add(name)) {
                    throw refuse(header, column.column(), "column " + name + " is named twice");
                }
                ends.add(column);
            }
        }
        if (ends.size() > MAX_ENDS) {
            throw refuse(header, 0, "has " + ends.size() + " columns; at most " + MAX_ENDS + " are read");
        }
        return ends;
    }

    // The rows.

    /** Fills in the rows and returns the index of the first line after them. */
    private int readRows(int header, @Nullable List<Token> markdown, List<Token> ends, List<@Nullable Row> rows) {
        int line = header;
        int last = header;
        for (int end = 0; end < ends.size(); end++) {
            line = nextContent(lines, line + 1);
            if (markdown == null
                    && line < lines.size()
                    && isClippedCard(line, ends.get(end).text(), ends.size())) {
                warnings.add("row " + ends.get(end).text() + " is cut off; it and what follows of the table are not"
                        + " read");
                return line + 1;
            }
            Row row = line < lines.size() ? row(line, markdown, ends.get(end).text(), ends) : null;
            if (row == null) {
                checkMissing(line, end, ends);
                return last + 1;
            }
            rows.set(end, row);
            last = line;
        }
        return last + 1;
    }

    private boolean isClippedCard(int line, String name, int cells) {
        List<Token> words = Token.words(lines.get(line));
        return !GPU.matcher(name).matches()
                && words.getFirst().text().equals(name)
                && words.size() <= cells
                && words.stream().skip(1).allMatch(TopoTableParser::isCell);
    }

    private void checkMissing(int line, int end, List<Token> ends) {
        long gpus = countGpus(ends);
        for (int i = end; i < ends.size(); i++) {
            if (GPU.matcher(ends.get(i).text()).matches()) {
                long read = countGpus(ends.subList(0, end));
                boolean over = line >= lines.size();
                throw refuse(
                        over ? lines.size() - 1 : line,
                        0,
                        "the text is truncated or wrapped: its header names "
                                + gpus + (gpus == 1 ? " GPU but " : " GPUs but ") + read
                                + (read == 1 ? " row is" : " rows are") + " there, and "
                                + (over ? "the text ends before that of " : "this line is not that of ")
                                + ends.get(i).text()
                                + RERUN);
            }
        }
        warnings.add("the rows of " + (ends.size() - end) + " network cards are missing, from "
                + ends.get(end).text() + " on; how they reach each other is not known");
    }

    /** Rows and cards without a column show that columns were cut off. */
    private void checkClipped(int next, List<Token> ends, Map<String, String> cards) {
        Set<String> columns = new HashSet<>();
        ends.forEach(end -> columns.add(end.text()));
        int line = nextContent(lines, next);
        List<Token> words = line < lines.size() ? Token.words(lines.get(line)) : List.of();
        if (words.size() > 1
                && ROW_NAME.matcher(words.getFirst().text()).matches()
                && isCell(words.get(1))
                && !columns.contains(words.getFirst().text())) {
            throw refuse(
                    line,
                    0,
                    "the text is clipped: there is a row " + words.getFirst().text() + " but the header names no such"
                            + " column" + RERUN);
        }
        List<String> without = cards.keySet().stream()
                .filter(card -> !columns.contains(card))
                .sorted()
                .toList();
        if (!without.isEmpty()) {
            warnings.add("the text is clipped: its legend names " + without.size()
                    + " network cards without a column, from " + without.getFirst()
                    + " on; how they hang in the machine is not known");
        }
    }

    private static long countGpus(List<Token> ends) {
        return ends.stream().filter(end -> GPU.matcher(end.text()).matches()).count();
    }

    /** The row of an end, or null where the line is not its row. */
    private @Nullable Row row(int line, @Nullable List<Token> markdown, String name, List<Token> ends) {
        String text = lines.get(line);
        if (markdown != null) {
            return markdownRow(line, markdown, name, ends);
        }
        List<Token> words = Token.words(text);
        if (!words.getFirst().text().equals(name)) {
            return null;
        }
        int n = ends.size();
        int there = Math.min(n, words.size() - 1);
        List<TopoCell> cells = cells(line, name, words.subList(1, there + 1), ends);
        if (there < n) {
            throw refuse(
                    line,
                    0,
                    "row " + name + " has " + there + " of " + n + " cells: the text is truncated or wrapped" + RERUN);
        }
        List<Token> rest = words.subList(n + 1, words.size());
        for (Token word : rest) {
            if (TopoCell.of(word.text()) != null) {
                throw refuse(
                        line,
                        word.column(),
                        "row " + name + " has more cells than the header has columns: the"
                                + " header is truncated or wrapped" + RERUN);
            }
        }
        Token lastCell = words.get(n);
        String tail = text.substring(lastCell.column() - 1 + lastCell.text().length());
        Map<String, String> affinity = tail.indexOf('\t') >= 0 ? tabbed(tail) : aligned(rest);
        return new Row(line, words.subList(1, n + 1), cells, affinity("CPU", affinity), affinity("NUMA", affinity));
    }

    private @Nullable Row markdownRow(int line, List<Token> columns, String name, List<Token> ends) {
        List<Token> all = pipeCells(lines.get(line));
        List<Token> words = new ArrayList<>();
        Map<String, String> affinity = new HashMap<>();
        boolean named = false;
        for (int i = 0; i < Math.min(all.size(), columns.size()); i++) {
            String column = columns.get(i).text();
            if (TITLE.matcher(column).matches()) {
                affinity.put(column, all.get(i).text());
            } else if (column.isEmpty()) {
                named |= all.get(i).text().equals(name);
            } else {
                words.add(all.get(i));
            }
        }
        if (!named) {
            return null;
        }
        if (words.size() < ends.size()) {
            throw refuse(line, 0, "row " + name + " has " + words.size() + " of " + ends.size() + " cells");
        }
        return new Row(
                line, words, cells(line, name, words, ends), affinity("CPU", affinity), affinity("NUMA", affinity));
    }

    private List<TopoCell> cells(int line, String name, List<Token> words, List<Token> ends) {
        if (!words.isEmpty() && words.stream().noneMatch(TopoTableParser::isCell)) {
            throw refuse(
                    line,
                    words.getFirst().column(),
                    "row " + name + " holds no class of \"nvidia-smi topo -m\" (X, NV#, PIX, PXB, PHB, NODE, SYS,"
                            + " SOC); of AMD's tools, read all that \"rocm-smi --showtopo\" prints, titles"
                            + " included, or set NCCL_TOPO_DUMP_FILE=topo.xml for one run of RCCL, and read"
                            + " that");
        }
        List<TopoCell> cells = new ArrayList<>(words.size());
        for (int i = 0; i < words.size(); i++) {
            Token word = words.get(i);
            String column = ends.get(i).text();
            TopoCell cell = TopoCell.of(word.text());
            if (cell == null) {
                if (TopoCell.isPeerStatus(word.text())) {
                    throw refuseKind(line, "-p2p");
                }
                throw refuse(
                        line,
                        word.column(),
                        "\"" + shortened(word.text()) + "\" of row " + name + ", column "
                                + column
                                + " is none of X, NV#, PIX, PXB, PHB, NODE, SYS, SOC: a cell is missing or damaged,"
                                + " or the text is wrapped" + RERUN);
            }
            boolean self = cell.kind() == Connection.Kind.SELF;
            if (self != column.equals(name)) {
                throw refuse(
                        line,
                        word.column(),
                        self
                                ? "X of row " + name + " stands in column " + column + ": a cell is missing or damaged"
                                        + RERUN
                                : "row " + name + " says " + word.text() + " where its own column is, instead of X"
                                        + RERUN);
            }
            if (cell.kind() == Connection.Kind.NVLINK
                    && !(GPU.matcher(name).matches() && GPU.matcher(column).matches())) {
                throw refuse(
                        line,
                        word.column(),
                        word.text() + " between " + name + " and " + column + ": only GPUs have NVLinks");
            }
            cells.add(cell);
        }
        return cells;
    }

    private static String shortened(String text) {
        return text.length() > 20 ? text.substring(0, 20) + "..." : text;
    }

    /** With tabs, empty cells count: "0-31 TAB TAB N/A" has no NUMA node. */
    private Map<String, String> tabbed(String tail) {
        Map<String, String> affinity = new HashMap<>();
        int start = tail.indexOf('\t') + 1;
        for (Token title : titles) {
            int end = tail.indexOf('\t', start);
            affinity.put(
                    title.text(),
                    tail.substring(start, end < 0 ? tail.length() : end).strip());
            if (end < 0) {
                break;
            }
            start = end + 1;
        }
        return affinity;
    }

    /** Without tabs, words go to the titles in turn if there is one for each, else to the nearest title. */
    private Map<String, String> aligned(List<Token> words) {
        Map<String, String> affinity = new HashMap<>();
        for (int i = 0; i < words.size() && !titles.isEmpty(); i++) {
            Token word = words.get(i);
            Token nearest = titles.getFirst();
            for (Token title : titles) {
                if (Math.abs(title.column() - word.column()) < Math.abs(nearest.column() - word.column())) {
                    nearest = title;
                }
            }
            Token title = words.size() >= titles.size() ? titles.get(Math.min(i, titles.size() - 1)) : nearest;
            affinity.putIfAbsent(title.text(), word.text());
        }
        return affinity;
    }

    private static String affinity(String column, Map<String, String> affinity) {
        for (Map.Entry<String, String> entry : affinity.entrySet()) {
            if (entry.getKey().startsWith(column)) {
                return entry.getValue().equals("N/A") ? "" : entry.getValue();
            }
        }
        return "";
    }

    // Checks of the whole table.

    /**
     * {@code topo -mp} prints the same table without NVLinks and a legend without the NV# line. The
     * oldest drivers ("Path traverses ...") have no such line for {@code topo -m} either.
     */
    private void checkTopoM(int header, Map<String, String> legend, List<@Nullable Row> rows) {
        if (legend.containsKey("OK")) {
            throw refuseKind(header, "-p2p");
        }
        String pix = legend.get("PIX");
        boolean nvlink = rows.stream()
                .anyMatch(row ->
                        row != null && row.cells().stream().anyMatch(cell -> cell.kind() == Connection.Kind.NVLINK));
        if (!nvlink && pix != null && pix.startsWith("Connection") && !legend.containsKey("NV#")) {
            throw refuseKind(header, "-mp");
        }
    }

    private static boolean anyCell(List<@Nullable Row> rows, String word) {
        return rows.stream()
                .anyMatch(row -> row != null
                        && row.words().stream().anyMatch(w -> w.text().equals(word)));
    }

    private void checkSymmetry(List<Token> ends, List<@Nullable Row> rows) {
        for (int a = 0; a < ends.size(); a++) {
            Row row = rows.get(a);
            for (int b = 0; b < a && row != null; b++) {
                Row other = rows.get(b);
                if (other != null && !row.cells().get(b).equals(other.cells().get(a))) {
                    throw refuse(
                            row.line(),
                            row.words().get(b).column(),
                            "row " + ends.get(a).text() + " says "
                                    + row.words().get(b).text() + " for "
                                    + ends.get(b).text() + ", whose own row says "
                                    + other.words().get(a).text() + "; the matrix must be symmetric" + RERUN);
                }
            }
        }
    }

    private InputException refuse(int line, int column, String problem) {
        return new InputException(source, line + 1, column, problem);
    }
}

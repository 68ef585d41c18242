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
    static final int MAX_ENDS = 1024;

    private static final Pattern TITLE = Pattern.compile("CPU\\s?Affinity|NUMA\\s?Affinity|GPU\\s?NUMA\\s?ID");
    /** Names that drivers print side by side in concatenated headers, then any other name. */
    private static final Pattern COLUMN = Pattern.compile(TITLE.pattern() + "|" + GPU.pattern()
            + "|NIC\\d+|mlx\\d+_\\d+|[^\\s|]+?(?=CPU\\s?Affinity|NUMA\\s?Affinity|GPU\\d|[\\s|]|$)");

    private static final Pattern ROW_NAME = Pattern.compile("GPU\\d{1,4}|NIC\\d{1,4}|mlx\\d+_\\d+");
    private static final Pattern BROKEN_TITLE = Pattern.compile("CPU|GPU|NUMA|ID|Af\\w*|\\w*nity");
    private static final Pattern LEGEND = Pattern.compile("\\s*(X|SYS|SOC|NODE|PHB|PXB|PIX|PSB|NV#|OK)\\s*=\\s*(.*)");
    private static final Pattern CARD = Pattern.compile("\\s*(NIC\\d+):\\s*(\\S+)\\s*");
    private static final Pattern PROMPT = Pattern.compile("topo\\s+(-mp|-p2p|-m)\\b");

    private final Refusals refusals;
    private final TopoLines lines;
    private final List<String> warnings = new ArrayList<>();
    private final List<PeerTable> peerTables = new ArrayList<>();
    private final AffinityColumns titles = new AffinityColumns();

    TopoTableParser(String source, String text) {
        refusals = new Refusals(source);
        lines = TopoLines.of(text);
    }

    /** Returns whether there is a header followed by a row of it. */
    boolean hasTable() {
        return lines.findTable(0) >= 0;
    }

    /** Returns whether there is at least a line that could be the header, or a row without header. */
    boolean hasTraces() {
        return lines.all().stream().anyMatch(line -> TopoLines.isHeader(line) || TopoLines.isRow(line));
    }

    /**
     * Reads the table.
     *
     * @throws InputException if it is not that of {@code topo -m}, or incomplete
     */
    TopoTable parse() {
        int header = lines.findTable(0);
        if (header < 0) {
            header = firstTrace();
        }
        for (int links = lines.findTable(0); links >= 0; links = lines.findTable(links + 1)) {
            if (!PeerTable.isAt(lines, links)) {
                header = links;
                break;
            }
        }
        checkPrompt(header);
        boolean markdown = TopoLines.isMarkdown(lines.get(header));
        List<Token> columns = markdown ? pipeCells(lines.get(header)) : columns(lines.get(header));
        List<Token> ends = ends(header, columns, markdown);
        List<@Nullable Row> rows = new ArrayList<>(Collections.nCopies(ends.size(), null));
        int next = readRows(header, markdown ? columns : null, ends, rows);
        int second = lines.findTable(next);
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
        while (second >= 0 && PeerTable.isAt(lines, second)) {
            second = lines.findTable(second + 1);
        }
        if (second >= 0 && isWithoutLinks(second)) {
            throw refusals.at(
                    second,
                    0,
                    "the table that begins here has neither links nor states of peer access; save the output of"
                            + " \"nvidia-smi topo -m\" and \"nvidia-smi topo -p2p r\" to a file again");
        }
        if (second >= 0) {
            warnings.add("a second table follows at line " + (second + 1) + "; only the first is read");
        }
        WholeTable whole = new WholeTable(refusals, rows);
        whole.checkOption(header, legend);
        warnings.addAll(CutRows.warnings(lines.all(), ends, rows));
        whole.checkSymmetry(ends);
        boolean old = legend.containsKey("SOC") || whole.anyCell("SOC");
        peerTables.addAll(PeerTable.all(refusals, lines));
        return new TopoTable(ends.stream().map(Token::text).toList(), rows, old, cards, warnings);
    }

    /** Returns whether a table of several devices has no cell of {@code topo -m} beside X. */
    private boolean isWithoutLinks(int header) {
        int row = lines.nextContent(header + 1);
        List<Token> cells = row < lines.size() ? Token.words(lines.get(row)) : List.of();
        return cells.size() > 2
                && cells.stream()
                        .skip(1)
                        .map(cell -> TopoCell.of(cell.text()))
                        .allMatch(cell -> cell == null || cell.kind() == Connection.Kind.SELF);
    }

    /** Returns the tables of {@code topo -p2p} that stand beside the table that was read. */
    List<PeerTable> peerTables() {
        return peerTables;
    }

    private int firstTrace() {
        int i = 0;
        while (!TopoLines.isHeader(lines.get(i)) && !TopoLines.isRow(lines.get(i))) {
            i++;
        }
        if (TopoLines.isRow(lines.get(i))) {
            throw refusals.at(
                    i, 0, "the line above the first row, which names the columns, is missing" + Refusals.RERUN);
        }
        return i;
    }

    /** The last prompt above a table is the table's. */
    private void checkPrompt(int header) {
        for (int i = header - 1; i >= 0; i--) {
            Matcher prompt = PROMPT.matcher(lines.get(i));
            if (prompt.find()) {
                if (!prompt.group(1).equals("-m")) {
                    throw refusals.ofKind(i, prompt.group(1));
                }
                return;
            }
        }
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
                throw refusals.at(
                        header,
                        column.column(),
                        "\"" + name + "\" is a piece of a column's title: the text was"
                                + " wrapped or cut by a terminal" + Refusals.RERUN);
            } else if (!name.isEmpty() || !markdown) {
                if (!seen.add(name)) {
                    throw refusals.at(header, column.column(), "column " + name + " is named twice");
                }
                ends.add(column);
            }
        }
        if (ends.size() > MAX_ENDS) {
            throw refusals.at(header, 0, "has " + ends.size() + " columns; at most " + MAX_ENDS + " are read");
        }
        return ends;
    }

    // The rows.

    /** Fills in the rows and returns the index of the first line after them. */
    private int readRows(int header, @Nullable List<Token> markdown, List<Token> ends, List<@Nullable Row> rows) {
        int line = header;
        int last = header;
        for (int end = 0; end < ends.size(); end++) {
            line = lines.nextContent(line + 1);
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
                && words.stream().skip(1).allMatch(TopoLines::isCell);
    }

    private void checkMissing(int line, int end, List<Token> ends) {
        long gpus = countGpus(ends);
        for (int i = end; i < ends.size(); i++) {
            if (GPU.matcher(ends.get(i).text()).matches()) {
                long read = countGpus(ends.subList(0, end));
                boolean over = line >= lines.size();
                throw refusals.at(
                        over ? lines.size() - 1 : line,
                        0,
                        "the text is truncated or wrapped: its header names "
                                + gpus + (gpus == 1 ? " GPU, but after " : " GPUs, but after ") + read
                                + (read == 1 ? " row " : " rows ")
                                + (over ? "the text ends before that of " : "this line is not that of ")
                                + ends.get(i).text()
                                + Refusals.RERUN);
            }
        }
        warnings.add("the rows of " + (ends.size() - end) + " network cards are missing, from "
                + ends.get(end).text() + " on; how they reach each other is not known");
    }

    /** Rows and cards without a column show that columns were cut off. */
    private void checkClipped(int next, List<Token> ends, Map<String, String> cards) {
        Set<String> columns = new HashSet<>();
        ends.forEach(end -> columns.add(end.text()));
        int line = lines.nextContent(next);
        List<Token> words = line < lines.size() ? Token.words(lines.get(line)) : List.of();
        if (words.size() > 1
                && ROW_NAME.matcher(words.getFirst().text()).matches()
                && TopoLines.isCell(words.get(1))
                && !columns.contains(words.getFirst().text())) {
            throw refusals.at(
                    line,
                    0,
                    "the text is clipped: there is a row " + words.getFirst().text() + " but the header names no such"
                            + " column" + Refusals.RERUN);
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
            throw refusals.at(
                    line,
                    0,
                    "row " + name + " has " + there + " of " + n + " cells: the text is truncated or wrapped"
                            + Refusals.RERUN);
        }
        List<Token> rest = words.subList(n + 1, words.size());
        for (Token word : rest) {
            if (TopoCell.of(word.text()) != null) {
                throw refusals.at(
                        line,
                        word.column(),
                        "row " + name + " has more cells than the header has columns: the"
                                + " header is truncated or wrapped" + Refusals.RERUN);
            }
        }
        Token lastCell = words.get(n);
        String tail = text.substring(lastCell.column() - 1 + lastCell.text().length());
        Map<String, String> affinity = titles.of(tail, rest);
        return new Row(
                line,
                words.subList(1, n + 1),
                cells,
                AffinityColumns.value("CPU", affinity),
                AffinityColumns.value("NUMA", affinity));
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
            throw refusals.at(line, 0, "row " + name + " has " + words.size() + " of " + ends.size() + " cells");
        }
        return new Row(
                line,
                words,
                cells(line, name, words, ends),
                AffinityColumns.value("CPU", affinity),
                AffinityColumns.value("NUMA", affinity));
    }

    private List<TopoCell> cells(int line, String name, List<Token> words, List<Token> ends) {
        if (!words.isEmpty() && words.stream().noneMatch(TopoLines::isCell)) {
            throw refusals.at(
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
                    throw refusals.ofKind(line, "-p2p");
                }
                throw refusals.at(
                        line,
                        word.column(),
                        "\"" + shortened(word.text()) + "\" of row " + name + ", column "
                                + column
                                + " is none of X, NV#, PIX, PXB, PHB, NODE, SYS, SOC: a cell is missing or damaged,"
                                + " or the text is wrapped" + Refusals.RERUN);
            }
            boolean self = cell.kind() == Connection.Kind.SELF;
            if (self != column.equals(name)) {
                throw refusals.at(
                        line,
                        word.column(),
                        self
                                ? "X of row " + name + " stands in column " + column + ": a cell is missing or damaged"
                                        + Refusals.RERUN
                                : "row " + name + " says " + word.text() + " where its own column is, instead of X"
                                        + Refusals.RERUN);
            }
            if (cell.kind() == Connection.Kind.NVLINK
                    && !(GPU.matcher(name).matches() && GPU.matcher(column).matches())) {
                throw refusals.at(
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
}

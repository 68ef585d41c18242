package dev.banyan.topology.internal.nvidia;

import dev.banyan.topology.internal.text.Token;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The lines of a capture of {@code nvidia-smi topo -m}, without what stands in front of all of them.
 *
 * @param all without control characters
 */
record TopoLines(List<String> all) {
    /** Longest line of a table, in characters: no name or cell of its columns takes more than 64. */
    private static final int MAX_LINE = 64 * TopoTableParser.MAX_ENDS;

    private static final Pattern HEADER_START = Pattern.compile("\\s*GPU\\d{1,4}(?![:\\d\\]])");
    /** A row behind something that is neither white space nor a cell of a markdown table. */
    private static final Pattern PREFIXED_ROW =
            Pattern.compile("([^\\s|].{0,100}?)GPU\\d{1,4}\\s+(X|NV\\d+|PIX|PXB|PSB|PHB|NODE|SYS|SOC)(?!\\S)");

    private static final Pattern MARKDOWN_GPU = Pattern.compile("\\|[ \\t]{0,80}GPU\\d{1,4}[ \\t]{0,80}\\|");
    /** A rule without a pipe at its begin, e.g. {@code -- | -- | --}. */
    private static final Pattern BARE_RULE =
            Pattern.compile("\\s{0,9}:?-{2,200}:?(?:\\s{0,9}\\|\\s{0,9}:?-{2,200}:?){1,1024}\\s{0,9}");

    private static final Pattern MARKDOWN_RULE = Pattern.compile("[\\s|:-]+");

    static TopoLines of(String text) {
        List<String> plain = withOuterPipes(text.lines().map(Token::plain).toList());
        return new TopoLines(findTable(plain, 0) < 0 ? withoutPrefix(plain) : plain);
    }

    String get(int line) {
        return all.get(line);
    }

    int size() {
        return all.size();
    }

    /** Returns the index, from another one on, of a header that is followed by a row of it; -1 if there is none. */
    int findTable(int from) {
        return findTable(all, from);
    }

    /** The next line, from an index, that is neither blank nor a markdown rule. */
    int nextContent(int from) {
        return nextContent(all, from);
    }

    /** Adds the pipes at both ends that Markdown lets a table leave out; its rule shows such a table. */
    private static List<String> withOuterPipes(List<String> lines) {
        List<String> piped = new ArrayList<>(lines);
        for (int rule = 1; rule < lines.size(); rule++) {
            if (BARE_RULE.matcher(lines.get(rule)).matches()) {
                for (int i = rule - 1; i < lines.size() && lines.get(i).indexOf('|') >= 0; i++) {
                    piped.set(i, "|" + lines.get(i) + "|");
                }
            }
        }
        return piped;
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

    static boolean isMarkdown(String line) {
        return line.stripLeading().startsWith("|");
    }

    static boolean isHeader(String line) {
        return beginsLikeTable(line) && !hasCell(line);
    }

    static boolean isRow(String line) {
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
        return Token.words(line).stream().anyMatch(TopoLines::isCell);
    }

    static boolean isCell(Token word) {
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

    private static int nextContent(List<String> lines, int from) {
        int i = from;
        while (i < lines.size()
                && (lines.get(i).isBlank()
                        || MARKDOWN_RULE.matcher(lines.get(i)).matches())) {
            i++;
        }
        return i;
    }
}

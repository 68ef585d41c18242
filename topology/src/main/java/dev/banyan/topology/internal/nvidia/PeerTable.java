package dev.banyan.topology.internal.nvidia;

import dev.banyan.topology.internal.text.Token;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * A table of {@code nvidia-smi topo -p2p}.
 *
 * @param line index of its header in the text
 * @param option the letters after -p2p: r and w for reads and writes, n for NVLink, a for atomics, p for PCIe; empty
 *     where the text does not say
 * @param status by row's and column's name
 */
record PeerTable(int line, String option, Map<String, Map<String, String>> status) {
    private static final Pattern OPTION = Pattern.compile("topo +-p2p +([rwnap]{1,5})\\b");
    private static final Pattern PROMPT = Pattern.compile("\\btopo +-");

    /** Returns all such tables of a text. */
    static List<PeerTable> all(Refusals refusals, TopoLines lines) {
        List<PeerTable> tables = new ArrayList<>();
        for (int header = lines.findTable(0); header >= 0; header = lines.findTable(header + 1)) {
            if (isAt(lines, header)) {
                tables.add(read(refusals, lines, header));
            }
        }
        return tables;
    }

    /** Returns whether the table of a header is one of {@code topo -p2p}: some cell says so. */
    static boolean isAt(TopoLines lines, int header) {
        int line = header;
        for (Token name : words(lines, header)) {
            line = lines.nextContent(line + 1);
            List<Token> row = line < lines.size() ? words(lines, line) : List.of();
            if (row.stream().anyMatch(word -> TopoCell.isPeerStatus(word.text()))) {
                return true;
            }
            if (row.isEmpty() || !row.getFirst().text().equals(name.text())) {
                return false;
            }
        }
        return false;
    }

    private static List<Token> words(TopoLines lines, int line) {
        return Token.words(lines.get(line).replace('|', ' '));
    }

    private static PeerTable read(Refusals refusals, TopoLines lines, int header) {
        List<String> names = words(lines, header).stream().map(Token::text).toList();
        Map<String, Map<String, String>> status = new LinkedHashMap<>();
        int line = header;
        for (String name : names) {
            line = lines.nextContent(line + 1);
            List<Token> words = line < lines.size() ? words(lines, line) : List.of();
            if (words.size() != names.size() + 1 || !words.getFirst().text().equals(name)) {
                throw refusals.at(
                        header,
                        0,
                        "the table of \"nvidia-smi topo -p2p\" has no whole row of its column \"" + name
                                + "\"; save its output to a file again");
            }
            Map<String, String> row = new LinkedHashMap<>();
            for (int i = 0; i < names.size(); i++) {
                Token cell = words.get(i + 1);
                boolean isKnown =
                        name.equals(names.get(i)) ? cell.text().equals("X") : TopoCell.isPeerStatus(cell.text());
                if (!isKnown) {
                    throw refusals.at(
                            line,
                            cell.column(),
                            "\"" + cell.text()
                                    + "\" is no status of peer access (OK, CNS, GNS, TNS, NS, DR or U); save the"
                                    + " output of \"nvidia-smi topo -p2p r\" to a file again");
                }
                row.put(names.get(i), cell.text());
            }
            status.put(name, row);
        }
        return new PeerTable(header, option(lines, header), status);
    }

    /** The option of the last prompt above the table. */
    private static String option(TopoLines lines, int header) {
        for (int i = header - 1; i >= 0; i--) {
            Matcher matcher = OPTION.matcher(lines.get(i));
            if (matcher.find()) {
                return matcher.group(1);
            }
            if (PROMPT.matcher(lines.get(i)).find()) {
                return "";
            }
        }
        return "";
    }

    /** Returns whether the table says if a GPU may access another's memory, over whatever links. */
    boolean isOfAccess() {
        return option.isEmpty() || option.contains("r") || option.contains("w");
    }

    /** Returns whether it says so for PCIe alone. */
    boolean isOfPcie() {
        return option.equals("p");
    }

    /** Returns whether it refuses a pair; U leaves it open. */
    boolean refuses(String a, String b) {
        return isRefusal(status.getOrDefault(a, Map.of()).get(b))
                || isRefusal(status.getOrDefault(b, Map.of()).get(a));
    }

    /** Returns whether it grants a pair access one way and refuses it the other. */
    boolean contradictsItself(String a, String b) {
        String one = status.getOrDefault(a, Map.of()).get(b);
        String other = status.getOrDefault(b, Map.of()).get(a);
        return (isRefusal(one) && "OK".equals(other)) || ("OK".equals(one) && isRefusal(other));
    }

    /** Returns whether it has a pair. */
    boolean knows(String a, String b) {
        return status.getOrDefault(a, Map.of()).containsKey(b);
    }

    private static boolean isRefusal(@Nullable String cell) {
        return cell != null && !cell.equals("OK") && !cell.equals("U") && !cell.equals("X");
    }
}

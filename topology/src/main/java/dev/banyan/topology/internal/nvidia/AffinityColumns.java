package dev.banyan.topology.internal.nvidia;

import dev.banyan.topology.internal.text.Token;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** The columns of a table's right side, which say what CPUs and memory are near a GPU. */
final class AffinityColumns {
    private final List<Token> titles = new ArrayList<>();

    void add(Token title) {
        titles.add(title);
    }

    /**
     * Returns what stands behind a row's cells, by title.
     *
     * @param tail of the row
     * @param words the same, word by word
     */
    Map<String, String> of(String tail, List<Token> words) {
        return tail.indexOf('\t') >= 0 ? tabbed(tail) : aligned(words);
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

    /** Returns the value of the title that begins with a word; empty where there is none. */
    static String value(String column, Map<String, String> affinity) {
        for (Map.Entry<String, String> entry : affinity.entrySet()) {
            if (entry.getKey().startsWith(column)) {
                return entry.getValue().equals("N/A") ? "" : entry.getValue();
            }
        }
        return "";
    }
}

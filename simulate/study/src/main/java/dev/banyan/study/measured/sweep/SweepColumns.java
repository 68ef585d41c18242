package dev.banyan.study.measured.sweep;

import dev.banyan.InputException;
import dev.banyan.study.measured.sweep.Lines.Word;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The columns of a heading of nccl-tests. Columns are counted from the end, since reductions and roots may be blank.
 *
 * @param line index of the heading
 * @param names of the columns in lower case, without that of a timestamp
 * @param times indices of the columns of times: out of place, then in place
 * @param secondTime column of characters at which the second time begins; {@code Integer.MAX_VALUE} without one
 * @param prefix number of characters before the heading
 */
record SweepColumns(int line, List<String> names, List<Integer> times, int secondTime, int prefix) {
    private static final Pattern HEADING =
            Pattern.compile("(?:#\\s*size\\s|(?:^|\\s)size\\s+(?:\\(b\\)\\s+)?count\\s).*\\b(?:cpu)?time\\b.*");
    private static final Pattern TIMESTAMP =
            Pattern.compile("\\s\\d{4}-\\d\\d-\\d\\d[ T]\\d\\d:\\d\\d:\\d\\d\\S*\\s*$");
    private static final Set<String> LABELS =
            Set.of("size", "(b)", "count", "(elements)", "type", "redop", "op", "root");
    private static final String STAMP = "timestamp";

    /** Returns the columns if the line, without launchers' prefixes, is a heading. */
    static Optional<SweepColumns> find(int line, String text) {
        Matcher found = HEADING.matcher(text.toLowerCase(Locale.ROOT));
        if (!found.find() || text.contains(",")) {
            return Optional.empty();
        }
        List<Word> words = Lines.words(found.group().replaceFirst("#", " "));
        List<String> names = new ArrayList<>(words.stream().map(Word::text).toList());
        names.removeIf(STAMP::equals);
        List<Integer> times = new ArrayList<>();
        int second = Integer.MAX_VALUE;
        for (int i = 0; i < names.size(); i++) {
            if (names.get(i).matches("(cpu)?time")) {
                times.add(i);
                second = times.size() == 2 ? found.start() + words.get(i).column() : second;
            }
        }
        return Optional.of(new SweepColumns(line, List.copyOf(names), List.copyOf(times), second, found.start()));
    }

    boolean isCpuTime() {
        return names.stream().anyMatch(name -> name.startsWith("cpu"));
    }

    /**
     * Returns whether these are columns of nccl-tests: known ones before the first time, and behind the second time the
     * same as behind the first, or the first of them; else the heading is damaged.
     */
    boolean isWhole() {
        int end = times.size() > 1 ? times.get(1) : names.size();
        List<String> first = names.subList(times.getFirst() + 1, end);
        List<String> second = names.subList(Math.min(end + 1, names.size()), names.size());
        return LABELS.containsAll(names.subList(0, times.getFirst()))
                && Set.copyOf(first).size() == first.size()
                && second.equals(first.subList(0, Math.min(second.size(), first.size())));
    }

    boolean hasRoot() {
        return names.contains("root");
    }

    /**
     * A row.
     *
     * @param size in bytes
     * @param count number of elements, as printed
     * @param labels what stands between the count and the times
     * @param figures the figures out of place, then in place, from each time on; empty where one is not there
     */
    record Cells(Word size, Word count, List<String> labels, List<List<Word>> figures) {}

    /** Returns the row of a line; null if the line is none. */
    @Nullable
    Cells row(Lines lines, int line, String text) {
        List<Word> words = Lines.words(TIMESTAMP.matcher(text).replaceFirst(""));
        if (words.isEmpty() || !words.getFirst().text().matches("[0-9]+")) {
            return null;
        }
        int least = names.size() - times.getFirst() + 3;
        boolean isCount = words.size() > 1 && words.get(1).text().matches("[0-9]+");
        boolean isCommand = words.size() > 1 && words.get(1).text().matches("--?[a-zA-Z].*");
        if (isCommand || (!isCount && words.size() < least)) {
            return null;
        }
        int width = times.size() > 1 ? times.get(1) - times.get(0) : 0;
        boolean isShort = width > 0 && words.size() >= least - width && words.size() <= names.size() - width;
        if (!isShort && (words.size() < least || words.size() > names.size())) {
            throw cut(lines, line, words);
        }
        boolean isInPlace = isShort && words.getLast().column() >= secondTime;
        List<List<Word>> figures = new ArrayList<>();
        int first = words.size();
        for (int i = times.size() - 1; i >= 0; i--) {
            if (isShort && (i == 1) != isInPlace) {
                figures.addFirst(List.of());
                continue;
            }
            int end = first;
            first -= (i + 1 < times.size() ? times.get(i + 1) : names.size()) - times.get(i);
            figures.addFirst(List.copyOf(words.subList(first, end)));
        }
        String time = figures.get(isInPlace ? 1 : 0).getFirst().text();
        if (words.size() < names.size() && !time.matches("[0-9.]+(?:e\\+[0-9]+)?|(?i)n/a")) {
            throw cut(lines, line, words);
        }
        return new Cells(
                words.getFirst(),
                words.get(1),
                words.subList(2, Math.max(2, first)).stream().map(Word::text).toList(),
                figures);
    }

    private InputException cut(Lines lines, int line, List<Word> words) {
        return lines.wrong(line, 0, words.size() + " figures under a heading of " + names.size() + "; give whole rows");
    }

    /** Returns the name of the column at a distance behind a time; empty if there is none. */
    String nameBehind(int time, int distance) {
        int index = times.get(time) + distance;
        return index < names.size() ? names.get(index) : "";
    }
}

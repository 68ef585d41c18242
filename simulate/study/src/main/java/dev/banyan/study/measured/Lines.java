package dev.banyan.study.measured;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Text line by line, with places for messages. */
record Lines(String source, List<String> lines) {
    /** What a program prints of some hundred devices is far below. */
    private static final long MAX_BYTES = 16 << 20;

    private static final Pattern WORD = Pattern.compile("\\S+");
    private static final Pattern NUMBER = Pattern.compile("[0-9]+(\\.[0-9]+)?");
    private static final int LONGEST_QUOTE = 40;

    /** A piece of a line and the column where it begins, from 1. */
    record Word(String text, int column) {}

    static Lines read(Path file) {
        String source = file.toString();
        try {
            if (Files.size(file) > MAX_BYTES) {
                throw new MeasuredException(
                        source, 0, 0, "is longer than " + (MAX_BYTES >> 20) + " MiB; give what the program printed");
            }
            return of(source, Files.readString(file));
        } catch (NoSuchFileException e) {
            throw new MeasuredException(source, 0, 0, "there is no such file; name one that holds what was measured");
        } catch (IOException e) {
            throw new MeasuredException(source, 0, 0, "can't be read as text in UTF-8 (" + e.getMessage() + ")");
        }
    }

    static Lines of(String source, String text) {
        return new Lines(source, text.lines().toList());
    }

    /** Words between white space. */
    static List<Word> words(String line) {
        List<Word> words = new ArrayList<>();
        Matcher matcher = WORD.matcher(line);
        while (matcher.find()) {
            words.add(new Word(matcher.group(), matcher.start() + 1));
        }
        return words;
    }

    /** Cells between commas. */
    static List<Word> cells(String line) {
        List<Word> cells = new ArrayList<>();
        int start = 0;
        for (String cell : line.split(",", -1)) {
            cells.add(new Word(cell.strip(), start + 1));
            start += cell.length() + 1;
        }
        return cells;
    }

    /** @param line index, from 0 */
    MeasuredException wrong(int line, int column, String problem) {
        return new MeasuredException(source, line + 1, column, problem);
    }

    /** @param line index, from 0 */
    double number(int line, Word word, String what) {
        if (!NUMBER.matcher(word.text()).matches()) {
            throw wrong(
                    line,
                    word.column(),
                    "'" + quoted(word.text()) + "' is no " + what + "; a number of at least 0 is needed");
        }
        return Double.parseDouble(word.text());
    }

    static String quoted(String text) {
        String shown = text.length() <= LONGEST_QUOTE ? text : text.substring(0, LONGEST_QUOTE) + "...";
        return shown.replaceAll("[\\p{Cc}\\p{Cf}\\u2028\\u2029]", "?");
    }
}

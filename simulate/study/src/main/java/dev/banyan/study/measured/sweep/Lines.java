package dev.banyan.study.measured.sweep;

import dev.banyan.InputException;
import dev.banyan.config.internal.BoundedInput;
import dev.banyan.config.internal.Quote;
import dev.banyan.config.internal.UnreadableFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Text line by line, with places for messages. */
public record Lines(String source, List<String> lines) {
    private static final Pattern WORD = Pattern.compile("\\S+");
    private static final Pattern NUMBER = Pattern.compile("[0-9]+(\\.[0-9]+)?");

    /** A piece of a line and the column where it begins, from 1. */
    public record Word(String text, int column) {}

    public static Lines read(Path file) {
        String source = file.toString();
        try {
            return of(source, BoundedInput.USUAL.text(file));
        } catch (UnreadableFileException e) {
            InputException refusal =
                    new InputException(source, 0, 0, e.reason() + "; name a file that holds what was measured");
            refusal.initCause(e);
            throw refusal;
        }
    }

    public static Lines of(String source, String text) {
        return new Lines(source, text.lines().toList());
    }

    /** Words between white space. */
    public static List<Word> words(String line) {
        List<Word> words = new ArrayList<>();
        Matcher matcher = WORD.matcher(line);
        while (matcher.find()) {
            words.add(new Word(matcher.group(), matcher.start() + 1));
        }
        return words;
    }

    /** Cells between commas. */
    public static List<Word> cells(String line) {
        List<Word> cells = new ArrayList<>();
        int start = 0;
        for (String cell : line.split(",", -1)) {
            cells.add(new Word(cell.strip(), start + 1));
            start += cell.length() + 1;
        }
        return cells;
    }

    /**
     * Returns an error at a place of a line.
     *
     * @param line index, from 0
     */
    public InputException wrong(int line, int column, String problem) {
        return new InputException(source, line + 1, column, problem);
    }

    /**
     * Returns the number that a word is.
     *
     * @param line index, from 0
     */
    public double number(int line, Word word, String what) {
        if (!NUMBER.matcher(word.text()).matches()) {
            throw wrong(
                    line,
                    word.column(),
                    "'" + Quote.of(word.text()) + "' is no " + what + "; a number of at least 0 is needed");
        }
        return Double.parseDouble(word.text());
    }
}

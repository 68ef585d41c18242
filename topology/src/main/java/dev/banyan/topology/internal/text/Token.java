package dev.banyan.topology.internal.text;

import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A piece of a line.
 *
 * @param text the piece, without white space around it
 * @param column where it begins, from 1
 */
public record Token(String text, int column) {
    private static final Pattern WORD = Pattern.compile("\\S+");
    /** Colour and underline codes; copies lose the escape character, or spell it, e.g. as ^[ or \x1b. */
    private static final Pattern ANSI =
            Pattern.compile("(?:\u001B|\\^\\[|\\\\(?:x1b|e|033|u001b))\\[[0-9;]*[A-Za-z]|\\[[0-9;]{1,8}m");

    /** Spaces that are no white space to {@code \s}: of any width, of none, and the byte order mark. */
    private static final Pattern ODD_SPACE = Pattern.compile("[\\p{Zs}\\u200B\\uFEFF&&[^ ]]");

    /** The words of a line, between white space. */
    public static List<Token> words(String line) {
        List<Token> words = new ArrayList<>();
        Matcher matcher = WORD.matcher(line);
        while (matcher.find()) {
            words.add(new Token(matcher.group(), matcher.start() + 1));
        }
        return words;
    }

    /** The line with terminal codes and white space of all kinds turned into as many spaces, so that columns stay. */
    public static String plain(String line) {
        String text = plainSpaces(line);
        if (text.indexOf('[') < 0) {
            return text;
        }
        return ANSI.matcher(text).replaceAll(match -> " ".repeat(match.group().length()));
    }

    /**
     * The line with the white space that web pages and word processors leave, as no-break spaces, turned into
     * spaces.
     */
    public static String plainSpaces(String line) {
        return ODD_SPACE.matcher(line).replaceAll(" ");
    }
}

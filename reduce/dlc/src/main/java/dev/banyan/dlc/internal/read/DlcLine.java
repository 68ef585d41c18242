package dev.banyan.dlc.internal.read;

import dev.banyan.InputException;

/** A line of a trace, taken word by word. Not safe for use from several threads at once. */
final class DlcLine {
    private final String source;
    private final int line;
    private final String text;
    /** The begin of the last word, and the position behind it. */
    private int begin;

    private int end;

    DlcLine(String source, int line, String text) {
        this.source = source;
        this.line = line;
        this.text = text;
    }

    /** The next word; empty at the end of the line. */
    String word() {
        skipBlanks();
        while (end < text.length() && !isBlank(text.charAt(end))) {
            end++;
        }
        return text.substring(begin, end);
    }

    /** All that is left. */
    String rest() {
        skipBlanks();
        end = text.length();
        return text.substring(begin).stripTrailing();
    }

    private void skipBlanks() {
        begin = end;
        while (begin < text.length() && isBlank(text.charAt(begin))) {
            begin++;
        }
        end = begin;
    }

    private static boolean isBlank(char c) {
        return c == '\t' || c == ' ' || c == '\r';
    }

    /** The next word as a number. */
    long number(String column, long least, long most) {
        String word = word();
        if (word.isEmpty()) {
            throw wrong("the line ends before its " + column + "; a record of a push or pull has twelve columns");
        }
        try {
            long value = Long.parseLong(word);
            if (value >= least && value <= most) {
                return value;
            }
        } catch (NumberFormatException notANumber) {
            // Reported below, like a number out of range.
        }
        throw wrong(column + " is '" + word + "'; it must be a whole number "
                + (most == Long.MAX_VALUE && least != Long.MIN_VALUE
                        ? "of at least " + least
                        : "from " + least + " to " + most));
    }

    /** Returns an error about the last word. */
    InputException wrong(String problem) {
        return new InputException(source, line, begin + 1, problem);
    }
}

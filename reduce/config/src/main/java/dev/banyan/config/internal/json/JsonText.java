package dev.banyan.config.internal.json;

import dev.banyan.InputException;

/**
 * A text that is read as JSON.
 *
 * @param source what to call it in messages
 */
record JsonText(String source, String text) {
    private static final int MOST_SHOWN = 40;

    InputException refuse(int offset, String problem) {
        String before = text.substring(0, offset);
        int line = 1 + (int) before.chars().filter(c -> c == '\n').count();
        return new InputException(source, line, offset - before.lastIndexOf('\n'), problem);
    }

    /** Returns a piece of a text for messages: its beginning, if it is long, without control characters. */
    static String shown(String piece) {
        String kept = piece.length() <= MOST_SHOWN ? piece : piece.substring(0, MOST_SHOWN) + "...";
        return kept.replaceAll("[\\p{Cc}\\p{Cf}\\u2028\\u2029]", "?");
    }
}

package dev.banyan.config.internal.json;

import dev.banyan.InputException;

/**
 * A text that is read as JSON.
 *
 * @param source what to call it in messages
 */
record JsonText(String source, String text) {
    InputException refuse(int offset, String problem) {
        String before = text.substring(0, offset);
        int line = 1 + (int) before.chars().filter(c -> c == '\n').count();
        return new InputException(source, line, offset - before.lastIndexOf('\n'), problem);
    }
}

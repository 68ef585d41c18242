package dev.banyan.cli.output;

import java.util.regex.Pattern;

/** Text out of files of others, such as names of devices, as it may stand on one line of a terminal. */
public final class TerminalText {
    /** Control characters, invisible ones that turn the direction of writing, line and paragraph ends. */
    private static final Pattern UNFIT = Pattern.compile("[\\p{Cc}\\p{Cf}\\p{Zl}\\p{Zp}]");

    private TerminalText() {}

    /** The text with {@code ?} for each character that would do something instead of being seen. */
    public static String of(String text) {
        return UNFIT.matcher(text).replaceAll("?");
    }
}

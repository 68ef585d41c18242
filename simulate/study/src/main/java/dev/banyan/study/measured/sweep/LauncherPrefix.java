package dev.banyan.study.measured.sweep;

import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Blanks what launchers, loggers and quoting mails put into lines; the columns of the rest stay. */
final class LauncherPrefix {
    private static final int MOST = 6;
    private static final Pattern TAG = Pattern.compile("\\[\\d{1,6}(?:,\\d{1,6})?\\](?:<std\\w{1,8}>)?:?");
    /** A row begins with two whole numbers, anything else of nccl-tests with a number sign. */
    private static final Pattern OURS = Pattern.compile("\\s*(?:#|\\d{1,18}\\s+\\d|size\\s)");

    private static final Pattern ESCAPE = Pattern.compile("\u001b\\[[0-9;]{0,20}[A-Za-z]");
    /** A part of a prefix: quotes, times, names of hosts, tasks and places in sources, each with its mark. */
    private static final Pattern PART = Pattern.compile("\\s{0,40}(?:>|\\[?\\d{4}[-/]\\d\\d[-/]\\d\\d[T"
            + " ]\\d\\d:\\d\\d:\\d\\d(?:[.,]\\d{1,9})?\\s?(?:Z|UTC|[+-]\\d\\d:?\\d\\d)?\\]?:?(?=\\s)"
            + "|\\[?\\d\\d:\\d\\d:\\d\\d(?:[.,]\\d{1,9})?\\]?(?=\\s)|[A-Z][a-z]{2} {1,2}\\d{1,2} \\d\\d:\\d\\d:\\d\\d"
            + " [\\w.-]{1,80}(?=\\s)|\\[[A-Za-z][\\w.,:@/-]{0,80}\\](?:<std\\w{1,8}>)?:?|\\([\\w=, .:/-]{1,120}\\)"
            + "|[A-Za-z][\\w.@/-]{0,80}(?:\\[\\d{1,9}\\])?:(?=\\s|$)|[A-Za-z][\\w.@/-]{0,80}\\s{1,20}\\||std(?:out|err)"
            + " [FP](?=\\s)|\\d{1,6}:(?!\\d)|\\w{1,80}\\(\\), [\\w.@/-]{1,80}:\\d{1,6},)");

    private LauncherPrefix() {}

    /** Returns the line with blanks in place of tags and prefixes, if a line of nccl-tests remains; else as it is. */
    static String blanked(String line) {
        String plain = blank(ESCAPE, line);
        if (isOurs(plain) && !plain.contains("]")) {
            return plain;
        }
        String tagged = blank(TAG, plain);
        String rest = tagged;
        for (int i = 0; i < MOST && !isOurs(rest); i++) {
            Matcher part = PART.matcher(rest);
            if (!part.lookingAt()) {
                break;
            }
            rest = " ".repeat(part.end()) + rest.substring(part.end());
        }
        return isOurs(rest) ? rest : plain;
    }

    private static String blank(Pattern pattern, String line) {
        return pattern.matcher(line)
                .replaceAll(found -> " ".repeat(found.group().length()));
    }

    private static boolean isOurs(String line) {
        return OURS.matcher(line).lookingAt();
    }
}

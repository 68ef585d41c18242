package dev.banyan.study.text;

import java.util.regex.Pattern;

/** Escapes text from files of others, such as names of machines, for Markdown. */
public final class MarkdownText {
    /** A {@code <} begins HTML only before a letter or one of these; elsewhere Markdown shows it. */
    private static final Pattern BEGIN_OF_HTML = Pattern.compile("<(?=[A-Za-z/!?])");

    private MarkdownText() {}

    /** Returns the text with the characters escaped that would begin HTML. */
    public static String of(String text) {
        return BEGIN_OF_HTML.matcher(text.replace("&", "&amp;")).replaceAll("&lt;");
    }
}

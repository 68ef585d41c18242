package dev.banyan.cli.output;

/** Text out of files of others, such as names of machines, as it may stand in Markdown. */
public final class MarkdownText {
    private MarkdownText() {}

    /** Returns the text with the characters escaped that would begin HTML. */
    public static String of(String text) {
        return text.replace("&", "&amp;").replace("<", "&lt;");
    }
}

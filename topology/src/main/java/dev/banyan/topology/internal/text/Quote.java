package dev.banyan.topology.internal.text;

/** Pieces of a description, fit to stand in a message. */
public final class Quote {
    private static final int LONGEST = 40;

    private Quote() {}

    /** The text, shortened, without control characters. */
    public static String of(String text) {
        String shown = text.length() <= LONGEST ? text : text.substring(0, LONGEST) + "...";
        return shown.replaceAll("[\\p{Cc}\\p{Cf}\\u2028\\u2029]", "?");
    }
}

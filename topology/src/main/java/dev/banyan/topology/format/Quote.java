package dev.banyan.topology.format;

/** Pieces of a description, fit to stand in a message. */
final class Quote {
    private static final int LONGEST = 40;

    private Quote() {}

    /** The text, shortened, without control characters. */
    static String of(String text) {
        String shown = text.length() <= LONGEST ? text : text.substring(0, LONGEST) + "...";
        return shown.replaceAll("[\\p{Cc}\\p{Cf}\\u2028\\u2029]", "?");
    }
}

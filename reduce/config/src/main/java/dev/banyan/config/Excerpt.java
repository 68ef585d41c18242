package dev.banyan.config;

/** Shortens names and values for messages. */
final class Excerpt {
    private static final int MOST_CHARACTERS = 200;

    private Excerpt() {}

    static String of(String text) {
        return text.length() <= MOST_CHARACTERS ? text : text.substring(0, MOST_CHARACTERS) + "...";
    }
}

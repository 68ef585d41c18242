package dev.banyan.config.internal;

import java.util.Locale;

/** Pieces of what was read, fit to stand in a message. */
public final class Quote {
    private static final int LONGEST = 40;

    private Quote() {}

    /** The text, shortened, without control characters. */
    public static String of(String text) {
        String shown = text.length() <= LONGEST ? text : text.substring(0, LONGEST) + "...";
        return shown.replaceAll("[\\p{Cc}\\p{Cf}\\u2028\\u2029]", "?");
    }

    /** Returns a constant as descriptions write it: {@code PCIE_SWITCH} as {@code pcie-switch}. */
    public static String word(Enum<?> constant) {
        return constant.name().toLowerCase(Locale.ROOT).replace('_', '-');
    }
}

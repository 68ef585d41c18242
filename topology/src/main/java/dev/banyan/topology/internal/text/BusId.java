package dev.banyan.topology.internal.text;

import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** PCI bus ids in one spelling, so that those of one function are equal. */
public final class BusId {
    private static final Pattern FORM =
            Pattern.compile("(?:0*([0-9a-f]{1,8}):)?([0-9a-f]{1,2}):([0-9a-f]{1,2})\\.([0-9a-f])");

    private BusId() {}

    /**
     * {@code 0000:1a:00.0} for {@code 00000000:1A:00.0}, {@code 1a:00.0} and the like. What is no bus id is only
     * stripped and put in lower case: files that people wrote hold made-up ones, and equality is all that counts.
     */
    public static String normalize(String text) {
        String lower = text.strip().toLowerCase(Locale.ROOT);
        Matcher form = FORM.matcher(lower);
        if (!form.matches()) {
            return lower;
        }
        String domain = form.group(1) == null ? "" : form.group(1);
        return pad(domain, 4) + ":" + pad(form.group(2), 2) + ":" + pad(form.group(3), 2) + "." + form.group(4);
    }

    private static String pad(String digits, int width) {
        return "0".repeat(Math.max(0, width - digits.length())) + digits;
    }
}

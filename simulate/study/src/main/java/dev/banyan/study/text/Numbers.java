package dev.banyan.study.text;

import com.google.errorprone.annotations.FormatMethod;
import java.util.Locale;
import org.apache.commons.numbers.fraction.BigFraction;
import org.jspecify.annotations.Nullable;

/** Formats figures for people, and fractions for programs. */
public final class Numbers {
    private Numbers() {}

    /** {@link String#format} with a point before decimals, whatever the user's language. */
    @FormatMethod
    public static String format(String format, @Nullable Object... values) {
        return String.format(Locale.ROOT, format, values);
    }

    /** A number of things, e.g. {@code 1 device} or {@code 8 processes}. */
    public static String count(long number, String thing) {
        return number + " " + thing + (number == 1 ? "" : thing.endsWith("s") ? "es" : "s");
    }

    /** A bandwidth with its unit and at most three decimals, e.g. {@code 85.714 GB/s}. */
    public static String gbs(double gbs) {
        return plain(gbs) + " GB/s";
    }

    /** The same of an exact bandwidth. */
    public static String gbs(BigFraction gbs) {
        return gbs(gbs.doubleValue());
    }

    /** At most three decimals, none where there are none. */
    public static String plain(double value) {
        return format("%.3f", value).replaceFirst("\\.?0+$", "");
    }

    /** A fraction without spaces, e.g. {@code 600/7}, or {@code 80} where it is whole. */
    public static String exact(BigFraction value) {
        return value.toString().replace(" ", "");
    }
}

package dev.banyan.study.text;

import java.math.BigDecimal;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A number of bytes as nccl-tests take it: {@code 8}, {@code 64K}, {@code 128M}, {@code 1.5G}, with
 * powers of 1024; {@code KB}, {@code KiB} and lower case are understood too.
 *
 * @param bytes the number, at least 0
 */
public record ByteSize(long bytes) {
    private static final Pattern FORM =
            Pattern.compile("(\\d+(?:\\.\\d+)?)\\s*([kmgt]?)i?b?", Pattern.CASE_INSENSITIVE);

    /**
     * Reads a size.
     *
     * @throws IllegalArgumentException if the text is no size, is no whole number of bytes, or is beyond
     *     what a long holds
     */
    public static ByteSize parse(String text) {
        Matcher matcher = FORM.matcher(text.strip());
        if (!matcher.matches()) {
            throw new IllegalArgumentException("'" + text + "' is not a size; write bytes, or a number with K, M or G");
        }
        int power = "kmgt".indexOf(matcher.group(2).toLowerCase(Locale.ROOT));
        long factor = matcher.group(2).isEmpty() ? 1 : 1L << (10 * (power + 1));
        try {
            return new ByteSize(new BigDecimal(matcher.group(1))
                    .multiply(BigDecimal.valueOf(factor))
                    .longValueExact());
        } catch (ArithmeticException e) {
            throw new IllegalArgumentException("'" + text + "' is not a whole number of bytes below 8 EiB", e);
        }
    }

    /** Returns the size as a user writes it, with the largest unit of which it is a multiple, e.g. {@code 64K}. */
    public String written() {
        int unit = bytes == 0 ? 0 : Math.min(Long.numberOfTrailingZeros(bytes) / 10, 4);
        return (bytes >> (10 * unit)) + (unit == 0 ? "" : "KMGT".substring(unit - 1, unit));
    }

    /** Returns the size rounded to a whole number of the largest unit that is not above it, e.g. {@code 512K}. */
    public String rounded() {
        int unit = Math.clamp((63 - Long.numberOfLeadingZeros(Math.max(1, bytes))) / 10, 0, 4);
        long factor = 1L << (10 * unit);
        return Math.round((double) bytes / factor) + (unit == 0 ? "" : "KMGT".substring(unit - 1, unit));
    }

    /** The size with the largest binary unit that keeps it short, e.g. {@code 64 MiB} or {@code 1.5 KiB}. */
    public String label() {
        String[] units = {"B", "KiB", "MiB", "GiB", "TiB"};
        double value = bytes;
        int unit = 0;
        while (value >= 1024 && unit < units.length - 1) {
            value /= 1024;
            unit++;
        }
        String number = value == Math.rint(value) ? Numbers.format("%.0f", value) : Numbers.format("%.1f", value);
        return number + " " + units[unit];
    }
}

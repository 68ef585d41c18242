package dev.banyan.config;

/** Numbers of bytes as settings have them: whole, with K, M or G for powers of 1024. */
public final class Bytes {
    private static final String UNITS = "KMG";

    private Bytes() {}

    /**
     * Reads a number.
     *
     * @throws IllegalArgumentException if it is none, or beyond 64 bits
     */
    public static long parse(String text) {
        int power = text.isEmpty() ? 0 : UNITS.indexOf(text.charAt(text.length() - 1)) + 1;
        try {
            long number = Long.parseLong(power == 0 ? text : text.substring(0, text.length() - 1));
            return Math.multiplyExact(number, 1L << (10 * power));
        } catch (NumberFormatException e) {
            throw new IllegalArgumentException("'" + text + "' is no number of bytes such as 512, 64K or 1M", e);
        } catch (ArithmeticException e) {
            throw new IllegalArgumentException(text + " bytes are more than 64 bits hold", e);
        }
    }

    /** The shortest text that is read back as the same number. */
    public static String text(long bytes) {
        long number = bytes;
        int power = 0;
        while (power < UNITS.length() && number != 0 && number % 1024 == 0) {
            number /= 1024;
            power++;
        }
        return number + (power == 0 ? "" : UNITS.substring(power - 1, power));
    }
}

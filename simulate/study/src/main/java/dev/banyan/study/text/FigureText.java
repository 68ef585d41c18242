package dev.banyan.study.text;

/** Formats the figures of these reports. */
public final class FigureText {
    private FigureText() {}

    /** Up to four decimals, none where there are none. */
    public static String constant(double value) {
        return Numbers.format("%.4f", value).replaceFirst("\\.?0+$", "");
    }

    /** Four figures or so, as nccl-tests print times. */
    public static String us(double us) {
        return us < 1000 ? Numbers.format("%.1f", us) : Numbers.format("%.0f", us);
    }

    /** With a sign and one decimal, e.g. {@code +3.4%}. */
    public static String error(double fraction) {
        return Numbers.format("%+.1f%%", 100 * fraction);
    }

    /** Without a sign. */
    public static String percent(double fraction) {
        return Numbers.format("%.1f%%", 100 * fraction);
    }
}

package dev.banyan.page.chart;

import java.util.Arrays;
import java.util.Locale;

/** Writes an SVG drawing line by line. Not safe for use from several threads at once. */
final class SvgWriter {
    private final StringBuilder text = new StringBuilder();

    /**
     * Begins a drawing on white.
     *
     * @param width in pixels
     * @param height in pixels
     * @param title what it shows
     * @param description what it shows, for those who do not see it
     */
    SvgWriter(double width, double height, String title, String description) {
        add(
                "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 %s %s' width='%s' height='%s' role='img'"
                        + " font-family='Helvetica, Arial, sans-serif'>",
                width, height, width, height);
        add("<title>%s</title>", title);
        add("<desc>%s</desc>", description);
        add("<rect width='%s' height='%s' fill='#ffffff'/>", width, height);
    }

    /**
     * Adds a line.
     *
     * @param template its XML, with {@code %s} for each value; single quotes are written as double quotes
     * @param values texts, which are escaped, and numbers, which are rounded to two decimals
     */
    void add(String template, Object... values) {
        Object[] written = Arrays.stream(values)
                .map(value -> value instanceof Double number ? number(number) : escaped(value.toString()))
                .toArray();
        text.append(template.replace('\'', '"').formatted(written)).append('\n');
    }

    /** A line between two points; {@code attributes} is as the template of {@link #add}. */
    void line(Point from, Point to, String attributes, Object... values) {
        Object[] all = new Object[values.length + 4];
        System.arraycopy(new Object[] {from.x(), from.y(), to.x(), to.y()}, 0, all, 0, 4);
        System.arraycopy(values, 0, all, 4, values.length);
        add("<line x1='%s' y1='%s' x2='%s' y2='%s'" + attributes + "/>", all);
    }

    /** Returns the whole drawing; nothing can be added afterwards. */
    String finish() {
        add("</svg>");
        return text.toString();
    }

    /** Returns a number with at most two decimals. */
    static String number(double value) {
        return String.format(Locale.ROOT, "%.2f", value).replaceFirst("\\.?0+$", "");
    }

    /** Characters that XML 1.0 does not allow are written as question marks. */
    private static String escaped(String content) {
        return content.codePoints()
                .map(c -> allowed(c) ? c : '?')
                .collect(StringBuilder::new, StringBuilder::appendCodePoint, StringBuilder::append)
                .toString()
                .replace("&", "&amp;")
                .replace("<", "&lt;")
                .replace(">", "&gt;")
                .replace("\"", "&quot;");
    }

    private static boolean allowed(int c) {
        return c == '\n' || (c >= ' ' && c <= 0xD7FF) || (c >= 0xE000 && c <= 0xFFFD) || c > 0xFFFF;
    }
}

package dev.banyan.page.chart;

import java.util.List;
import java.util.function.ToDoubleFunction;
import java.util.stream.DoubleStream;
import java.util.stream.IntStream;

/**
 * Curves between two axes.
 *
 * @param title what is shown
 * @param x along the bottom
 * @param y along the left side
 * @param curves at least one, with names of their own; the same name has the same colour in the charts of a
 *     picture if it stands at the same place
 */
public record LineChart(String title, Axis x, Axis y, List<ChartCurve> curves) {
    /** The width of a chart, in pixels. */
    static final double WIDTH = 700;

    static final double HEIGHT = 460;

    /**
     * Colours, of which people with any colour vision tell the first seven apart: M. Okabe, K. Ito, "Color universal
     * design" (2008).
     */
    private static final List<String> COLORS = List.of(
            "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#6a3d9a", "#8c564b",
            "#7f7f7f", "#9acd32", "#b22222");

    /** Curves hide each other where they are closer than this share of the axis. */
    private static final double HIDDEN_SHARE = 0.006;

    private static final int MOST_TICKS = 11;
    private static final double LEFT = 76;
    private static final double RIGHT = WIDTH - 20;
    private static final double TOP = 40;
    private static final double LEGEND_ROW = 18;

    public LineChart {
        curves = List.copyOf(curves);
        if (curves.isEmpty()) {
            throw new IllegalArgumentException("chart '" + title + "' has no curves");
        }
    }

    /** Maps places of an axis to pixels. */
    private record Span(double low, double high, double begin, double end) {
        double pixel(double place) {
            return begin + (place - low) / (high - low) * (end - begin);
        }

        /** Returns where the axis has a tick: at whole powers, or at round values. */
        double[] ticks(Scale scale) {
            double step = 1;
            if (!scale.onlyPositive()) {
                step = Math.pow(10, Math.floor(Math.log10(high - low)) - 1);
            }
            // 1, 2, 5, 10, 20, 50 and so on.
            for (int i = 0; (high - low) / step > MOST_TICKS; i++) {
                step *= i % 3 == 1 ? 2.5 : 2;
            }
            double each = step;
            return IntStream.rangeClosed((int) Math.ceil(low / each - 1e-9), (int) Math.floor(high / each + 1e-9))
                    .mapToDouble(tick -> tick * each)
                    .toArray();
        }
    }

    /** Draws it with its upper left corner at the origin. */
    void draw(SvgWriter svg) {
        int columns = (int) Math.max(1, (RIGHT - LEFT) / (50 + 6.5 * longestName()));
        int rows = (curves.size() + columns - 1) / columns;
        double bottom = HEIGHT - 56 - rows * LEGEND_ROW;
        Span across = span(x.scale(), ChartCurve.Point::x, LEFT, RIGHT);
        Span up = span(y.scale(), ChartCurve.Point::y, bottom, TOP);
        svg.add("<g font-size='12' fill='#303030' stroke-linecap='round' stroke-linejoin='round'>");
        svg.add(
                "<text x='%s' y='24' font-size='15' font-weight='bold' text-anchor='middle'>%s</text>",
                WIDTH / 2, title);
        for (double tick : across.ticks(x.scale())) {
            grid(svg, across.pixel(tick), TOP, across.pixel(tick), bottom);
            svg.add(
                    "<text x='%s' y='%s' text-anchor='middle'>%s</text>",
                    across.pixel(tick), bottom + 17, x.scale().label(x.scale().value(tick)));
        }
        for (double tick : up.ticks(y.scale())) {
            grid(svg, LEFT, up.pixel(tick), RIGHT, up.pixel(tick));
            svg.add(
                    "<text x='%s' y='%s' text-anchor='end'>%s</text>",
                    LEFT - 8, up.pixel(tick) + 4, y.scale().label(y.scale().value(tick)));
        }
        svg.add("<text x='%s' y='%s' text-anchor='middle'>%s</text>", (LEFT + RIGHT) / 2, bottom + 38, x.title());
        svg.add(
                "<text transform='translate(18 %s) rotate(-90)' text-anchor='middle'>%s</text>",
                (TOP + bottom) / 2, y.title());
        for (int i = 0; i < curves.size(); i++) {
            // Lines whose colours repeat are dashed.
            String ink =
                    "stroke='" + COLORS.get(i % COLORS.size()) + (i < COLORS.size() ? "'" : "' stroke-dasharray='7 6'");
            curve(svg, curves.get(i), ink, 2 + 4 * covering(i, up), across, up);
            double left = LEFT + i % columns * ((RIGHT - LEFT) / columns);
            double line = bottom + 58 + Math.floorDiv(i, columns) * LEGEND_ROW;
            svg.add("<path d='M%s %sh20' " + ink + " stroke-width='3'/>", left, line - 4);
            svg.add(
                    "<text x='%s' y='%s'>%s</text>",
                    left + 28, line, curves.get(i).name());
        }
        svg.add("</g>");
    }

    private int longestName() {
        return curves.stream().mapToInt(curve -> curve.name().length()).max().orElseThrow();
    }

    private static void grid(SvgWriter svg, double fromX, double fromY, double toX, double toY) {
        svg.add("<path d='M%s %sL%s %s' stroke='#e2e2e2'/>", fromX, fromY, toX, toY);
    }

    /** Draws the points that have a place on both axes, with a line between neighbours. */
    private void curve(SvgWriter svg, ChartCurve curve, String ink, double width, Span across, Span up) {
        double[] xs = places(curve, x.scale(), ChartCurve.Point::x);
        double[] ys = places(curve, y.scale(), ChartCurve.Point::y);
        StringBuilder path = new StringBuilder();
        StringBuilder dots = new StringBuilder();
        boolean begins = true;
        for (int i = 0; i < xs.length; i++) {
            boolean placed = Double.isFinite(xs[i]) && Double.isFinite(ys[i]);
            if (placed) {
                String point = SvgWriter.number(across.pixel(xs[i])) + " " + SvgWriter.number(up.pixel(ys[i]));
                path.append(begins ? "M" : "L").append(point);
                dots.append("M").append(point).append("h0");
            }
            begins = !placed;
        }
        svg.add("<g " + ink + " fill='none'><path d='%s' stroke-width='%s'/>", path, width);
        svg.add("<path d='%s' stroke-width='%s'/></g>", dots, width + 4);
    }

    /** Returns how many later curves would hide one: it is drawn that much wider, so that it shows beside them. */
    private int covering(int index, Span up) {
        double near = HIDDEN_SHARE * (up.high() - up.low());
        ChartCurve curve = curves.get(index);
        double[] own = places(curve, y.scale(), ChartCurve.Point::y);
        int covering = 0;
        for (ChartCurve other : curves.subList(index + 1, curves.size())) {
            double[] others = places(other, y.scale(), ChartCurve.Point::y);
            long close = IntStream.range(0, Math.min(own.length, others.length))
                    .filter(i ->
                            curve.points().get(i).x() == other.points().get(i).x()
                                    && Math.abs(own[i] - others[i]) < near)
                    .count();
            covering += 2 * close > own.length ? 1 : 0;
        }
        return covering;
    }

    /** An axis begins and ends at whole powers, or begins at 0. */
    private Span span(Scale scale, ToDoubleFunction<ChartCurve.Point> coordinate, double begin, double end) {
        double[] all = curves.stream()
                .flatMapToDouble(curve -> DoubleStream.of(places(curve, scale, coordinate)))
                .filter(Double::isFinite)
                .toArray();
        double least = DoubleStream.of(all).min().orElse(0);
        double most = DoubleStream.of(all).max().orElse(1);
        if (!scale.onlyPositive()) {
            return new Span(Math.min(0, least), most > 0 ? most * 1.05 : 1, begin, end);
        }
        double low = Math.floor(least + 1e-9);
        return new Span(low, Math.max(Math.ceil(most - 1e-9), low + 1), begin, end);
    }

    private static double[] places(ChartCurve curve, Scale scale, ToDoubleFunction<ChartCurve.Point> coordinate) {
        return curve.points().stream()
                .mapToDouble(coordinate)
                .map(value -> value > 0 || !scale.onlyPositive() ? scale.place(value) : Double.NaN)
                .toArray();
    }
}

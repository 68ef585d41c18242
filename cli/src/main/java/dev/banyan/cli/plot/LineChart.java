package dev.banyan.cli.plot;

import java.awt.BasicStroke;
import java.awt.Color;
import java.awt.Font;
import java.awt.Graphics2D;
import java.util.List;
import java.util.function.ToDoubleFunction;
import java.util.stream.DoubleStream;
import java.util.stream.IntStream;
import org.knowm.xchart.XYChart;
import org.knowm.xchart.XYChartBuilder;
import org.knowm.xchart.XYSeries;
import org.knowm.xchart.style.Styler;
import org.knowm.xchart.style.XYStyler;
import org.knowm.xchart.style.markers.Marker;
import org.knowm.xchart.style.markers.SeriesMarkers;

/**
 * Curves between two axes.
 *
 * @param title what is shown
 * @param x along the bottom
 * @param y along the left side
 * @param curves at least one, with names of their own; the same name has the same colour in the charts of a
 *     picture if it stands at the same place
 */
public record LineChart(String title, Axis x, Axis y, List<Curve> curves) {
    /** Colours that people with any colour vision tell apart: M. Okabe, K. Ito, "Color universal design" (2008). */
    static final Color[] COLORS = {
        new Color(0x0072B2),
        new Color(0xD55E00),
        new Color(0x009E73),
        new Color(0xCC79A7),
        new Color(0xE69F00),
        new Color(0x56B4E9),
        new Color(0x000000)
    };

    private static final Marker[] MARKERS = {
        SeriesMarkers.CIRCLE,
        SeriesMarkers.SQUARE,
        SeriesMarkers.DIAMOND,
        SeriesMarkers.TRIANGLE_UP,
        SeriesMarkers.TRIANGLE_DOWN,
        SeriesMarkers.CROSS,
        SeriesMarkers.PLUS
    };

    /** Curves hide each other where they are closer than this share of the axis. */
    private static final double HIDDEN_SHARE = 0.006;

    private static final Color GRID = new Color(0xE2E2E2);
    private static final Color INK = new Color(0x303030);

    public LineChart {
        curves = List.copyOf(curves);
        if (curves.isEmpty()) {
            throw new IllegalArgumentException("chart '" + title + "' has no curves");
        }
    }

    /** Draws it with its upper left corner at the origin. */
    void draw(Graphics2D graphics, int width, int height) {
        XYChart chart = new XYChartBuilder()
                .width(width)
                .height(height)
                .title(title)
                .xAxisTitle(x.title())
                .yAxisTitle(y.title())
                .build();
        style(chart.getStyler());
        chart.setCustomXAxisTickLabelsFormatter(place -> label(x.scale(), place));
        chart.setCustomYAxisTickLabelsFormatter(place -> label(y.scale(), place));
        for (int i = 0; i < curves.size(); i++) {
            Curve curve = curves.get(i);
            XYSeries series = chart.addSeries(
                    curve.name(), places(curve, x.scale(), Curve.Point::x), places(curve, y.scale(), Curve.Point::y));
            series.setLineColor(COLORS[i % COLORS.length]);
            float stroke = 2f + 4f * coveredBy(curve, curves.subList(i + 1, curves.size()));
            series.setLineStyle(new BasicStroke(stroke, BasicStroke.CAP_ROUND, BasicStroke.JOIN_ROUND));
            series.setMarker(MARKERS[i % MARKERS.length]);
            series.setMarkerColor(COLORS[i % COLORS.length]);
        }
        chart.paint(graphics, width, height);
    }

    /** The number of later curves that would hide one: it is drawn that much wider, so that it shows beside them. */
    private int coveredBy(Curve curve, List<Curve> later) {
        double[] limits = limits(y, Curve.Point::y);
        double near = HIDDEN_SHARE * (limits[1] - limits[0]);
        double[] own = places(curve, y.scale(), Curve.Point::y);
        int covering = 0;
        for (Curve other : later) {
            double[] others = places(other, y.scale(), Curve.Point::y);
            long close = IntStream.range(0, Math.min(own.length, others.length))
                    .filter(i ->
                            curve.points().get(i).x() == other.points().get(i).x()
                                    && Math.abs(own[i] - others[i]) < near)
                    .count();
            covering += 2 * close > own.length ? 1 : 0;
        }
        return covering;
    }

    private void style(XYStyler styler) {
        styler.setChartBackgroundColor(Color.WHITE);
        styler.setPlotBackgroundColor(Color.WHITE);
        styler.setPlotBorderColor(GRID);
        styler.setPlotGridLinesColor(GRID);
        styler.setPlotGridLinesStroke(new BasicStroke(1f));
        styler.setChartFontColor(INK);
        styler.setAxisTickLabelsColor(INK);
        styler.setChartTitleFont(new Font(Font.SANS_SERIF, Font.BOLD, 15));
        styler.setAxisTitleFont(new Font(Font.SANS_SERIF, Font.PLAIN, 13));
        styler.setAxisTickLabelsFont(new Font(Font.SANS_SERIF, Font.PLAIN, 12));
        styler.setLegendFont(new Font(Font.SANS_SERIF, Font.PLAIN, 12));
        styler.setChartTitleBoxVisible(false);
        styler.setLegendPosition(Styler.LegendPosition.OutsideS);
        styler.setLegendLayout(Styler.LegendLayout.Horizontal);
        styler.setLegendBorderColor(Color.WHITE);
        styler.setLegendSeriesLineLength(18);
        styler.setLegendPadding(6);
        styler.setMarkerSize(6);
        double[] across = limits(x, Curve.Point::x);
        double[] up = limits(y, Curve.Point::y);
        styler.setXAxisMin(across[0]);
        styler.setXAxisMax(across[1]);
        styler.setYAxisMin(up[0]);
        styler.setYAxisMax(up[1]);
        styler.setXAxisTickMarkSpacingHint(60);
    }

    /** Where an axis begins and ends: at whole powers, or at 0. */
    private double[] limits(Axis axis, ToDoubleFunction<Curve.Point> coordinate) {
        Scale scale = axis.scale();
        double[] all = curves.stream()
                .flatMapToDouble(curve -> DoubleStream.of(places(curve, scale, coordinate)))
                .filter(Double::isFinite)
                .toArray();
        double least = DoubleStream.of(all).min().orElse(0);
        double most = DoubleStream.of(all).max().orElse(1);
        if (!scale.onlyPositive()) {
            return new double[] {Math.min(0, least), most > 0 ? most * 1.05 : 1};
        }
        double low = Math.floor(least + 1e-9);
        double high = Math.ceil(most - 1e-9);
        return new double[] {low, Math.max(high, low + 1)};
    }

    private static double[] places(Curve curve, Scale scale, ToDoubleFunction<Curve.Point> coordinate) {
        return curve.points().stream()
                .mapToDouble(coordinate)
                .map(value -> value > 0 || !scale.onlyPositive() ? scale.place(value) : Double.NaN)
                .toArray();
    }

    /** Only whole powers are written. */
    private static String label(Scale scale, double place) {
        return scale.onlyPositive() && Math.abs(place - Math.rint(place)) > 1e-6 ? "" : scale.label(scale.value(place));
    }
}

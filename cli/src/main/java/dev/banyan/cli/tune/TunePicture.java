package dev.banyan.cli.tune;

import dev.banyan.page.chart.Axis;
import dev.banyan.page.chart.ChartCurve;
import dev.banyan.page.chart.LineChart;
import dev.banyan.page.chart.Picture;
import dev.banyan.page.chart.Scale;
import dev.banyan.schedule.type.Collective;
import dev.banyan.study.tune.Tuner;
import java.util.ArrayList;
import java.util.List;
import java.util.function.ToDoubleFunction;
import org.jspecify.annotations.Nullable;

/** The picture of a tuning: time and bus bandwidth over the size, of each algorithm's best and of the choice. */
final class TunePicture {
    private TunePicture() {}

    /**
     * @param where what the times are of, e.g. {@code p3.16xlarge, simulated}
     * @param devices how many the machine has
     * @param sizes at least one, ascending
     * @param boundGbs what no schedule on the links exceeds, in GB/s algbw; null where times are not those of links
     */
    static Picture of(
            String where, int devices, Collective collective, List<Tuner.Found> sizes, @Nullable Double boundGbs) {
        Axis bytes = new Axis("size (bytes)", Scale.BYTES);
        String what = collective.label() + " on " + where;
        double factor = collective.busFactor(devices);
        List<ChartCurve> busbw = curves(sizes, (size, us) -> factor * size / us / 1e3);
        if (boundGbs != null) {
            double bound = factor * boundGbs;
            busbw.add(ChartCurve.of("bound of the links", sizes, Tuner.Found::bytes, size -> bound));
        }
        return new Picture(List.of(
                new LineChart(
                        what + ": time",
                        bytes,
                        new Axis("time in place, best settings", Scale.MICROSECONDS),
                        curves(sizes, (size, us) -> us)),
                new LineChart(
                        what + ": bus bandwidth",
                        bytes,
                        new Axis("busbw in place, best settings (GB/s)", Scale.LINEAR),
                        busbw)));
    }

    private interface Figure {
        double of(long bytes, double us);
    }

    private static List<ChartCurve> curves(List<Tuner.Found> sizes, Figure figure) {
        List<ChartCurve> curves = new ArrayList<>();
        sizes.getFirst().best().keySet().stream()
                .map(algorithm -> curve(
                        algorithm.label(), sizes, size -> size.tried(algorithm).us(), figure))
                .forEach(curves::add);
        curves.add(curve("tuned", sizes, Tuner.Found::us, figure));
        return curves;
    }

    private static ChartCurve curve(
            String name, List<Tuner.Found> sizes, ToDoubleFunction<Tuner.Found> us, Figure figure) {
        return ChartCurve.of(name, sizes, Tuner.Found::bytes, size -> figure.of(size.bytes(), us.applyAsDouble(size)));
    }
}

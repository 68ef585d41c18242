package dev.banyan.cli.bench.report;

import dev.banyan.page.chart.Axis;
import dev.banyan.page.chart.ChartCurve;
import dev.banyan.page.chart.LineChart;
import dev.banyan.page.chart.Picture;
import dev.banyan.page.chart.Scale;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.ToDoubleFunction;
import org.jspecify.annotations.Nullable;

/** Times of calls as a picture: time and bus bandwidth over the size, a curve for each name. */
public final class CallPicture {
    private CallPicture() {}

    /**
     * Returns the picture.
     *
     * @param title what is called, and where
     * @param which calls they are, e.g. {@code out of place}
     * @param busFactor nccl-tests' factor of the collective
     * @param boundGbs what no schedule on the links exceeds, in GB/s algbw, which is drawn too; or null
     * @param usBySize times in us by size in bytes, for each name; at least one
     */
    public static Picture of(
            String title,
            String which,
            double busFactor,
            @Nullable Double boundGbs,
            Map<String, Map<Long, Double>> usBySize) {
        Axis bytes = new Axis("size (bytes)", Scale.BYTES);
        List<ChartCurve> times = new ArrayList<>();
        List<ChartCurve> busbw = new ArrayList<>();
        usBySize.forEach((name, us) -> {
            times.add(curve(name, us, Map.Entry::getValue));
            busbw.add(curve(name, us, point -> busFactor * point.getKey() / point.getValue() / 1e3));
        });
        if (boundGbs != null) {
            Map<Long, Double> any = usBySize.values().iterator().next();
            busbw.add(curve("bound of the links", any, _ -> busFactor * boundGbs));
        }
        return new Picture(List.of(
                new LineChart(title + ": time", bytes, new Axis("time " + which, Scale.MICROSECONDS), times),
                new LineChart(
                        title + ": bus bandwidth",
                        bytes,
                        new Axis("busbw " + which + " (GB/s)", Scale.LINEAR),
                        busbw)));
    }

    private static ChartCurve curve(
            String name, Map<Long, Double> us, ToDoubleFunction<Map.Entry<Long, Double>> figure) {
        return ChartCurve.of(name, us.entrySet(), Map.Entry::getKey, figure);
    }
}

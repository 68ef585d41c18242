package dev.banyan.cli.bench;

import dev.banyan.cli.plot.Axis;
import dev.banyan.cli.plot.Curve;
import dev.banyan.cli.plot.LineChart;
import dev.banyan.cli.plot.Picture;
import dev.banyan.cli.plot.Scale;
import dev.banyan.schedule.plan.AlgorithmChoice;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.ToDoubleFunction;
import java.util.stream.Collectors;

/** A sweep as a picture: time and bus bandwidth, out of place, over the size, a curve for each algorithm. */
final class SweepPicture {
    private SweepPicture() {}

    /** @param rows at least one, all of one collective */
    static Picture of(String machine, List<Row> rows) {
        Axis bytes = new Axis("size (bytes)", Scale.BYTES);
        String what = rows.getFirst().call().collective().label() + " on " + machine;
        return new Picture(List.of(
                new LineChart(
                        what + ": time",
                        bytes,
                        new Axis("time out of place", Scale.MICROSECONDS),
                        curves(rows, row -> row.outOfPlace().timeUs())),
                new LineChart(
                        what + ": bus bandwidth",
                        bytes,
                        new Axis("busbw out of place (GB/s)", Scale.LOGARITHMIC),
                        curves(rows, row -> row.outOfPlace().busbwGBs()))));
    }

    private static List<Curve> curves(List<Row> rows, ToDoubleFunction<Row> figure) {
        Map<AlgorithmChoice, List<Row>> byAlgorithm =
                rows.stream().collect(Collectors.groupingBy(Row::algorithm, LinkedHashMap::new, Collectors.toList()));
        return byAlgorithm.entrySet().stream()
                .map(entry -> Curve.of(entry.getKey().label(), entry.getValue(), Row::bytes, figure))
                .toList();
    }
}

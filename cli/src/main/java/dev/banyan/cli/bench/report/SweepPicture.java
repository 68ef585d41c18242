package dev.banyan.cli.bench.report;

import dev.banyan.cli.bench.call.Call;
import dev.banyan.page.chart.Axis;
import dev.banyan.page.chart.ChartCurve;
import dev.banyan.page.chart.LineChart;
import dev.banyan.page.chart.Picture;
import dev.banyan.page.chart.Scale;
import dev.banyan.schedule.plan.AlgorithmChoice;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.ToDoubleFunction;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** A sweep as a picture: time and bus bandwidth, out of place, over the size, a curve for each algorithm. */
final class SweepPicture {
    private SweepPicture() {}

    /**
     * @param where what the times are of, e.g. {@code p3.16xlarge, simulated}
     * @param rows at least one, all of one collective
     * @param boundGbs what no schedule on the links exceeds, in GB/s algbw, which is drawn too; or null
     */
    static Picture of(String where, List<Row> rows, @Nullable Double boundGbs) {
        Axis bytes = new Axis("size (bytes)", Scale.BYTES);
        Call call = rows.getFirst().call();
        String what = call.collective().label() + " on " + where;
        List<ChartCurve> busbw =
                new ArrayList<>(curves(rows, row -> row.outOfPlace().busbwGBs()));
        if (boundGbs != null) {
            double bound = boundGbs * call.collective().busFactor(call.ranks());
            List<Row> first = rows.stream()
                    .filter(row -> row.algorithm() == rows.getFirst().algorithm())
                    .toList();
            busbw.add(ChartCurve.of("bound of the links", first, Row::bytes, row -> bound));
        }
        return new Picture(List.of(
                new LineChart(
                        what + ": time",
                        bytes,
                        new Axis("time out of place", Scale.MICROSECONDS),
                        curves(rows, row -> row.outOfPlace().timeUs())),
                new LineChart(
                        what + ": bus bandwidth", bytes, new Axis("busbw out of place (GB/s)", Scale.LINEAR), busbw)));
    }

    private static List<ChartCurve> curves(List<Row> rows, ToDoubleFunction<Row> figure) {
        Map<AlgorithmChoice, List<Row>> byAlgorithm =
                rows.stream().collect(Collectors.groupingBy(Row::algorithm, LinkedHashMap::new, Collectors.toList()));
        return byAlgorithm.entrySet().stream()
                .map(entry -> ChartCurve.of(entry.getKey().label(), entry.getValue(), Row::bytes, figure))
                .toList();
    }
}

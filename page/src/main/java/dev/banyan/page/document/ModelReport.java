package dev.banyan.page.document;

import dev.banyan.page.chart.Axis;
import dev.banyan.page.chart.ChartCurve;
import dev.banyan.page.chart.LineChart;
import dev.banyan.page.chart.Scale;
import dev.banyan.study.cluster.AllReduceRule;
import dev.banyan.study.cluster.CallOrder;
import dev.banyan.study.cluster.ComputeRate;
import dev.banyan.study.cluster.Curves;
import dev.banyan.study.cluster.Design;
import dev.banyan.study.cluster.ScalePoint;
import dev.banyan.study.cluster.Setup;
import dev.banyan.study.text.Numbers;
import dev.banyan.study.text.TextTable;
import dev.banyan.study.workload.Workload;
import java.util.ArrayList;
import java.util.List;
import java.util.function.ToDoubleFunction;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The report of a page on one model.
 *
 * @param rate computing
 * @param main input first, the fastest allreduces
 * @param variants each with one thing changed
 */
public record ModelReport(Workload workload, ComputeRate rate, Curves main, List<Curves> variants) {
    private static final double OVERSUBSCRIBED = 4;
    private static final int VARIANTS_FROM_GPUS = 128;
    /** Concum is listed as faster if its step takes less than this share of depcha's. */
    private static final double FASTER_THRESHOLD = 0.99;

    public static ModelReport of(Setup setup, Workload workload, ComputeRate rate) {
        AllReduceRule least = AllReduceRule.LEAST_TIME;
        CallOrder input = CallOrder.INPUT_FIRST;
        return new ModelReport(
                workload,
                rate,
                Curves.of("unchanged", setup, workload, rate, least, input),
                List.of(
                        Curves.of(
                                "leaves oversubscribed 4 times",
                                setup.oversubscribed(OVERSUBSCRIBED),
                                workload,
                                rate,
                                least,
                                input),
                        Curves.of("Open MPI 4.0's rule", setup, workload, rate, AllReduceRule.OPEN_MPI_4_0, input),
                        Curves.of("keys from the output on", setup, workload, rate, least, CallOrder.OUTPUT_FIRST)));
    }

    List<String> lines() {
        List<String> lines = new ArrayList<>();
        lines.addAll(List.of(
                "",
                "## " + workload.name(),
                "",
                Numbers.format(
                        "%d keys, %.1f MB of gradients, %d images per GPU and step. One GPU trains %.2f images/s, %.1f"
                                + " ms per step. Source: %s.",
                        workload.keys(),
                        workload.totalElements() * 4 / 1e6,
                        rate.batch(),
                        rate.imagesPerSecond(),
                        rate.stepUs() / 1e3,
                        rate.source()),
                ""));
        lines.addAll(points().markdown());
        lines.addAll(List.of("", "Time of a step in ms with one thing changed, funnel / concum / depcha:", ""));
        lines.addAll(changed().markdown());
        return lines;
    }

    private TextTable points() {
        TextTable table = new TextTable(
                "GPUs",
                "machines",
                "funnel\nstep, ms",
                "concum\nstep, ms",
                "depcha\nstep, ms",
                "funnel\nepoch, s",
                "concum\nepoch, s",
                "depcha\nepoch, s",
                "funnel by\ndepcha",
                "depcha's\nefficiency",
                "all keys\none by one, ms");
        for (ScalePoint point : main.points()) {
            table.row(
                    Numbers.format("%,d", point.gpus()),
                    Numbers.format("%,d", point.machines()),
                    ms(point.stepUs(Design.FUNNEL)),
                    ms(point.stepUs(Design.CONCUM)),
                    ms(point.stepUs(Design.DEPCHA)),
                    seconds(point.epochSeconds(Design.FUNNEL, rate.batch())),
                    seconds(point.epochSeconds(Design.CONCUM, rate.batch())),
                    seconds(point.epochSeconds(Design.DEPCHA, rate.batch())),
                    Numbers.format("%.2f", point.stepUs(Design.FUNNEL) / point.stepUs(Design.DEPCHA)),
                    Numbers.format("%.1f%%", 100 * rate.stepUs() / point.stepUs(Design.DEPCHA)),
                    ms(point.keysUs()));
        }
        return table;
    }

    private TextTable changed() {
        List<String> header = new ArrayList<>(List.of("GPUs"));
        variants.forEach(curves -> header.add(curves.label()));
        TextTable table = new TextTable(header);
        for (int i = 0; i < main.points().size(); i++) {
            ScalePoint same = main.points().get(i);
            if (same.gpus() >= VARIANTS_FROM_GPUS) {
                List<String> cells = new ArrayList<>(List.of(Numbers.format("%,d", same.gpus())));
                for (Curves curves : variants) {
                    ScalePoint point = curves.points().get(i);
                    cells.add(Stream.of(Design.FUNNEL, Design.CONCUM, Design.DEPCHA)
                            .map(design -> ms(point.stepUs(design)))
                            .collect(Collectors.joining(" / ")));
                }
                table.row(cells);
            }
        }
        return table;
    }

    /** Lines on the variants and sizes at which concum is faster than depcha. */
    List<String> whereGroupsWin() {
        List<String> lines = new ArrayList<>();
        for (Curves curves : variants) {
            for (ScalePoint point : curves.points()) {
                double concum = point.stepUs(Design.CONCUM);
                double depcha = point.stepUs(Design.DEPCHA);
                if (concum < FASTER_THRESHOLD * depcha) {
                    lines.add(Numbers.format(
                            "- %s on %,d GPUs, %s: a step takes %s ms over concum and %s ms over depcha. Latencies"
                                + " count most here; several calls at once hide each other's, a chain adds them up.",
                            workload.name(), point.gpus(), curves.label(), ms(concum), ms(depcha)));
                }
            }
        }
        return lines;
    }

    LineChart chart() {
        List<ChartCurve> curves = new ArrayList<>();
        for (Design design : Design.values()) {
            curves.add(curve(design.label(), point -> point.stepUs(design)));
        }
        curves.add(curve("computing alone", point -> rate.stepUs()));
        return new LineChart(
                workload.name() + ", " + rate.batch() + " images per GPU",
                new Axis("GPUs", Scale.COUNT),
                new Axis("time of a step (ms)", Scale.LINEAR),
                curves);
    }

    private ChartCurve curve(String name, ToDoubleFunction<ScalePoint> stepUs) {
        return ChartCurve.of(name, main.points(), ScalePoint::gpus, point -> stepUs.applyAsDouble(point) / 1e3);
    }

    static String ms(double us) {
        return Numbers.format("%.1f", us / 1e3);
    }

    static String seconds(double seconds) {
        return seconds < 10 ? Numbers.format("%.2f", seconds) : Numbers.format("%.1f", seconds);
    }
}

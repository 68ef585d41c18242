package dev.banyan.page.document;

import dev.banyan.page.chart.Axis;
import dev.banyan.page.chart.ChartCurve;
import dev.banyan.page.chart.LineChart;
import dev.banyan.page.chart.Picture;
import dev.banyan.page.chart.Scale;
import dev.banyan.study.figures.ArrayBound;
import dev.banyan.study.figures.InFlight;
import java.util.List;

/** The pictures of the figures. */
public final class FiguresPictures {
    private FiguresPictures() {}

    public static Picture of(InFlight figure) {
        return new Picture(InFlight.COUNTS.stream()
                .map(inFlight -> new LineChart(
                        inFlight + (inFlight == 1 ? " push-pull" : " push-pulls") + " in flight",
                        new Axis("size of each (bytes)", Scale.BYTES),
                        new Axis("time until all are done", Scale.MICROSECONDS),
                        InFlight.STORES.stream()
                                .map(store -> ChartCurve.of(
                                        store,
                                        figure.curve(store, inFlight).toList(),
                                        InFlight.Row::bytes,
                                        InFlight.Row::us))
                                .toList()))
                .toList());
    }

    public static Picture of(ArrayBound figure) {
        return new Picture(List.of(new LineChart(
                "vgg-16, 4 images per GPU: time by array bound",
                new Axis("MXNET_KVSTORE_TREE_ARRAY_BOUND (elements)", Scale.COUNT),
                new Axis("time (ms)", Scale.LINEAR),
                List.of(
                        ChartCurve.of("training step", figure.rows(), ArrayBound.Row::bound, row -> row.stepUs() / 1e3),
                        ChartCurve.of(
                                "push-pull of all keys alone",
                                figure.rows(),
                                ArrayBound.Row::bound,
                                row -> row.communicationUs() / 1e3)))));
    }
}

package dev.banyan.page.document;

import dev.banyan.page.chart.Picture;
import dev.banyan.study.cluster.Fabric;
import dev.banyan.study.cluster.HostCosts;
import dev.banyan.study.cluster.Minsky;
import dev.banyan.study.cluster.ScalePoint;
import dev.banyan.study.cluster.Setup;
import dev.banyan.study.text.Numbers;
import dev.banyan.study.text.PageTemplate;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * The page on training with many machines, in Markdown, and its picture.
 *
 * @param setup the clusters
 * @param models what is trained
 * @param arguments of the command that writes it
 */
public record ScalingPage(Setup setup, List<ModelReport> models, String arguments) {
    private static final String MINSKY =
            "IBM S822LC: 2 POWER8, 4 P100, two NVLinks of 20 GB/s from each P100 to its neighbour"
                    + " and to its CPU; between the CPUs 32 GB/s, NCCL's figure for POWER9, assumed";
    private static final long LARGE_SCALE_MIN_GPUS = 1024;

    public Picture picture() {
        return new Picture(models.stream().map(ModelReport::chart).toList());
    }

    /** @param picture name of the picture's file */
    public String text(String picture) {
        Fabric fabric = setup.fabric();
        HostCosts host = HostCosts.ASSUMED;
        boolean minsky = setup.machine().name().equals(Minsky.NAME);
        Map<String, Object> values = new HashMap<>();
        values.put("arguments", arguments);
        values.put("machine", setup.machine().name());
        values.put("machine-source", minsky ? MINSKY : "preset; its links as `banyan topo` lists them");
        values.put("leaders", Numbers.count(fabric.nics(), "leader"));
        values.put("profile", setup.profile().name());
        values.put("nic", Numbers.gbs(fabric.nicGbs()));
        values.put("nics", fabric.nics());
        values.put("latency", Numbers.plain(fabric.latencyUs()) + " us");
        values.put("leaf", fabric.leafMachines());
        values.put("oversubscription", Numbers.plain(fabric.oversubscription()));
        values.put("sums", Numbers.gbs(host.reduceGbs()));
        values.put("staging", Numbers.gbs(host.stagingGbs()));
        values.put("handover", Numbers.plain(host.handoverUs()) + " us");
        values.put("groups", host.communicators() + ", " + host.outstanding());
        values.put("picture", picture);
        values.put(
                "models",
                lines(models.stream().flatMap(model -> model.lines().stream()).toList()));
        values.put("large-scale", lines(atLargeScale()));
        values.put("published", minsky ? new Published(models).text() : "");
        return PageTemplate.fill(ScalingPage.class, "scaling.md", values);
    }

    private static String lines(List<String> lines) {
        return lines.stream().map(line -> line + "\n").collect(Collectors.joining());
    }

    private List<String> atLargeScale() {
        List<String> lines = new ArrayList<>();
        for (ModelReport model : models) {
            for (ScalePoint point : model.main().points()) {
                if (point.gpus() >= LARGE_SCALE_MIN_GPUS) {
                    lines.add(atLargeScale(model, point));
                }
            }
        }
        for (ModelReport model : models) {
            lines.addAll(model.whereGroupsWin());
        }
        if (!lines.isEmpty()) {
            lines.addAll(0, List.of("", "## A thousand GPUs and more", ""));
        }
        return lines;
    }

    private static String atLargeScale(ModelReport model, ScalePoint point) {
        int batch = model.rate().batch();
        return Numbers.format(
                "- %s on %,d GPUs: %,d images per step, %.1f steps per epoch; all keys' allreduces take %.0f ms one"
                        + " after another, %.0f%% of the computing. Whether a model still learns from such steps is"
                        + " another matter.",
                model.workload().name(),
                point.gpus(),
                batch * point.gpus(),
                point.steps(batch),
                point.keysUs() / 1e3,
                100 * point.keysUs() / model.rate().stepUs());
    }
}

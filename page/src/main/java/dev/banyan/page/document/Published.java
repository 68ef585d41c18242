package dev.banyan.page.document;

import dev.banyan.study.cluster.Design;
import dev.banyan.study.cluster.ScalePoint;
import dev.banyan.study.text.Numbers;
import dev.banyan.study.text.PageTemplate;
import dev.banyan.study.text.TextTable;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Published figures of training on Minskys, beside those of a page. */
final class Published {
    private static final String MODEL = "resnet-50";
    private static final int LARGEST = 256;
    private static final int COMPARED = 128;
    private static final double EPOCH_SECONDS = 50;
    private static final String PAPER = "arXiv:1802.06949";

    /** 90 epochs in 48 minutes. */
    private static final double TORCH_EPOCH_SECONDS = 48 * 60 / 90.0;

    private final List<ModelReport> models;

    Published(List<ModelReport> models) {
        this.models = List.copyOf(models);
    }

    String text() {
        String gap = model().flatMap(report -> report.main().at(LARGEST).map(point -> gap(report, point)))
                .map(line -> line + "\n")
                .orElse("");
        return PageTemplate.fill(
                Published.class, "published.md", Map.of("facts", String.join("\n", facts().markdown()), "gap", gap));
    }

    private Optional<ModelReport> model() {
        return models.stream()
                .filter(report -> report.workload().name().equals(MODEL))
                .findFirst();
    }

    private TextTable facts() {
        TextTable table = new TextTable("published", "there", "here");
        for (ModelReport report : models) {
            report.main()
                    .at(COMPARED)
                    .ifPresent(point -> table.row(
                            "depcha's gain over the funnel up to " + COMPARED + " GPUs (" + PAPER + "), here "
                                    + report.workload().name(),
                            "more than 1.6",
                            Numbers.format("%.2f", point.stepUs(Design.FUNNEL) / point.stepUs(Design.DEPCHA))));
        }
        model().flatMap(report -> report.main()
                        .at(LARGEST)
                        .map(point -> ModelReport.seconds(
                                point.epochSeconds(Design.DEPCHA, report.rate().batch()))))
                .ifPresent(ours -> {
                    table.row(
                            "epoch of " + MODEL + " on " + LARGEST + " GPUs, MXNet (" + PAPER + ")",
                            ModelReport.seconds(EPOCH_SECONDS) + " s",
                            ours + " s");
                    table.row(
                            "the same with Torch, 90 epochs in 48 minutes (arXiv:1711.00705)",
                            ModelReport.seconds(TORCH_EPOCH_SECONDS) + " s",
                            ours + " s");
                });
        return table;
    }

    private static String gap(ModelReport report, ScalePoint point) {
        int batch = report.rate().batch();
        double publishedStepUs = EPOCH_SECONDS * 1e6 / point.steps(batch);
        return Numbers.format(
                "- %.0f s on %d GPUs are %.0f images/s per GPU, where one alone does %.0f. At %d images per GPU a step"
                        + " took %.0f ms, %.0f ms more than computing; all keys' allreduces one after another, nothing"
                        + " hidden, take %.0f ms here. So communication as modelled explains at most %.0f%% of the gap;"
                        + " the rest is not modelled: reading and decoding images, stragglers, batch sizes that"
                        + " are not stated. Torch's figure on the same kind of machines is near what computing"
                        + " allows.",
                EPOCH_SECONDS,
                point.gpus(),
                batch * 1e6 / publishedStepUs,
                report.rate().imagesPerSecond(),
                batch,
                publishedStepUs / 1e3,
                (publishedStepUs - report.rate().stepUs()) / 1e3,
                point.keysUs() / 1e3,
                Math.min(
                        100,
                        100 * point.keysUs() / (publishedStepUs - report.rate().stepUs())));
    }
}

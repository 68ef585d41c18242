package dev.banyan.cli.figures;

import dev.banyan.cli.bench.workload.Workload;
import dev.banyan.cli.output.Numbers;
import dev.banyan.cli.output.TextTable;
import dev.banyan.simulate.Profile;
import dev.banyan.study.training.KeyStore;
import dev.banyan.study.training.KeyStores;
import dev.banyan.study.training.TrainingStep;
import dev.banyan.topology.Machine;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.ToDoubleFunction;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Table (c): how much faster whole training steps are over trees, at most, over small batches. */
record Speedups(List<Row> rows) {
    /** MXNET_KVSTORE_TREE_ARRAY_BOUND's default, in elements. */
    private static final long ARRAY_BOUND = 10_000_000;

    /** The original design's: over the parameter server, over NCCL. */
    private static final Map<String, double[]> ORIGINAL = Map.of(
            "resnet-50", new double[] {1.19, 1.33},
            "vgg-16", new double[] {5.89, 1.06},
            "inception-v3", new double[] {1.15, 1.34},
            "alexnet", new double[] {6.60, 1.42});

    /**
     * One model at one batch; times in us.
     *
     * @param batch images per device
     * @param computeUs forward and backward on one device
     * @param overlap steps that communicate while they compute
     * @param noOverlap steps that compute, then communicate
     */
    record Row(String model, int batch, double computeUs, Times overlap, Times noOverlap) {}

    /** A step over each store. */
    record Times(double ncclUs, double serverUs, double treesUs, double packedUs) {
        static final List<String> NAMES = List.of("nccl", "parameter_server", "trees", "packed_forest");

        List<Double> all() {
            return List.of(ncclUs, serverUs, treesUs, packedUs);
        }
    }

    static Speedups of(Machine machine, Profile profile, Runnable afterEach) {
        KeyStore nccl = KeyStores.nccl(machine, profile);
        KeyStore server = KeyStores.parameterServer(machine, profile);
        KeyStore trees = KeyStores.trees("trees", machine, profile, ARRAY_BOUND);
        KeyStore packed = KeyStores.packedForest(machine, profile);
        List<Row> rows = new ArrayList<>();
        for (Throughput each : Throughput.all()) {
            TrainingStep step = step(each);
            rows.add(new Row(
                    each.model(),
                    each.batch(),
                    each.stepUs(),
                    new Times(step.us(nccl), step.us(server), step.us(trees), step.us(packed)),
                    new Times(
                            step.withoutOverlapUs(nccl),
                            step.withoutOverlapUs(server),
                            step.withoutOverlapUs(trees),
                            step.withoutOverlapUs(packed))));
            afterEach.run();
        }
        return new Speedups(rows);
    }

    static int steps() {
        return Throughput.all().size();
    }

    static TrainingStep step(Throughput throughput) {
        Workload workload = Objects.requireNonNull(Workload.all().get(throughput.model()), throughput.model());
        return new TrainingStep(workload.elements(), throughput.stepUs());
    }

    List<String> models() {
        return rows.stream().map(Row::model).distinct().toList();
    }

    /** The greatest ratio of any batch. */
    double peak(String model, ToDoubleFunction<Row> ratio) {
        return rows.stream()
                .filter(row -> row.model().equals(model))
                .mapToDouble(ratio)
                .max()
                .orElseThrow();
    }

    TextTable overServer() {
        return peaks(0, Times::serverUs);
    }

    TextTable overNccl() {
        return peaks(1, Times::ncclUs);
    }

    /** Returns the speedups of steps over another store, over trees and over the packed forest. */
    private TextTable peaks(int column, ToDoubleFunction<Times> other) {
        TextTable table = new TextTable(
                "model",
                "original",
                "trees,\noverlap",
                "trees,\nno overlap",
                "packed forest,\noverlap",
                "packed forest,\nno overlap");
        for (String model : models()) {
            double[] original = Objects.requireNonNull(ORIGINAL.get(model), model);
            table.row(
                    model,
                    number(original[column]),
                    number(peak(
                            model,
                            row -> other.applyAsDouble(row.overlap())
                                    / row.overlap().treesUs())),
                    number(peak(
                            model,
                            row -> other.applyAsDouble(row.noOverlap())
                                    / row.noOverlap().treesUs())),
                    number(peak(
                            model,
                            row -> other.applyAsDouble(row.overlap())
                                    / row.overlap().packedUs())),
                    number(peak(
                            model,
                            row -> other.applyAsDouble(row.noOverlap())
                                    / row.noOverlap().packedUs())));
        }
        return table;
    }

    /** Steps in ms, with overlap and without. */
    TextTable stepTimes() {
        TextTable table = new TextTable(
                "model", "images\nper GPU", "compute", "NCCL ring", "parameter server", "trees", "packed forest");
        for (Row row : rows) {
            table.row(
                    row.model(),
                    Integer.toString(row.batch()),
                    ms(row.computeUs()),
                    both(row, Times::ncclUs),
                    both(row, Times::serverUs),
                    both(row, Times::treesUs),
                    both(row, Times::packedUs));
        }
        return table;
    }

    private static String both(Row row, ToDoubleFunction<Times> time) {
        return ms(time.applyAsDouble(row.overlap())) + " / " + ms(time.applyAsDouble(row.noOverlap()));
    }

    private static String ms(double us) {
        return Numbers.format("%.1f", us / 1e3);
    }

    private static String number(double ratio) {
        return Numbers.format("%.2f", ratio);
    }

    List<String> csv() {
        String heading = "model,batch_per_gpu,overlap,compute_us,"
                + Times.NAMES.stream().map(name -> name + "_us").collect(Collectors.joining(","));
        return Stream.concat(
                        Stream.of(heading),
                        rows.stream()
                                .flatMap(row ->
                                        Stream.of(line(row, "yes", row.overlap()), line(row, "no", row.noOverlap()))))
                .toList();
    }

    private static String line(Row row, String overlap, Times times) {
        return Numbers.format("%s,%d,%s,%.3f,", row.model(), row.batch(), overlap, row.computeUs())
                + times.all().stream().map(us -> Numbers.format("%.3f", us)).collect(Collectors.joining(","));
    }
}

package dev.banyan.cli.figures;

import dev.banyan.cli.bench.Workload;
import dev.banyan.cli.output.TextTable;
import dev.banyan.simulate.Profile;
import dev.banyan.simulate.training.KeyStore;
import dev.banyan.simulate.training.KeyStores;
import dev.banyan.simulate.training.TrainingStep;
import dev.banyan.topology.Machine;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.function.ToDoubleFunction;
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
     */
    record Row(
            String model, int batch, double computeUs, double ncclUs, double serverUs, double treesUs, double packedUs) {}

    Speedups {
        rows = List.copyOf(rows);
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
                    step.us(nccl),
                    step.us(server),
                    step.us(trees),
                    step.us(packed)));
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

    /** The row where a ratio is greatest. */
    Row peak(String model, ToDoubleFunction<Row> ratio) {
        return rows.stream()
                .filter(row -> row.model().equals(model))
                .max(Comparator.comparingDouble(ratio))
                .orElseThrow();
    }

    TextTable peaks() {
        TextTable table = new TextTable(
                "model",
                "trees / server,\noriginal",
                "\nours",
                "trees / NCCL,\noriginal",
                "\nours",
                "packed / server,\nours",
                "packed / NCCL,\nours");
        for (String model : models()) {
            double[] original = Objects.requireNonNull(ORIGINAL.get(model), model);
            table.row(
                    model,
                    number(original[0]),
                    peakText(model, row -> row.serverUs() / row.treesUs()),
                    number(original[1]),
                    peakText(model, row -> row.ncclUs() / row.treesUs()),
                    peakText(model, row -> row.serverUs() / row.packedUs()),
                    peakText(model, row -> row.ncclUs() / row.packedUs()));
        }
        return table;
    }

    private String peakText(String model, ToDoubleFunction<Row> ratio) {
        Row row = peak(model, ratio);
        return number(ratio.applyAsDouble(row)) + " at " + row.batch();
    }

    TextTable stepTimes() {
        TextTable table = new TextTable(
                "model", "images\nper GPU", "compute\n(ms)", "NCCL\n(ms)", "server\n(ms)", "trees\n(ms)", "packed\n(ms)");
        for (Row row : rows) {
            table.row(
                    row.model(),
                    Integer.toString(row.batch()),
                    ms(row.computeUs()),
                    ms(row.ncclUs()),
                    ms(row.serverUs()),
                    ms(row.treesUs()),
                    ms(row.packedUs()));
        }
        return table;
    }

    private static String ms(double us) {
        return String.format(Locale.ROOT, "%.1f", us / 1e3);
    }

    private static String number(double ratio) {
        return String.format(Locale.ROOT, "%.2f", ratio);
    }

    List<String> csv() {
        return Stream.concat(
                        Stream.of("model,batch_per_gpu,compute_us,nccl_us,parameter_server_us,trees_us,packed_forest_us"),
                        rows.stream().map(row -> String.format(
                                Locale.ROOT,
                                "%s,%d,%.3f,%.3f,%.3f,%.3f,%.3f",
                                row.model(),
                                row.batch(),
                                row.computeUs(),
                                row.ncclUs(),
                                row.serverUs(),
                                row.treesUs(),
                                row.packedUs())))
                .toList();
    }
}

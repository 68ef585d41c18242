package dev.banyan.study.figures;

import dev.banyan.simulate.Profile;
import dev.banyan.study.text.Numbers;
import dev.banyan.study.training.KeyStore;
import dev.banyan.study.training.KeyStores;
import dev.banyan.study.training.TrainingStep;
import dev.banyan.study.workload.Workload;
import dev.banyan.topology.Machine;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.function.ToDoubleFunction;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Table (c): how much faster whole training steps are over trees, at most, over small batches. */
public record Speedups(List<Row> rows) {
    /** MXNET_KVSTORE_TREE_ARRAY_BOUND's default, in elements. */
    private static final long ARRAY_BOUND = 10_000_000;

    /**
     * One model at one batch; times in us.
     *
     * @param batch images per device
     * @param computeUs forward and backward on one device
     * @param overlap steps that communicate while they compute
     * @param noOverlap steps that compute, then communicate
     */
    public record Row(String model, int batch, double computeUs, Times overlap, Times noOverlap) {}

    /** A step over each store. */
    public record Times(double ncclUs, double serverUs, double treesUs, double packedUs) {
        public static final List<String> NAMES = List.of("nccl", "parameter_server", "trees", "packed_forest");

        public List<Double> all() {
            return List.of(ncclUs, serverUs, treesUs, packedUs);
        }
    }

    public static Speedups of(Machine machine, Profile profile, Runnable afterEach) {
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

    public static int steps() {
        return Throughput.all().size();
    }

    public static TrainingStep step(Throughput throughput) {
        Workload workload = Objects.requireNonNull(Workload.all().get(throughput.model()), throughput.model());
        return new TrainingStep(workload.elements(), throughput.stepUs());
    }

    public List<String> models() {
        return rows.stream().map(Row::model).distinct().toList();
    }

    /** The greatest ratio of any batch. */
    public double peak(String model, ToDoubleFunction<Row> ratio) {
        return rows.stream()
                .filter(row -> row.model().equals(model))
                .mapToDouble(ratio)
                .max()
                .orElseThrow();
    }

    public List<String> csv() {
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

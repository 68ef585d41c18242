package dev.banyan.djl;

import ai.djl.engine.Engine;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.Shape;
import ai.djl.training.GradientCollector;
import ai.djl.training.LocalParameterServer;
import ai.djl.training.ParameterServer;
import ai.djl.training.optimizer.Optimizer;
import ai.djl.training.tracker.Tracker;
import dev.banyan.config.Config;
import dev.banyan.djl.internal.processes.Processes;
import dev.banyan.djl.internal.server.BanyanParameterServer;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/**
 * Measures one step of a parameter server: the gradients of all parameters of four replicas on the CPU are summed up
 * and worked into the parameters of all. The baseline is DJL's own server, which needs parameters of each replica;
 * divide by it. Those of Banyan share memory, as {@link ReplicatedTrainer} lets them.
 *
 * <pre>
 * mvn -q -DskipTests package
 * java -cp djl/target/test-classes:djl/target/classes:$(cat djl/target/test-classpath.txt) org.openjdk.jmh.Main
 * ParameterUpdate
 * </pre>
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MILLISECONDS)
@Warmup(iterations = 3, time = 2)
@Measurement(iterations = 5, time = 2)
@Fork(
        value = 2,
        jvmArgsAppend = {
            "--add-modules",
            "jdk.incubator.vector",
            "--enable-native-access=ALL-UNNAMED",
            "-Dai.djl.offline=true",
            "-DOPT_OUT_TRACKING=true",
            "-Dorg.slf4j.simpleLogger.defaultLogLevel=error"
        })
public class ParameterUpdate {
    private static final int REPLICAS = 4;

    /** The server. */
    @Param({"djl", "banyan"})
    public String server = "djl";

    /** The network whose parameters are updated. */
    @Param({"resnet-50", "mlp-20"})
    public String model = "resnet-50";

    /** The optimiser. */
    @Param({"sgd", "momentum", "adam"})
    public String optimizer = "sgd";

    private final List<NDArray[]> parameters = new ArrayList<>();
    private @Nullable NDManager manager;
    private @Nullable ParameterServer opened;

    /** Makes parameters, and gradients that are zero and stay so. */
    @Setup
    public void open() {
        NDManager arrays = Engine.getEngine("PyTorch").newBaseManager();
        Optimizer worker = worker();
        ParameterServer made = switch (server) {
            case "djl" -> new LocalParameterServer(worker);
            case "banyan" -> BanyanParameterServer.ofReplicas(worker, Processes.ALONE, Config.load());
            default -> throw new IllegalArgumentException("server=" + server + "; use djl or banyan");
        };
        for (long count : counts()) {
            NDArray[] replicas = IntStream.range(0, REPLICAS)
                    .mapToObj(i -> arrays.ones(new Shape(count)))
                    .toArray(NDArray[]::new);
            for (NDArray replica : replicas) {
                replica.setRequiresGradient(true);
                if (made instanceof BanyanParameterServer && replica != replicas[0]) {
                    ReplicatedTrainer.share(replicas[0], replica);
                }
            }
            // Without a backward pass PyTorch would make zeros anew for each step.
            for (NDArray replica : replicas) {
                try (GradientCollector collector = arrays.getEngine().newGradientCollector();
                        NDArray zero = replica.mul(0);
                        NDArray sum = zero.sum()) {
                    collector.backward(sum);
                }
            }
            made.init(id(parameters.size()), new NDArray[] {replicas[0]});
            parameters.add(replicas);
        }
        opened = made;
        manager = arrays;
    }

    private Optimizer worker() {
        return switch (optimizer) {
            case "sgd" ->
                Optimizer.sgd().setLearningRateTracker(Tracker.fixed(0.01f)).build();
            case "momentum" ->
                Optimizer.sgd()
                        .setLearningRateTracker(Tracker.fixed(0.01f))
                        .optMomentum(0.9f)
                        .build();
            case "adam" ->
                Optimizer.adam().optLearningRateTracker(Tracker.fixed(0.001f)).build();
            default -> throw new IllegalArgumentException("optimizer=" + optimizer + "; use sgd, momentum or adam");
        };
    }

    private List<Long> counts() {
        return switch (model) {
            case "resnet-50" -> ResNet50.counts();
            case "mlp-20" ->
                IntStream.range(0, 20)
                        .boxed()
                        .flatMap(layer -> List.of(512L * 512, 512L).stream())
                        .toList();
            default -> throw new IllegalArgumentException("model=" + model + "; use resnet-50 or mlp-20");
        };
    }

    private static String id(int parameter) {
        return "parameter" + parameter;
    }

    /** Frees everything. */
    @TearDown
    public void close() {
        Objects.requireNonNull(opened).close();
        Objects.requireNonNull(manager).close();
    }

    /** One step. */
    @Benchmark
    public void update() {
        ParameterServer one = Objects.requireNonNull(opened);
        for (int i = 0; i < parameters.size(); i++) {
            one.update(id(i), parameters.get(i));
        }
    }
}

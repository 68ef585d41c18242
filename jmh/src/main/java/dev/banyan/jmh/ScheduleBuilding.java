package dev.banyan.jmh;

import dev.banyan.reduce.host.HostBackend;
import dev.banyan.schedule.Schedule;
import dev.banyan.schedule.algorithm.CollectiveAlgorithm;
import dev.banyan.schedule.algorithm.CollectiveRequest;
import dev.banyan.schedule.algorithm.PackedAlgorithm;
import dev.banyan.schedule.algorithm.StarAlgorithm;
import dev.banyan.schedule.type.Collective;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import dev.banyan.topology.Presets;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
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
 * Measures what the first call of a kind takes in addition to its trees: building the schedule of an allreduce of 64
 * MiB over p3.16xlarge, alone and with its compilation for the host. The baseline is the schedule of the star, which
 * has the fewest steps.
 *
 * <pre>java -jar jmh/target/benchmarks.jar ScheduleBuilding</pre>
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(
        value = 1,
        jvmArgsAppend = {"--add-modules", "jdk.incubator.vector", "--enable-native-access=ALL-UNNAMED"})
public class ScheduleBuilding {
    private static final int RANKS = 8;

    /** The algorithm, as the command names it. */
    @Param({"single-tree", "multi-tree", "packing", "ring"})
    public String algorithm = "multi-tree";

    /** The length of a chunk in bytes. If it is that of the array, the backend cuts the array. */
    @Param({"1048576", "67108864"})
    public long chunkBytes = 67108864;

    private final CollectiveAlgorithm star = new StarAlgorithm(RANKS);
    private CollectiveAlgorithm measured = star;
    private final HostBackend backend = new HostBackend(RANKS, 1, Duration.ofMinutes(1));

    /** Builds the trees. */
    @Setup
    public void open() {
        measured = NamedAlgorithm.of(algorithm, Presets.find("p3.16xlarge").orElseThrow());
        if (measured instanceof PackedAlgorithm packed) {
            packed.packing(Collective.ALL_REDUCE, -1);
        }
    }

    /** Frees the backend. */
    @TearDown
    public void close() {
        backend.close();
    }

    private Schedule schedule(CollectiveAlgorithm of) {
        return of.schedule(new CollectiveRequest(Collective.ALL_REDUCE, -1, 1 << 24, 4, true, chunkBytes));
    }

    /** Builds the schedule of the star, the baseline. */
    @Benchmark
    public Schedule star() {
        return schedule(star);
    }

    /** Builds the schedule. */
    @Benchmark
    public Schedule schedule() {
        return schedule(measured);
    }

    /** Builds the schedule, compiles it for the host and frees it. */
    @Benchmark
    public void scheduleAndPrepare() {
        backend.prepare(schedule(measured), DataType.F32, ReduceOp.SUM).close();
    }
}

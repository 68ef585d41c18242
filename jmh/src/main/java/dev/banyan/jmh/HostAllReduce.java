package dev.banyan.jmh;

import dev.banyan.config.Config;
import dev.banyan.reduce.CollectiveCall;
import dev.banyan.reduce.Communicator;
import dev.banyan.reduce.internal.host.HostBackend;
import dev.banyan.schedule.plan.Planner;
import dev.banyan.schedule.type.Collective;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import dev.banyan.topology.Machine;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.VectorSpecies;
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
 * Measures an allreduce over 8 devices of the host backend, on the trees of p3.16xlarge. {@code keys} is the length of
 * each device's array in bytes, or a model of float gradients that are reduced key by key, all in flight.
 *
 * <p>Two baselines work on the same buffers with as many threads as the backend has: {@code fusedSum} is one loop that
 * adds the eight arrays as floats and writes the sum to all of them, and {@code copy} copies each input to an output.
 * Divide by them, as absolute times drift on small machines.
 *
 * <pre>
 * java -jar jmh/target/benchmarks.jar HostAllReduce -p keys=64M -p algorithm=multi-tree -p type=BF16 -p op=AVG
 * </pre>
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 4, time = 1)
@Fork(
        value = 3,
        jvmArgsAppend = {
            "--add-modules",
            "jdk.incubator.vector",
            "--enable-native-access=ALL-UNNAMED",
            "-XX:-UseFPUForSpilling"
        })
public class HostAllReduce {
    private static final int RANKS = 8;
    private static final int BLOCK = 1 << 14;
    /** Arrays of fewer elements are not worth a second thread. */
    private static final int ALONE = 1 << 14;

    private static final VectorSpecies<Float> LANES = FloatVector.SPECIES_PREFERRED;
    private static final ByteOrder ORDER = ByteOrder.nativeOrder();

    /** The length of an array in bytes, or a model. */
    @Param({"4K", "1M", "64M", "resnet-50"})
    public String keys = "4K";

    /** The algorithm, as the command names it. */
    @Param({"auto"})
    public String algorithm = "auto";

    /** The type of the elements. */
    @Param({"F32"})
    public DataType type = DataType.F32;

    /** The operation. */
    @Param({"SUM"})
    public ReduceOp op = ReduceOp.SUM;

    private final List<CollectiveCall> inPlace = new ArrayList<>();
    private final List<CollectiveCall> outOfPlace = new ArrayList<>();
    private final int threads = Runtime.getRuntime().availableProcessors();
    private @Nullable Communicator communicator;

    /** Allocates the buffers. They hold zeros, which sums do not change. */
    @Setup
    public void open() {
        communicator = Communicator.onHost(
                Machine.preset("p3.16xlarge"),
                Config.builder()
                        .set(Planner.ALGORITHM.name(), algorithm)
                        .set(HostBackend.THREADS, threads)
                        .build());
        for (long floats : counts()) {
            long count = 4 * floats / type.bytes();
            List<MemorySegment> inputs = buffers(communicator, floats);
            inPlace.add(CollectiveCall.of(Collective.ALL_REDUCE, -1, count, type, op, inputs));
            List<MemorySegment> outputs = buffers(communicator, floats);
            outOfPlace.add(CollectiveCall.of(Collective.ALL_REDUCE, -1, count, type, op, inputs)
                    .into(outputs));
        }
    }

    /** Returns the lengths of the arrays in units of 4 bytes. */
    private long[] counts() {
        return switch (keys) {
            case "4K" -> new long[] {1 << 10};
            case "1M" -> new long[] {1 << 18};
            case "16M" -> new long[] {1 << 22};
            case "64M" -> new long[] {1 << 24};
            case "resnet-50" -> GradientSizes.resnet50();
            default -> throw new IllegalArgumentException("keys=" + keys + "; use 4K, 1M, 16M, 64M or resnet-50");
        };
    }

    private static List<MemorySegment> buffers(Communicator communicator, long count) {
        return IntStream.range(0, RANKS)
                .mapToObj(rank -> communicator.allocate(rank, 4 * count))
                .toList();
    }

    /** Frees the buffers. */
    @TearDown
    public void close() {
        opened().close();
    }

    private Communicator opened() {
        return Objects.requireNonNull(communicator);
    }

    /** Writes the sum to every buffer. */
    @Benchmark
    public void inPlace() {
        reduce(inPlace);
    }

    /** Writes the sum to every output. */
    @Benchmark
    public void outOfPlace() {
        reduce(outOfPlace);
    }

    private void reduce(List<CollectiveCall> calls) {
        if (calls.size() == 1) {
            opened().run(calls.getFirst());
            return;
        }
        List<CompletableFuture<Void>> futures = new ArrayList<>(calls.size());
        for (CollectiveCall call : calls) {
            futures.add(opened().runAsync(call));
        }
        for (CompletableFuture<Void> future : futures) {
            future.join();
        }
    }

    /** Does the least that an allreduce in place must do: one loop over all eight arrays. */
    @Benchmark
    public void fusedSum() {
        for (CollectiveCall call : inPlace) {
            List<MemorySegment> b = call.inputs();
            onAllThreads(
                    floats(call),
                    (first, elements) -> sum(
                            b.get(0), b.get(1), b.get(2), b.get(3), b.get(4), b.get(5), b.get(6), b.get(7), 4 * first,
                            elements));
        }
    }

    /** Copies each input to its output. */
    @Benchmark
    public void copy() {
        for (CollectiveCall call : outOfPlace) {
            onAllThreads(floats(call), (first, elements) -> {
                for (int rank = 0; rank < RANKS; rank++) {
                    MemorySegment.copy(
                            call.inputs().get(rank), 4 * first, call.outputs().get(rank), 4 * first, 4L * elements);
                }
            });
        }
    }

    private static long floats(CollectiveCall call) {
        return call.inputs().getFirst().byteSize() / 4;
    }

    /** Work on a range of elements. */
    private interface Range {
        void run(long first, int elements);
    }

    private void onAllThreads(long count, Range work) {
        if (count < ALONE) {
            work.run(0, (int) count);
            return;
        }
        IntStream.range(0, threads).parallel().forEach(thread -> {
            long end = count * (thread + 1) / threads;
            for (long first = count * thread / threads; first < end; first += BLOCK) {
                work.run(first, (int) Math.min(BLOCK, end - first));
            }
        });
    }

    private static void sum(
            MemorySegment a,
            MemorySegment b,
            MemorySegment c,
            MemorySegment d,
            MemorySegment e,
            MemorySegment f,
            MemorySegment g,
            MemorySegment h,
            long at,
            int elements) {
        int i = 0;
        for (int end = LANES.loopBound(elements) * 4; i < end; i += LANES.vectorByteSize()) {
            FloatVector sum = load(a, at + i)
                    .add(load(b, at + i))
                    .add(load(c, at + i))
                    .add(load(d, at + i))
                    .add(load(e, at + i))
                    .add(load(f, at + i))
                    .add(load(g, at + i))
                    .add(load(h, at + i));
            sum.intoMemorySegment(a, at + i, ORDER);
            sum.intoMemorySegment(b, at + i, ORDER);
            sum.intoMemorySegment(c, at + i, ORDER);
            sum.intoMemorySegment(d, at + i, ORDER);
            sum.intoMemorySegment(e, at + i, ORDER);
            sum.intoMemorySegment(f, at + i, ORDER);
            sum.intoMemorySegment(g, at + i, ORDER);
            sum.intoMemorySegment(h, at + i, ORDER);
        }
        for (; i < 4 * elements; i += 4) {
            float sum = 0;
            for (MemorySegment each : List.of(a, b, c, d, e, f, g, h)) {
                sum += each.get(ValueLayout.JAVA_FLOAT, at + i);
            }
            for (MemorySegment each : List.of(a, b, c, d, e, f, g, h)) {
                each.set(ValueLayout.JAVA_FLOAT, at + i, sum);
            }
        }
    }

    private static FloatVector load(MemorySegment segment, long at) {
        return FloatVector.fromMemorySegment(LANES, segment, at, ORDER);
    }
}

package dev.banyan.jmh;

import dev.banyan.config.Config;
import dev.banyan.dlc.TraceRecorder;
import dev.banyan.kvstore.KVStore;
import dev.banyan.kvstore.Key;
import dev.banyan.kvstore.StoreType;
import dev.banyan.reduce.CollectiveCall;
import dev.banyan.reduce.Communicator;
import dev.banyan.schedule.plan.Algorithms;
import dev.banyan.schedule.type.Collective;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import dev.banyan.topology.Machine;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
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
 * Measures a store of 8 host devices with the 157 gradients of ResNet-50, all in flight: by push-pull in place, and by
 * push and pull. The baseline is one allreduce of the same total size. Divide by it, or divide a time with a recorder
 * by that without.
 *
 * <pre>
 * java -jar jmh/target/benchmarks.jar StorePushPull -p fusion=off,256K -p reproducible=0,1
 * java -jar jmh/target/benchmarks.jar StorePushPull.pushPull -p fusion=256K -p traced=false,true
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
            "-XX:-UseFPUForSpilling"
        })
public class StorePushPull {
    /** BANYAN_FUSION_BYTES. */
    @Param({"off", "256K"})
    public String fusion = "off";

    /** BANYAN_REPRODUCIBLE. */
    @Param({"0"})
    public String reproducible = "0";

    /** True if a trace recorder listens. It keeps all events. */
    @Param({"false"})
    public boolean traced;

    /** The type of the store. */
    @Param({"auto"})
    public String type = "auto";

    private final List<Key> keys = new ArrayList<>();
    private final List<List<MemorySegment>> gradients = new ArrayList<>();
    private @Nullable Communicator communicator;
    private @Nullable KVStore store;
    private @Nullable CollectiveCall whole;

    /** Allocates the gradients. They hold zeros, which sums do not change. */
    @Setup
    public void open() {
        Communicator ranks = Communicator.onHost(
                Machine.preset("p3.16xlarge"),
                Config.builder()
                        .set(KVStore.FUSION_BYTES.name(), fusion)
                        .set(Algorithms.REPRODUCIBLE.name(), reproducible)
                        .build());
        KVStore opened = KVStore.builder(ranks).type(StoreType.of(type)).open();
        long[] counts = GradientSizes.resnet50();
        long total = Arrays.stream(counts).sum();
        List<MemorySegment> all = IntStream.range(0, ranks.size())
                .mapToObj(rank -> ranks.allocate(rank, Float.BYTES * total))
                .toList();
        long at = 0;
        for (int k = 0; k < counts.length; k++) {
            long first = at;
            long bytes = Float.BYTES * counts[k];
            opened.init(Key.of(k), all.getFirst().asSlice(first, bytes), counts[k], DataType.F32);
            keys.add(Key.of(k));
            gradients.add(
                    all.stream().map(segment -> segment.asSlice(first, bytes)).toList());
            at += bytes;
        }
        if (traced) {
            opened.setListener(new TraceRecorder(ranks.size(), "localhost"));
        }
        whole = CollectiveCall.of(Collective.ALL_REDUCE, -1, total, DataType.F32, ReduceOp.SUM, all);
        store = opened;
        communicator = ranks;
    }

    /** Frees everything. */
    @TearDown
    public void close() {
        Objects.requireNonNull(store).close();
        Objects.requireNonNull(communicator).close();
    }

    /** Pushes and pulls the last layer's gradient first; the first layer's has the greatest priority. */
    @Benchmark
    public void pushPull() {
        KVStore opened = Objects.requireNonNull(store);
        CompletableFuture<?>[] futures = new CompletableFuture<?>[keys.size()];
        for (int k = keys.size() - 1; k >= 0; k--) {
            futures[k] = opened.pushPull(keys.get(k), gradients.get(k), gradients.get(k), -k);
        }
        CompletableFuture.allOf(futures).join();
    }

    /** Pushes and then pulls each gradient, as MXNet's trainers do without push-pull. */
    @Benchmark
    public void pushThenPull() {
        KVStore opened = Objects.requireNonNull(store);
        CompletableFuture<?>[] futures = new CompletableFuture<?>[2 * keys.size()];
        for (int k = keys.size() - 1; k >= 0; k--) {
            futures[2 * k] = opened.push(keys.get(k), gradients.get(k), -k);
            futures[2 * k + 1] = opened.pull(keys.get(k), gradients.get(k), -k);
        }
        CompletableFuture.allOf(futures).join();
    }

    /** Reduces all gradients by one call, the baseline. */
    @Benchmark
    public void oneAllReduce() {
        Objects.requireNonNull(communicator).run(Objects.requireNonNull(whole));
    }
}

package dev.banyan.jmh;

import dev.banyan.config.Config;
import dev.banyan.reduce.CollectiveCall;
import dev.banyan.reduce.Communicator;
import dev.banyan.schedule.type.Collective;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import dev.banyan.topology.Machine;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
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
 * Measures a repeated allreduce of 4 KiB on GPUs, from the call to its return: checks, queue, plan, one launch, wait.
 * On the emulated driver, which here skips launches, that is the host's time alone. The baseline, one rank in place,
 * launches nothing.
 *
 * <pre>
 * sh reduce/cuda-emulator/src/main/native/build.sh /tmp/emulated
 * echo launches skipped &gt; /tmp/emulated/machine
 * LD_LIBRARY_PATH=/tmp/emulated BANYAN_EMULATED_CUDA=/tmp/emulated/machine java -jar jmh/target/benchmarks.jar GpuCall
 * </pre>
 *
 * <p>On a GPU: {@code java -jar jmh/target/benchmarks.jar GpuCall -p devices=0,0}.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(value = 3, jvmArgsAppend = "--enable-native-access=ALL-UNNAMED")
public class GpuCall {
    private static final int COUNT = 1024;

    /** The GPU of each rank. */
    @Param("0,1,2,3,4,5,6,7")
    public String devices = "0,1,2,3,4,5,6,7";

    private @Nullable Communicator all;
    private @Nullable Communicator single;
    private @Nullable CollectiveCall ofAll;
    private @Nullable CollectiveCall ofOne;

    /** Allocates the buffers. */
    @Setup
    public void open() {
        int[] gpus = Arrays.stream(devices.split(",", -1))
                .mapToInt(Integer::parseInt)
                .toArray();
        Machine machine = Machine.preset("p3.16xlarge");
        Communicator many = Communicator.onGpus(
                machine.subset(IntStream.range(0, gpus.length).toArray()), Config.defaults(), gpus);
        Communicator one = Communicator.onGpus(machine.subset(0), Config.defaults(), gpus[0]);
        ofAll = call(many);
        ofOne = call(one);
        all = many;
        single = one;
    }

    private static CollectiveCall call(Communicator communicator) {
        List<MemorySegment> buffers = IntStream.range(0, communicator.size())
                .mapToObj(rank -> communicator.allocate(rank, (long) COUNT * Float.BYTES))
                .toList();
        return CollectiveCall.of(Collective.ALL_REDUCE, -1, COUNT, DataType.F32, ReduceOp.SUM, buffers);
    }

    /** Frees everything. */
    @TearDown
    public void close() {
        Objects.requireNonNull(all).close();
        Objects.requireNonNull(single).close();
    }

    /** Reduces over all GPUs by one launch. */
    @Benchmark
    public void allReduce() {
        Objects.requireNonNull(all).run(Objects.requireNonNull(ofAll));
    }

    /** Reduces one rank in place without a launch, the baseline. */
    @Benchmark
    public void oneRank() {
        Objects.requireNonNull(single).run(Objects.requireNonNull(ofOne));
    }
}

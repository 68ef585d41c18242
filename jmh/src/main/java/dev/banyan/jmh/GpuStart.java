package dev.banyan.jmh;

import dev.banyan.config.Config;
import dev.banyan.reduce.backend.Backend;
import dev.banyan.reduce.backend.Completion;
import dev.banyan.reduce.backend.Executable;
import dev.banyan.schedule.Schedule;
import dev.banyan.schedule.internal.algorithm.CollectiveRequest;
import dev.banyan.schedule.plan.AlgorithmHint;
import dev.banyan.schedule.plan.Planner;
import dev.banyan.schedule.type.Collective;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import dev.banyan.topology.Machine;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.util.Arrays;
import java.util.Objects;
import java.util.ServiceLoader;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/**
 * Measures what the host does to start an allreduce of 8 bytes on 8 GPUs: one kernel on each, and events. It takes
 * turns between two sets of buffers, as those of a call may always be others. The emulated driver is paused meanwhile,
 * so that its kernels do not take the cores; they run between the measurements, and longer than these: the compiler
 * needs half a minute to see enough starts.
 *
 * <pre>
 * sh reduce/cuda-emulator/src/main/native/build.sh /tmp/emulated
 * echo devices 8 switched &gt; /tmp/emulated/machine
 * LD_LIBRARY_PATH=/tmp/emulated BANYAN_EMULATED_CUDA=/tmp/emulated/machine \
 *     java -jar jmh/target/benchmarks.jar GpuStart -prof gc
 * </pre>
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
@Warmup(iterations = 5, time = 10)
@Measurement(iterations = 5, time = 5)
@Fork(value = 3, jvmArgsAppend = "--enable-native-access=ALL-UNNAMED")
public class GpuStart {
    private static final int STARTS = 100;
    private static final int COUNT = 2;

    /** The executor of the schedule: kernel or graph. */
    @Param({"kernel", "graph"})
    public String executor = "kernel";

    private @Nullable Backend backend;
    private @Nullable Executable executable;
    private final MemorySegment[][] buffers = new MemorySegment[2][];
    private @Nullable MethodHandle command;
    private final AtomicInteger running = new AtomicInteger();
    private CompletableFuture<Void> ended = new CompletableFuture<>();
    private final Completion completion = failure -> {
        if (failure != null) {
            ended.completeExceptionally(failure);
        } else if (running.decrementAndGet() == 0) {
            ended.complete(null);
        }
    };

    /** Allocates the buffers. */
    @Setup
    public void open() {
        Machine machine = Machine.preset("dgx-a100");
        Config config = Config.builder().set("BANYAN_CUDA_EXECUTOR", executor).build();
        int[] devices = IntStream.range(0, machine.size()).toArray();
        Backend opened = ServiceLoader.load(Backend.Provider.class).stream()
                .map(ServiceLoader.Provider::get)
                .filter(provider -> provider.name().equals("cuda"))
                .findFirst()
                .orElseThrow()
                .open(machine, config, devices);
        Schedule schedule = Planner.of(machine, config)
                .plan(
                        new CollectiveRequest(Collective.ALL_REDUCE, -1, COUNT, Float.BYTES, true, Long.MAX_VALUE),
                        AlgorithmHint.CONFIGURED)
                .schedule();
        executable = opened.prepare(schedule, DataType.F32, ReduceOp.SUM);
        Arrays.setAll(
                buffers,
                _ -> Arrays.stream(devices)
                        .mapToObj(rank -> opened.allocate(rank, (long) COUNT * Float.BYTES))
                        .toArray(MemorySegment[]::new));
        backend = opened;
        command = command();
    }

    @SuppressWarnings("restricted")
    private static @Nullable MethodHandle command() {
        return SymbolLookup.libraryLookup("libcuda.so.1", Arena.global())
                .find("banyan_emu_command")
                .map(symbol -> Linker.nativeLinker()
                        .downcallHandle(symbol, FunctionDescriptor.of(ValueLayout.JAVA_INT, ValueLayout.ADDRESS)))
                .orElse(null);
    }

    private void tell(String line) {
        MethodHandle emulator = command;
        if (emulator == null) {
            return;
        }
        try (Arena arena = Arena.ofConfined()) {
            int result = (int) emulator.invokeExact(arena.allocateFrom(line));
            if (result != 0) {
                throw new IllegalStateException("the emulated driver refuses '" + line + "'");
            }
        } catch (RuntimeException e) {
            throw e;
        } catch (Throwable e) {
            throw new IllegalStateException(e);
        }
    }

    /** Lets nothing begin. */
    @Setup(Level.Invocation)
    public void pause() {
        running.set(STARTS);
        ended = new CompletableFuture<>();
        tell("pause");
    }

    /** Lets all begin, and waits for it. */
    @TearDown(Level.Invocation)
    public void drain() {
        tell("resume");
        Objects.requireNonNull(executable).poll(ended);
        ended.join();
    }

    /** Frees everything. */
    @TearDown
    public void close() {
        Objects.requireNonNull(executable).close();
        Objects.requireNonNull(backend).close();
    }

    /** Starts a call on all GPUs. */
    @Benchmark
    @OperationsPerInvocation(STARTS)
    public void start() {
        Executable call = Objects.requireNonNull(executable);
        for (int i = 0; i < STARTS; i++) {
            MemorySegment[] now = buffers[i & 1];
            call.start(now, now, null, completion);
        }
    }
}

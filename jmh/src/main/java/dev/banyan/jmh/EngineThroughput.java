package dev.banyan.jmh;

import dev.banyan.kvstore.internal.engine.DependencyEngine;
import dev.banyan.kvstore.internal.engine.Lane;
import dev.banyan.kvstore.internal.engine.Task;
import dev.banyan.kvstore.internal.engine.Variable;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
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
 * Measures the empty operations per second of the dependency engine: one thread pushes 100,000 operations, each of
 * which reads one of 100 variables and mutates another, and waits for all. The baseline gives as many empty tasks to a
 * thread pool of the JDK with a plain queue. The engine runs operations on such a pool, too, with a priority queue; so
 * the ratio shows what dependencies, priorities and the wait for all cost.
 *
 * <pre>java -jar jmh/target/benchmarks.jar EngineThroughput</pre>
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.Throughput)
@OutputTimeUnit(TimeUnit.SECONDS)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(3)
public class EngineThroughput {
    private static final int OPERATIONS = 100_000;
    private static final Task NOTHING = () -> {};

    /** The number of threads of the pool and of each lane of the engine. */
    @Param({"1", "2"})
    public int threads = 1;

    private @Nullable DependencyEngine engine;
    private @Nullable ExecutorService pool;
    private List<List<Variable>> variables = List.of();

    /** Starts the engine and the pool. */
    @Setup
    public void open() {
        DependencyEngine started = new DependencyEngine(threads);
        engine = started;
        variables = IntStream.range(0, 100)
                .mapToObj(i -> List.of(started.variable()))
                .toList();
        pool = Executors.newFixedThreadPool(threads);
    }

    /** Closes the engine and the pool. */
    @TearDown
    public void close() {
        Objects.requireNonNull(engine).close();
        Objects.requireNonNull(pool).close();
    }

    /** Runs operations of two variables. */
    @Benchmark
    @OperationsPerInvocation(OPERATIONS)
    public void engine() {
        DependencyEngine running = Objects.requireNonNull(engine);
        for (int i = 0; i < OPERATIONS; i++) {
            running.push(Lane.COMPUTE, NOTHING, variables.get(i * 7 % 100), variables.get(i % 100), 0);
        }
        running.waitAll();
    }

    /** Runs tasks without dependencies and waits for the last one, which ends last or nearly so. */
    @Benchmark
    @OperationsPerInvocation(OPERATIONS)
    public void threadPool() throws InterruptedException, ExecutionException {
        ExecutorService running = Objects.requireNonNull(pool);
        Future<?> last = running.submit(() -> {});
        for (int i = 1; i < OPERATIONS; i++) {
            last = running.submit(() -> {});
        }
        last.get();
    }
}

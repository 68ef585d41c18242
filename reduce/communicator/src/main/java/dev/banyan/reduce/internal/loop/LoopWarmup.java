package dev.banyan.reduce.internal.loop;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Runs new loops on memory of its own until the JIT has compiled them. Interpreted vectors are a thousand times slower
 * than compiled ones: a first call that ran them would take seconds.
 *
 * <p>Safe for use from any thread.
 */
public final class LoopWarmup implements LoopReadiness {
    /** One for all backends, as loops are. */
    public static final LoopWarmup SHARED = new LoopWarmup();

    private static final Logger LOG = LoggerFactory.getLogger(LoopWarmup.class);
    private static final int UNITS = 64;
    /** The JIT's optimized code takes 2 to 28 ns on an AMD EPYC, and what it compiles first takes 140 to 4000. */
    private static final long OPTIMIZED_NANOS_PER_UNIT = 100;
    /** Compiled floats take less, and interpreted ones more than ten times as long. */
    private static final long COMPILED_NANOS_PER_UNIT = 500;
    /** A loop that has been compiled for so long counts as warm: on this processor optimized code takes more. */
    private static final long LONGEST_COMPILED_NANOS = TimeUnit.SECONDS.toNanos(3);
    /** After this time a loop counts as warm: the JIT is off or will not compile it. */
    private static final long LONGEST_NANOS = TimeUnit.SECONDS.toNanos(20);

    /** Completes when a loop is warm, for each loop that somebody has asked for. */
    private final Map<FusedLoop, CompletableFuture<Void>> asked = new ConcurrentHashMap<>();

    /** It stays: one that ended as a loop comes would have to be replaced, which the system may refuse. */
    private final ExecutorService thread = Executors.newSingleThreadExecutor(
            task -> Thread.ofPlatform().daemon().name("banyan-loop-warmup").unstarted(task));

    private LoopWarmup() {}

    @Override
    public boolean isReady(FusedLoop loop) {
        CompletableFuture<Void> warm = asked.get(loop);
        return warm != null && warm.isDone();
    }

    @Override
    public void prepare(FusedLoop loop) {
        try {
            var _ = begin(loop);
        } catch (OutOfMemoryError e) {
            // The system has no further thread now. A later call asks again, and calls need no warm loop.
            LOG.debug("a loop is not warmed up", e);
        }
    }

    @Override
    public void await(FusedLoop loop) {
        var _ = begin(loop).join();
    }

    private CompletableFuture<Void> begin(FusedLoop loop) {
        return asked.computeIfAbsent(loop, asking -> CompletableFuture.runAsync(() -> warm(asking), thread));
    }

    private void warm(FusedLoop loop) {
        int bytes = UNITS * FusedLoop.UNIT;
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment zeros = operands(bytes, arena);
            long[] addresses = addresses(zeros);
            long begin = System.nanoTime();
            long compiledSince = begin;
            long end;
            long took;
            do {
                long before = System.nanoTime();
                loop.run(addresses, bytes, 2);
                end = System.nanoTime();
                took = end - before;
                if (took > UNITS * COMPILED_NANOS_PER_UNIT) {
                    compiledSince = end;
                }
            } while (took > UNITS * OPTIMIZED_NANOS_PER_UNIT
                    && end - compiledSince < LONGEST_COMPILED_NANOS
                    && end - begin < LONGEST_NANOS);
        }
    }

    private static MemorySegment operands(int bytes, Arena arena) {
        return arena.allocate(2L * FusedLoop.MOST_OPERANDS * FusedLoop.MOST_WIDENING * bytes, FusedLoop.UNIT);
    }

    private static long[] addresses(MemorySegment operands) {
        long[] addresses = FusedLoop.newAddresses();
        for (int o = 0; o < 2 * FusedLoop.MOST_OPERANDS; o++) {
            addresses[FusedLoop.MARGIN + o] =
                    operands.address() + o * operands.byteSize() / (2 * FusedLoop.MOST_OPERANDS);
        }
        return addresses;
    }
}

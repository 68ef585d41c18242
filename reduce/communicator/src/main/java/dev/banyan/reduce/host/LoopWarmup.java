package dev.banyan.reduce.host;

import java.lang.foreign.Arena;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/**
 * Runs new loops on memory of its own until the JIT has compiled them. Interpreted vectors are a thousand times slower
 * than compiled ones: a first call that ran them would take seconds.
 *
 * <p>Safe for use from any thread.
 */
final class LoopWarmup implements LoopReadiness {
    /** One for all backends, as loops are. */
    static final LoopWarmup SHARED = new LoopWarmup();

    private static final int UNITS = 64;
    /** Compiled code takes less than a tenth of it, and interpreted code more than ten times as long. */
    private static final long COMPILED_NANOS_PER_UNIT = 500;
    /** After this time a loop counts as warm: the JIT is off or will not compile it. */
    private static final long LONGEST_NANOS = TimeUnit.SECONDS.toNanos(20);

    /** What is done when a loop is warm, of the loops that somebody has asked for. */
    private final Map<FusedLoop, CompletableFuture<Void>> asked = new ConcurrentHashMap<>();

    private final ThreadPoolExecutor thread =
            new ThreadPoolExecutor(1, 1, 1, TimeUnit.SECONDS, new LinkedBlockingQueue<>(), task -> {
                Thread made = new Thread(task, "banyan-loop-warmup");
                made.setDaemon(true);
                return made;
            });

    private LoopWarmup() {
        thread.allowCoreThreadTimeOut(true);
    }

    @Override
    public boolean isReady(FusedLoop loop) {
        CompletableFuture<Void> warm = asked.get(loop);
        return warm != null && warm.isDone();
    }

    @Override
    public void prepare(FusedLoop loop) {
        var _ = asked.computeIfAbsent(loop, asking -> CompletableFuture.runAsync(() -> warm(asking), thread));
    }

    @Override
    public void await(FusedLoop loop) {
        prepare(loop);
        Objects.requireNonNull(asked.get(loop)).join();
    }

    private void warm(FusedLoop loop) {
        int bytes = UNITS * FusedLoop.UNIT;
        try (Arena arena = Arena.ofConfined()) {
            long[] zeros = operands(bytes, (byte) 0, arena);
            // As floats these are NaN, which a guarded loop stops at. Without them the JIT would leave that out.
            long[] ones = operands(bytes, (byte) -1, arena);
            HalfBlock block = new HalfBlock();
            long begin = System.nanoTime();
            long before = begin;
            long took;
            do {
                loop.run(zeros, bytes, 2, block);
                loop.run(ones, bytes, 2, block);
                long now = System.nanoTime();
                took = now - before;
                before = now;
            } while (took > 2 * UNITS * COMPILED_NANOS_PER_UNIT && before - begin < LONGEST_NANOS);
        }
    }

    private static long[] operands(int bytes, byte value, Arena arena) {
        long[] addresses = FusedLoop.newAddresses();
        for (int o = 0; o < 2 * FusedLoop.MOST_OPERANDS; o++) {
            addresses[FusedLoop.MARGIN + o] = arena.allocate((long) bytes * FusedLoop.MOST_WIDENING, FusedLoop.UNIT)
                    .fill(value)
                    .address();
        }
        return addresses;
    }
}

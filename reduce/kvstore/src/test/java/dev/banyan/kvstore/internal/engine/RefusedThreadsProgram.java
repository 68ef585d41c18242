package dev.banyan.kvstore.internal.engine;

import dev.banyan.test.RefusedThreads;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Pushes operations to engines while one start of a thread fails, or all from one on, and says how many ran and how
 * many were skipped.
 */
final class RefusedThreadsProgram {
    private static final int STARTS = 4;
    private static final int OPERATIONS = 6;

    private RefusedThreadsProgram() {}

    @SuppressWarnings("SystemOut")
    public static void main(String[] arguments) {
        RefusedThreads threads = RefusedThreads.inThisProcess();
        int failures = 0;
        for (int after = 0; after < STARTS; after++) {
            threads.refuseOne(after);
            failures += run();
            threads.refuseAll(after);
            failures += run();
            threads.refuseNone();
        }
        runBesideALivingThread(threads);
        System.out.println(failures > 0 && run() == 0 ? "all ended" : failures + " reports of failures");
    }

    /** No operation is skipped where the lane has a thread, although no other one starts. */
    private static void runBesideALivingThread(RefusedThreads threads) {
        try (DependencyEngine engine = new DependencyEngine(2)) {
            Variable first = engine.variable();
            engine.push(() -> {}, List.of(), List.of(first), 0);
            engine.waitAll();
            threads.refuseAll(0);
            for (int i = 0; i < OPERATIONS; i++) {
                engine.push(() -> {}, List.of(first), List.of(), 0);
            }
            engine.waitAll();
        } finally {
            threads.refuseNone();
        }
    }

    /** Returns 1 if the engine reports a failure, else 0. */
    private static int run() {
        AtomicInteger ran = new AtomicInteger();
        AtomicInteger skipped = new AtomicInteger();
        Task task = new Task() {
            @Override
            public void run() {
                ran.incrementAndGet();
            }

            @Override
            public void skipped(Throwable cause) {
                skipped.incrementAndGet();
            }
        };
        int failures = 0;
        try (DependencyEngine engine = new DependencyEngine(2)) {
            Variable first = engine.variable();
            Variable second = engine.variable();
            for (int i = 0; i < OPERATIONS; i++) {
                engine.push(task, List.of(first), List.of(i % 2 == 0 ? first : second), 0);
            }
            engine.waitAll();
        } catch (EngineException e) {
            failures = 1;
        }
        if (ran.get() + skipped.get() != OPERATIONS) {
            throw new AssertionError(ran + " operations ran and " + skipped + " were skipped");
        }
        return failures;
    }
}

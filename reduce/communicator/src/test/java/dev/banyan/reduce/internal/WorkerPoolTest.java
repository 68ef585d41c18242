package dev.banyan.reduce.internal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.banyan.reduce.backend.CollectiveTimeoutException;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

class WorkerPoolTest {
    private static WorkerPool pool(int helpers) {
        return new WorkerPool("test", helpers, 50_000, () -> {});
    }

    private static long in(long seconds) {
        return System.nanoTime() + TimeUnit.SECONDS.toNanos(seconds);
    }

    @Test
    void everyWorkerTakesPart() {
        try (WorkerPool pool = pool(3)) {
            for (int round = 0; round < 100; round++) {
                Set<Integer> seen = ConcurrentHashMap.newKeySet();
                CyclicBarrier all = new CyclicBarrier(4);
                pool.run(
                        participant -> {
                            seen.add(participant);
                            await(all);
                        },
                        3,
                        Long.MAX_VALUE,
                        in(900));
                assertThat(seen).containsExactlyInAnyOrder(0, 1, 2, 3);
            }
        }
    }

    @Test
    void eachWorkerRunsSomethingBeforeItsFirstTask() {
        Set<Thread> begun = ConcurrentHashMap.newKeySet();
        try (WorkerPool pool = new WorkerPool("test", 3, 50_000, () -> begun.add(Thread.currentThread()))) {
            assertThat(begun).isEmpty();
            Set<Thread> seen = ConcurrentHashMap.newKeySet();
            CyclicBarrier all = new CyclicBarrier(4);
            pool.run(
                    participant -> {
                        if (participant > 0) {
                            assertThat(begun).contains(Thread.currentThread());
                            seen.add(Thread.currentThread());
                        }
                        await(all);
                    },
                    3,
                    Long.MAX_VALUE,
                    in(900));
            assertThat(begun).hasSize(3).isEqualTo(seen);
        }
    }

    @Test
    void noMoreWorkersTakePartThanAreAskedFor() {
        try (WorkerPool pool = pool(3)) {
            for (int round = 0; round < 2_000; round++) {
                int helpers = round % 4;
                Set<Integer> seen = ConcurrentHashMap.newKeySet();
                pool.run(seen::add, helpers, Long.MAX_VALUE, in(900));
                assertThat(seen).contains(0).allMatch(participant -> participant <= helpers);
            }
        }
    }

    @Test
    void noWorkerIsInATaskThatHasEnded() {
        try (WorkerPool pool = pool(3)) {
            for (int round = 0; round < 5_000; round++) {
                AtomicInteger inside = new AtomicInteger();
                boolean[] ended = new boolean[1];
                pool.run(
                        participant -> {
                            inside.incrementAndGet();
                            assertThat(ended[0]).isFalse();
                            inside.decrementAndGet();
                        },
                        3,
                        Long.MAX_VALUE,
                        in(900));
                ended[0] = true;
                assertThat(inside).hasValue(0);
            }
        }
    }

    @Test
    void aWorkersExceptionSurfacesAtTheCaller() {
        try (WorkerPool pool = pool(1)) {
            CountDownLatch thrown = new CountDownLatch(1);
            assertThatThrownBy(() -> pool.run(
                            participant -> {
                                if (participant == 1) {
                                    thrown.countDown();
                                    throw new IllegalArgumentException("bad block");
                                }
                                await(thrown);
                            },
                            1,
                            Long.MAX_VALUE,
                            in(900)))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("bad block")
                    .hasCauseInstanceOf(IllegalArgumentException.class);
            AtomicInteger ran = new AtomicInteger();
            pool.run(participant -> ran.incrementAndGet(), 1, Long.MAX_VALUE, in(900));
            assertThat(ran.get()).isPositive();
        }
    }

    @Test
    void aStuckWorkerEndsInATimeout() {
        CountDownLatch entered = new CountDownLatch(1);
        CountDownLatch release = new CountDownLatch(1);
        try (WorkerPool pool = pool(1)) {
            assertThatThrownBy(() -> pool.run(
                            participant -> {
                                if (participant == 1) {
                                    entered.countDown();
                                    await(release);
                                } else {
                                    await(entered);
                                }
                            },
                            1,
                            Long.MAX_VALUE,
                            System.nanoTime() + 1))
                    .isInstanceOf(CollectiveTimeoutException.class)
                    .hasMessageContaining("worker");
            AtomicInteger alone = new AtomicInteger();
            pool.run(participant -> alone.incrementAndGet(), 1, Long.MAX_VALUE, in(900));
            assertThat(alone).hasValue(1);
        } finally {
            release.countDown();
        }
    }

    @Test
    void anInterruptOfTheCallerEndsNoWaitAndIsKept() {
        try (WorkerPool pool = pool(1)) {
            AtomicInteger ended = new AtomicInteger();
            CountDownLatch callerIsOut = new CountDownLatch(1);
            CyclicBarrier all = new CyclicBarrier(2);
            pool.run(
                    participant -> {
                        await(all);
                        if (participant == 0) {
                            Thread.currentThread().interrupt();
                            callerIsOut.countDown();
                        } else {
                            await(callerIsOut);
                            for (int spin = 0; spin < 1_000_000; spin++) {
                                Thread.onSpinWait();
                            }
                        }
                        ended.incrementAndGet();
                    },
                    1,
                    Long.MAX_VALUE,
                    in(900));
            assertThat(ended).hasValue(2);
            assertThat(Thread.interrupted()).isTrue();
        }
    }

    @Test
    void aBusyPoolLeavesTheCallerAlone() throws Exception {
        CountDownLatch busy = new CountDownLatch(1);
        CountDownLatch release = new CountDownLatch(1);
        try (WorkerPool pool = pool(1)) {
            Thread other = new Thread(() -> pool.run(
                    participant -> {
                        busy.countDown();
                        await(release);
                    },
                    1,
                    Long.MAX_VALUE,
                    in(900)));
            other.start();
            await(busy);
            AtomicInteger alone = new AtomicInteger();
            pool.run(participant -> alone.incrementAndGet(), 1, Long.MAX_VALUE, in(900));
            assertThat(alone).hasValue(1);
            release.countDown();
            other.join();
        }
    }

    private static void await(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    private static void await(CyclicBarrier barrier) {
        try {
            barrier.await();
        } catch (Exception e) {
            throw new AssertionError(e);
        }
    }
}

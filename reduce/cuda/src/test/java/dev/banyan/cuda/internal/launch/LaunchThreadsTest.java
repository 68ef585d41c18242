package dev.banyan.cuda.internal.launch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.banyan.cuda.EmulatedProcess;
import dev.banyan.cuda.FaultClock;
import dev.banyan.cuda.type.CudaException;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicIntegerArray;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class LaunchThreadsTest {
    private static final int DEVICES = 8;
    private static final long PATIENCE_NANOS = FaultClock.TIMEOUT.toNanos();

    /** The threads make themselves known to the driver. */
    @BeforeAll
    static void loadDriver() {
        EmulatedProcess.begin();
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 4, 8, 20})
    void everyRoundLaunchesOnceOnEachDevice(int threads) {
        AtomicIntegerArray launched = new AtomicIntegerArray(DEVICES);
        LaunchThreads launching = new LaunchThreads(threads, DEVICES, PATIENCE_NANOS, launched::incrementAndGet);
        for (int round = 1; round <= 5_000; round++) {
            launching.launchAll();
            for (int d = 0; d < DEVICES; d++) {
                assertThat(launched.get(d)).isEqualTo(round);
            }
        }
        launching.close();
    }

    @Test
    void oneThreadIsTheCallingOne() {
        Set<Thread> seen = ConcurrentHashMap.newKeySet();
        LaunchThreads launching = new LaunchThreads(1, DEVICES, PATIENCE_NANOS, _ -> seen.add(Thread.currentThread()));
        for (int round = 0; round < 1_000; round++) {
            launching.launchAll();
        }
        assertThat(seen).containsExactly(Thread.currentThread());
        launching.close();
    }

    /** Rounds go on until a helper has come awake and taken a device. */
    @Test
    void frequentRoundsWakeHelpers() {
        Set<Thread> seen = ConcurrentHashMap.newKeySet();
        LaunchThreads launching = new LaunchThreads(2, 2, PATIENCE_NANOS, _ -> {
            seen.add(Thread.currentThread());
            for (int i = 0; i < 1_000; i++) {
                Thread.onSpinWait();
            }
        });
        while (seen.size() < 2) {
            launching.launchAll();
        }
        launching.close();
    }

    @Test
    void aRoundReturnsWhenTheLastLaunchHasEnded() {
        AtomicInteger inside = new AtomicInteger();
        LaunchThreads launching = new LaunchThreads(4, DEVICES, PATIENCE_NANOS, _ -> {
            inside.incrementAndGet();
            Thread.onSpinWait();
            inside.decrementAndGet();
        });
        for (int round = 0; round < 5_000; round++) {
            launching.launchAll();
            assertThat(inside).hasValue(0);
        }
        launching.close();
    }

    /**
     * A helper begins in a round that wakes it, and takes part in that round if the round lasts. So the calling thread
     * keeps its first device until the helper that has begun is stuck in a launch, and only then begins to wait.
     */
    @Test
    void aLaunchThatDoesNotReturnInTimeIsAnError() {
        Thread caller = Thread.currentThread();
        Set<Thread> before = Thread.getAllStackTraces().keySet();
        CountDownLatch stuck = new CountDownLatch(1);
        CountDownLatch release = new CountDownLatch(1);
        LaunchThreads launching = new LaunchThreads(2, 2, 1, _ -> {
            if (!Thread.currentThread().equals(caller)) {
                stuck.countDown();
                await(release);
            } else if (hasBegunSince(before)) {
                await(stuck);
            }
        });
        assertThatThrownBy(() -> {
                    while (true) {
                        launching.launchAll();
                    }
                })
                .isInstanceOf(CudaException.class)
                .hasMessageContaining("did not return within 1 ms");
        assertThat(stuck.getCount()).isZero();
        assertThat(launching.isWorking()).isTrue();
        release.countDown();
        while (launching.isWorking()) {
            Thread.onSpinWait();
        }
        launching.close();
    }

    private static boolean hasBegunSince(Set<Thread> before) {
        return Thread.getAllStackTraces().keySet().stream()
                .anyMatch(thread -> thread.getName().startsWith("banyan-cuda-launch") && !before.contains(thread));
    }

    private static void await(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 3})
    void aFailureComesOutWhenAllOthersWereLaunched(int threads) {
        AtomicIntegerArray launched = new AtomicIntegerArray(DEVICES);
        AtomicInteger failing = new AtomicInteger(5);
        LaunchThreads launching = new LaunchThreads(threads, DEVICES, PATIENCE_NANOS, d -> {
            launched.incrementAndGet(d);
            if (d == failing.get()) {
                throw new IllegalStateException("device " + d);
            }
        });
        assertThatThrownBy(launching::launchAll).hasMessage("device 5");
        failing.set(-1);
        launching.launchAll();
        for (int d = 0; d < DEVICES; d++) {
            assertThat(launched.get(d)).isEqualTo(2);
        }
        launching.close();
    }
}

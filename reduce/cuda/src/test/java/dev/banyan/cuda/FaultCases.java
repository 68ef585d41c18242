package dev.banyan.cuda;

import static org.assertj.core.api.Assertions.assertThat;

import dev.banyan.schedule.plan.AlgorithmChoice;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletionException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.IntConsumer;
import org.jspecify.annotations.Nullable;

/**
 * Runs cases in which a call meets a fault. Such a call must end a second after its deadline at most. A busy machine
 * may have no time for that, or for a call without a fault: the case then begins anew with a longer deadline.
 *
 * <p>A case runs on a thread of its own; no two run at once.
 */
final class FaultCases {
    /** A longer deadline is not tried. */
    static final Duration PATIENCE = Duration.ofSeconds(30);
    /** What faults are tried with. */
    static final List<AlgorithmChoice> ALGORITHMS = List.of(
            AlgorithmChoice.RING, AlgorithmChoice.STAR, AlgorithmChoice.SINGLE_TREE, AlgorithmChoice.MULTI_TREE);

    private static final long NAP_NANOS = 10_000_000;

    private final Duration shortest;
    private volatile Duration deadline;
    private volatile boolean tooShort;

    /** @param shortest the deadline with which each case begins */
    FaultCases(Duration shortest) {
        this.shortest = shortest;
        deadline = shortest;
    }

    /** Returns the deadline of the current case. */
    Duration deadline() {
        return deadline;
    }

    /**
     * Runs a case, anew with a longer deadline as long as the deadline was too short.
     *
     * @param fault describes the case
     * @param check runs the case
     * @param end cleans up after each time
     */
    void check(Object fault, Runnable check, Runnable end) {
        deadline = shortest;
        do {
            tooShort = false;
            try {
                EmulatedGpus.within(PATIENCE.multipliedBy(2), check);
            } catch (AssertionError e) {
                throw new AssertionError(fault.toString(), e);
            }
            end.run();
            deadline = deadline.multipliedBy(4);
        } while (tooShort);
    }

    /** Notes that the deadline was too short; returns false if the case must not begin anew with a longer one. */
    boolean noteTooShort() {
        tooShort = deadline.compareTo(PATIENCE) < 0;
        return tooShort;
    }

    /**
     * Runs a call, and returns its exception, or null. Time is counted in naps of 10 ms, so that it passes no faster
     * than for the threads that must keep the deadline.
     *
     * @param isTimed whether the call must end a second after the deadline at most
     * @param ticker runs on another thread with the number of naps since the call began: 0, 1, 2, ...
     */
    @Nullable
    Throwable run(Runnable call, boolean isTimed, IntConsumer ticker) {
        AtomicInteger naps = new AtomicInteger();
        Thread ticking = Thread.ofPlatform().daemon().start(() -> {
            ticker.accept(0);
            while (!Thread.currentThread().isInterrupted()) {
                LockSupport.parkNanos(NAP_NANOS);
                ticker.accept(naps.incrementAndGet());
            }
        });
        try {
            call.run();
            return null;
        } catch (CompletionException e) {
            return e.getCause();
        } catch (RuntimeException e) {
            return e;
        } finally {
            ticking.interrupt();
            if (isTimed && naps.get() * NAP_NANOS >= deadline.plusSeconds(1).toNanos()) {
                assertThat(noteTooShort())
                        .as("a call that ends a second after a deadline of %s at most", deadline)
                        .isTrue();
            }
        }
    }
}

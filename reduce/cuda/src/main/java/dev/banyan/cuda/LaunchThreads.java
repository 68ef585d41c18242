package dev.banyan.cuda;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.IntConsumer;
import java.util.stream.IntStream;

/**
 * Daemon threads that launch beside the calling one: the launch on one device takes microseconds of the host, so that
 * one thread delays the last of eight devices by the launches on seven others.
 *
 * <p>The calling thread and each helper that is awake take the next device until none is left. A helper stays awake for
 * {@link #AWAKE_NANOS} after the last round, and is woken behind the second of two rounds that are not farther apart: a
 * round never waits for a thread to wake up, and single rounds wake no thread. A round allocates nothing.
 *
 * <p>Used by one thread at a time.
 */
final class LaunchThreads {
    /** As long as some small collectives take. */
    private static final long AWAKE_NANOS = 200_000;
    /** Bits of a ticket that count devices; the others count rounds. */
    private static final int DEVICE_BITS = 16;

    private static final long DEVICES = (1L << DEVICE_BITS) - 1;
    /** Spins between two looks at the clock. */
    private static final int SPINS = 64;
    /** A thread that launches may have lost its core. */
    private static final int SPINS_PER_NAP = 1_000;

    private static final long NAP_NANOS = 1_000;

    private static final VarHandle TICKET;

    static {
        try {
            TICKET = MethodHandles.lookup().findVarHandle(LaunchThreads.class, "ticket", long.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    private final int devices;
    private final int mostHelpers;
    /** Started when they are first woken. */
    private List<Helper> helpers = List.of();

    private final IntConsumer launch;
    private final AtomicInteger done = new AtomicInteger();
    private final Throwable[] failures;
    /** The round and the next device; devices that have been taken are below. */
    @SuppressWarnings("UnusedVariable") // through TICKET
    private long ticket;

    private volatile boolean closed;
    private long lastRound;

    /**
     * @param threads that launch, the calling one among them; at least 1
     * @param devices number of devices
     * @param launch launches on a device, 0..devices-1; called by any of the threads, for one device at a time
     */
    LaunchThreads(int threads, int devices, IntConsumer launch) {
        this.devices = devices;
        this.launch = launch;
        failures = new Throwable[devices];
        mostHelpers = Math.min(threads, devices) - 1;
        ticket = devices;
        lastRound = System.nanoTime() - 2 * AWAKE_NANOS;
    }

    /** Returns how many threads launch on some devices if nothing else is said: no more than a quarter of the cores. */
    static int fitting(int devices) {
        return Math.clamp(Runtime.getRuntime().availableProcessors() / 4, 1, devices);
    }

    /**
     * Launches on all devices, and returns when that is done.
     *
     * @throws RuntimeException what a launch has thrown, of the first device that did, as errors are too; all others
     *     were launched
     */
    void launchAll() {
        done.setPlain(0);
        long round = ((long) TICKET.get(this) | DEVICES) + 1;
        TICKET.setRelease(this, round);
        takeAll(round);
        for (int spins = 1; done.getAcquire() < devices; spins++) {
            if (spins % SPINS_PER_NAP == 0) {
                LockSupport.parkNanos(NAP_NANOS);
            }
            Thread.onSpinWait();
        }
        throwFirstFailure();
        wakeHelpers();
    }

    @SuppressWarnings("NullAway") // an array of what may be null
    private void throwFirstFailure() {
        for (int d = 0; d < devices; d++) {
            Throwable failure = failures[d];
            if (failure != null) {
                Arrays.fill(failures, null);
                switch (failure) {
                    case RuntimeException e -> throw e;
                    case Error e -> throw e;
                    default -> throw new IllegalStateException(failure);
                }
            }
        }
    }

    private void wakeHelpers() {
        if (mostHelpers < 1) {
            return;
        }
        long now = System.nanoTime();
        boolean often = now - lastRound < AWAKE_NANOS;
        lastRound = now;
        if (often) {
            if (helpers.isEmpty()) {
                helpers = IntStream.range(0, mostHelpers)
                        .mapToObj(_ -> new Helper())
                        .toList();
            }
            for (Helper helper : helpers) {
                helper.wake();
            }
        }
    }

    /** Launches on devices of a round until another thread has taken the last one. */
    private void takeAll(long round) {
        long seen = (long) TICKET.getAcquire(this);
        while ((seen & ~DEVICES) == round && (seen & DEVICES) < devices) {
            if (TICKET.compareAndSet(this, seen, seen + 1)) {
                launchOn((int) (seen & DEVICES));
            }
            seen = (long) TICKET.getAcquire(this);
        }
    }

    private void launchOn(int d) {
        try {
            launch.accept(d);
        } catch (Throwable e) {
            failures[d] = e;
        } finally {
            done.getAndAdd(1);
        }
    }

    /** Ends the helpers. */
    void close() {
        closed = true;
        helpers.forEach(Helper::wake);
    }

    /** A thread that launches. */
    private final class Helper {
        private volatile boolean asleep;
        private final Thread thread =
                Thread.ofPlatform().daemon().name("banyan-cuda-launch").start(this::run);

        void wake() {
            if (asleep) {
                asleep = false;
                LockSupport.unpark(thread);
            }
        }

        private void run() {
            CaptureMode.relax();
            long lastSeen = (long) TICKET.getAcquire(LaunchThreads.this) & ~DEVICES;
            long since = System.nanoTime();
            while (!closed) {
                for (int i = 0; i < SPINS; i++) {
                    long seen = (long) TICKET.getAcquire(LaunchThreads.this) & ~DEVICES;
                    if (seen != lastSeen) {
                        lastSeen = seen;
                        takeAll(seen);
                        since = System.nanoTime();
                    }
                    Thread.onSpinWait();
                }
                if (System.nanoTime() - since >= AWAKE_NANOS) {
                    sleep();
                    since = System.nanoTime();
                }
            }
        }

        private void sleep() {
            asleep = true;
            while (asleep && !closed) {
                LockSupport.park(LaunchThreads.this);
            }
        }
    }
}

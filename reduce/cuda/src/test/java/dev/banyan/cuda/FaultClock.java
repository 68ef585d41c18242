package dev.banyan.cuda;

import dev.banyan.cuda.emulator.CudaEmulator;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The clock of a backend in a test. It stands still, so that nothing sound is late on a busy machine, until work hangs
 * on an emulated device: each look at it lets time pass then.
 */
public final class FaultClock implements LongSupplier {
    /** A timeout that nothing reaches by the clock of the machine. */
    public static final Duration TIMEOUT = Duration.ofDays(30);
    /** The clock of what has nothing to wait for but sound work. */
    static final LongSupplier STOPPED = () -> 0;

    private final CudaEmulator emulator;
    private @Nullable Runnable first;
    private final AtomicLong nanos = new AtomicLong();
    private volatile long step = TIMEOUT.toNanos();

    /** A timeout passes between two looks. */
    public FaultClock(CudaEmulator emulator) {
        this(emulator, null);
    }

    /**
     * A timeout passes between two looks.
     *
     * @param first runs once before time passes; no look of another thread lets time pass earlier
     */
    FaultClock(CudaEmulator emulator, @Nullable Runnable first) {
        this.emulator = emulator;
        this.first = first;
    }

    /** Sets the time that passes between two looks. */
    public void goBy(Duration time) {
        step = time.toNanos();
    }

    @Override
    public long getAsLong() {
        if (emulator.count("hung") == 0) {
            return nanos.get();
        }
        runFirst();
        return nanos.addAndGet(step);
    }

    private synchronized void runFirst() {
        Runnable running = first;
        first = null;
        if (running != null) {
            running.run();
        }
    }
}

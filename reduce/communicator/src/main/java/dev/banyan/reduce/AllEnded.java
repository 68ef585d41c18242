package dev.banyan.reduce;

import dev.banyan.reduce.backend.Completion;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** Starts parts one after another until one fails, and ends the whole when nothing of them runs any more. */
final class AllEnded implements Completion {
    private final Completion whole;
    /** The parts that have begun and not ended, and one for what starts them. */
    private final AtomicInteger running = new AtomicInteger(1);

    private final AtomicReference<@Nullable Throwable> first = new AtomicReference<>();

    AllEnded(Completion whole) {
        this.whole = whole;
    }

    /** Starts a part unless one has failed. When all are started, {@link #ended} with null follows once. */
    void begin(Consumer<Completion> part) {
        if (first.get() != null) {
            return;
        }
        running.incrementAndGet();
        try {
            part.accept(this);
        } catch (Throwable e) {
            // Those that have started may still run.
            ended(e);
        }
    }

    @Override
    public void ended(@Nullable Throwable failure) {
        first.compareAndSet(null, failure);
        if (running.decrementAndGet() == 0) {
            whole.ended(first.get());
        }
    }
}

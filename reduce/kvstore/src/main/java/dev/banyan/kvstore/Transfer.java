package dev.banyan.kvstore;

import dev.banyan.kvstore.StoreListener.Stage;
import dev.banyan.kvstore.engine.Completion;
import dev.banyan.kvstore.engine.DeferredTask;
import dev.banyan.reduce.CollectiveCall;
import dev.banyan.schedule.plan.AlgorithmHint;
import java.util.Comparator;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** The stage of an operation that is a collective. It waits for its turn in the {@link Sender}. */
final class Transfer implements DeferredTask {
    /** The order of turns: the greatest priority first, then the oldest. */
    static final Comparator<Transfer> ORDER = Comparator.comparingInt((Transfer transfer) -> transfer.priority)
            .reversed()
            .thenComparingLong(transfer -> transfer.progress.operation().id());

    private final Sender sender;
    private final Progress progress;
    private final Stage stage;
    private final boolean last;
    private final int priority;
    final CollectiveCall call;
    final AlgorithmHint way;
    private @Nullable Completion completion;

    /**
     * @param last whether the operation has ended with this stage
     * @param priority greater ones go first
     */
    Transfer(
            Sender sender,
            Progress progress,
            Stage stage,
            boolean last,
            int priority,
            CollectiveCall call,
            AlgorithmHint way) {
        this.sender = sender;
        this.progress = progress;
        this.stage = stage;
        this.last = last;
        this.priority = priority;
        this.call = call;
        this.way = way;
    }

    /** Returns the length of one device's array in bytes. */
    long bytes() {
        return call.count() * call.type().bytes();
    }

    /** Returns whether both can share one collective. */
    boolean goesWith(Transfer other) {
        return call.collective() == other.call.collective()
                && call.root() == other.call.root()
                && call.type() == other.call.type();
    }

    @Override
    public void start(Completion toTell) {
        if (progress.hasFailed()) {
            toTell.done();
            return;
        }
        completion = toTell;
        sender.add(this);
    }

    @Override
    public void skipped(Throwable cause) {
        progress.fail(cause);
    }

    void begin() {
        progress.begin(stage);
    }

    void succeed() {
        progress.end(stage);
        // The operation ends before the key is free for others.
        if (last) {
            progress.complete();
        }
        Objects.requireNonNull(completion).done();
    }

    void fail(Throwable cause) {
        KVStoreException failure = progress.failure(cause);
        progress.fail(failure);
        Objects.requireNonNull(completion).failed(failure);
    }
}

package dev.banyan.kvstore;

import dev.banyan.kvstore.StoreListener.Stage;
import dev.banyan.kvstore.internal.engine.Completion;
import dev.banyan.kvstore.internal.engine.DeferredTask;
import dev.banyan.reduce.CollectiveCall;
import dev.banyan.reduce.optimizer.Optimizer;
import java.lang.foreign.MemorySegment;
import java.util.Comparator;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The stages of an operation that the devices run without the host: a collective, or on devices with memory of their
 * own also an update and the collectives around it. It waits for its turn in the {@link Sender}.
 */
final class Transfer implements DeferredTask {
    /** The work of a stage. */
    sealed interface Part {
        Stage stage();
    }

    /** A collective. */
    record Sending(Stage stage, CollectiveCall call) implements Part {}

    /** An update of the key's value. */
    record Updating(Optimizer optimizer, MemorySegment gradient) implements Part {
        @Override
        public Stage stage() {
            return Stage.UPDATE;
        }
    }

    /** The order of turns: the greatest priority first, then the oldest. */
    static final Comparator<Transfer> ORDER = Comparator.comparingInt((Transfer transfer) -> transfer.priority)
            .reversed()
            .thenComparingLong(transfer -> transfer.progress.operation().id());

    private final Sender sender;
    private final Progress progress;
    private final boolean last;
    private final int priority;
    private final Entry entry;
    private final List<Part> parts;
    private @Nullable Completion completion;

    /**
     * @param last whether the operation has ended with these stages
     * @param priority greater ones go first
     * @param parts the stages in their order; at most one update
     */
    Transfer(Sender sender, Progress progress, boolean last, int priority, Entry entry, List<Part> parts) {
        this.sender = sender;
        this.progress = progress;
        this.last = last;
        this.priority = priority;
        this.entry = entry;
        this.parts = parts;
    }

    /** Returns the length of one device's array in bytes. */
    long bytes() {
        return entry.info.bytes();
    }

    /** Returns the collective of a transfer that is nothing else. */
    CollectiveCall only() {
        return switch (parts.getFirst()) {
            case Sending sending when parts.size() == 1 -> sending.call().by(entry.way);
            default -> throw new IllegalStateException("a transfer of " + parts.size() + " parts");
        };
    }

    /** Returns whether both, each one collective, can share one. */
    boolean goesWith(Transfer other) {
        CollectiveCall mine = only();
        CollectiveCall others = other.only();
        return mine.collective() == others.collective() && mine.root() == others.root() && mine.type() == others.type();
    }

    /** Adds the parts to a batch. */
    void addTo(Batch batch) {
        boolean updated = false;
        for (Part part : parts) {
            switch (part) {
                case Sending(Stage _, CollectiveCall call) ->
                    (updated ? batch.results() : batch.sums()).add(call.by(entry.way));
                case Updating(Optimizer optimizer, MemorySegment gradient) -> {
                    batch.updates().add(entry.update(optimizer, gradient));
                    updated = true;
                }
            }
        }
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
        progress.begin(parts.getFirst().stage());
    }

    void succeed() {
        for (int p = 0; p < parts.size(); p++) {
            if (p > 0) {
                progress.begin(parts.get(p).stage());
            }
            if (parts.get(p) instanceof Updating) {
                entry.updates++;
            }
            progress.end(parts.get(p).stage());
        }
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

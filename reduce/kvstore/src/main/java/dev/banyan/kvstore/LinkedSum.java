package dev.banyan.kvstore;

import dev.banyan.kvstore.StoreListener.Stage;
import dev.banyan.kvstore.engine.Completion;
import dev.banyan.kvstore.engine.DeferredTask;
import dev.banyan.kvstore.engine.Variable;
import dev.banyan.reduce.internal.Completions;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;

/**
 * The stage of an operation in which its array becomes the sum over all processes; a {@link StoreLink} carries it
 * out.
 */
public final class LinkedSum {
    private final Progress progress;
    private final Entry entry;
    private final MemorySegment array;
    private final boolean last;
    private volatile boolean begun;

    /** @param last whether the operation has ended with this stage */
    LinkedSum(Progress progress, Entry entry, MemorySegment array, boolean last) {
        this.progress = progress;
        this.entry = entry;
        this.array = array;
        this.last = last;
    }

    /** Whose array it is. */
    public KeyInfo key() {
        return entry.info;
    }

    /**
     * The array, memory of the communicator's device {@link KeyInfo#server()}: this process's sum, then that of
     * all.
     */
    public MemorySegment array() {
        return array;
    }

    /** What its operations mutate, so that those of the key go one after another. */
    public Variable variable() {
        return entry.variable;
    }

    /**
     * What does it.
     *
     * @param work begins it; the future completes when the array is the sum
     * @param skipped is called instead if something before it failed
     */
    public DeferredTask task(Supplier<CompletableFuture<Void>> work, Runnable skipped) {
        return new Linked(work, skipped, Part.END);
    }

    /** A part of it, of several that follow each other: {@link #task} is the last one. */
    public DeferredTask part(Supplier<CompletableFuture<Void>> work) {
        return new Linked(work, () -> {}, Part.PART);
    }

    /** What comes before it, and keeps it from being done if it fails. */
    public DeferredTask before(Supplier<CompletableFuture<Void>> work) {
        return new Linked(work, () -> {}, Part.BEFORE);
    }

    /** Leaves something to the caller of the store, who does it before the call returns, without the store's lock. */
    public void leaveToCaller(Runnable part) {
        progress.leaveToCaller(part);
    }

    /** Where in the stage a task is. */
    private enum Part {
        BEFORE,
        PART,
        END
    }

    private final class Linked implements DeferredTask {
        private final Supplier<CompletableFuture<Void>> work;
        private final Runnable skipped;
        private final Part part;

        Linked(Supplier<CompletableFuture<Void>> work, Runnable skipped, Part part) {
            this.work = work;
            this.skipped = skipped;
            this.part = part;
        }

        @Override
        public void start(Completion completion) {
            if (progress.hasFailed()) {
                skipped.run();
                completion.done();
                return;
            }
            if (part != Part.BEFORE && !begun) {
                begun = true;
                progress.begin(Stage.LINK);
            }
            CompletableFuture<Void> underWay;
            try {
                underWay = work.get();
            } catch (RuntimeException | Error e) {
                underWay = CompletableFuture.failedFuture(e);
            }
            var _ = underWay.whenComplete((done, failure) -> {
                if (failure != null) {
                    KVStoreException told = progress.failure(Completions.cause(failure));
                    progress.fail(told);
                    completion.failed(told);
                    return;
                }
                if (part == Part.END) {
                    progress.end(Stage.LINK);
                    if (last) {
                        progress.complete();
                    }
                }
                completion.done();
            });
        }

        @Override
        public void skipped(Throwable cause) {
            skipped.run();
            progress.fail(cause);
        }
    }
}

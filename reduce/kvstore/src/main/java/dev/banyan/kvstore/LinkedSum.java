package dev.banyan.kvstore;

import dev.banyan.kvstore.StoreListener.Stage;
import dev.banyan.kvstore.internal.engine.Completion;
import dev.banyan.kvstore.internal.engine.DeferredTask;
import dev.banyan.kvstore.internal.engine.Variable;
import dev.banyan.reduce.internal.Completions;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;

/** The stage of an operation in which its array becomes the sum over all processes; a {@link StoreLink} runs it. */
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

    /** Returns the key of the array. */
    public KeyInfo key() {
        return entry.info;
    }

    /**
     * Returns the array in memory of the communicator's device {@link KeyInfo#server()}. It holds this process's sum at
     * the start and the sum of all processes at the end.
     */
    public MemorySegment array() {
        return array;
    }

    /** Returns the variable that its operations mutate, so that those of the key run one after another. */
    public Variable variable() {
        return entry.variable;
    }

    /**
     * Returns the task that computes the sum.
     *
     * @param work begins it; the future completes when the array is the sum
     * @param skipped is called instead if something before it failed
     */
    public DeferredTask task(Supplier<CompletableFuture<Void>> work, Runnable skipped) {
        return new Linked(work, skipped, Part.END);
    }

    /** Returns a task that is one of several parts; {@link #task} is the last one. */
    public DeferredTask part(Supplier<CompletableFuture<Void>> work) {
        return new Linked(work, () -> {}, Part.PART);
    }

    /** Returns a task that runs before the sum; if it fails, the sum is skipped. */
    public DeferredTask before(Supplier<CompletableFuture<Void>> work) {
        return new Linked(work, () -> {}, Part.BEFORE);
    }

    /** Sets the work that the caller's thread does before its call of the store returns, without the store's lock. */
    public void leaveToCaller(Runnable part) {
        progress.leaveToCaller(part);
    }

    /** The position of a task in the stage. */
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
                    KVStoreException reported = progress.failure(Completions.cause(failure));
                    progress.fail(reported);
                    completion.failed(reported);
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

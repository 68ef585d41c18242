package dev.banyan.cuda;

import dev.banyan.reduce.backend.Backend;
import dev.banyan.reduce.backend.Executable;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** Calls that one thread starts together. Guarded by the lock of the queue, but for {@link #close}. */
final class CudaGroup implements Backend.Group {
    private final LaunchQueue queue;
    private final ProgramBatch batch = new ProgramBatch();
    private CompletableFuture<Void> future = new CompletableFuture<>();
    private @Nullable CudaStreams streams;

    CudaGroup(LaunchQueue queue) {
        this.queue = queue;
    }

    /** Adds a call, or returns false if what was gathered must be launched first. */
    boolean add(ProgramBatch.Member member, @Nullable CudaStreams callers) {
        if (callers != null && streams != null && !callers.equals(streams)) {
            return false;
        }
        boolean added = batch.add(member);
        if (added && callers != null) {
            streams = callers;
        }
        return added;
    }

    /** Whether a call of an executable waits to be launched. */
    boolean holds(Executable executable) {
        return batch.holds(executable);
    }

    boolean isEmpty() {
        return batch.isEmpty();
    }

    /** Completes when the calls that are gathered now have ended. */
    CompletableFuture<Void> future() {
        return future;
    }

    /** Returns the caller's streams that the gathered calls have a place in, or null. */
    @Nullable
    CudaStreams streams() {
        return streams;
    }

    /** Returns the gathered calls, and begins anew. */
    List<ProgramBatch.Member> take() {
        future = new CompletableFuture<>();
        streams = null;
        return batch.take();
    }

    @Override
    public void close() {
        queue.end(this);
    }
}

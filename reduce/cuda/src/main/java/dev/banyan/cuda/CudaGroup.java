package dev.banyan.cuda;

import dev.banyan.reduce.backend.Backend;
import dev.banyan.reduce.backend.Completion;
import dev.banyan.reduce.backend.Executable;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Calls that one thread starts together. Guarded by the lock of the queue, but for {@link #close}. */
final class CudaGroup implements Backend.Group {
    private final LaunchQueue queue;
    private final ProgramBatch batch = new ProgramBatch();
    private List<Completion> completions = new ArrayList<>();
    private @Nullable CudaStreams streams;

    CudaGroup(LaunchQueue queue) {
        this.queue = queue;
    }

    /** Adds a call, or returns false if what was gathered must be launched first. */
    boolean add(ProgramBatch.Member member, @Nullable CudaStreams callers, Completion completion) {
        if (callers != null && streams != null && !callers.equals(streams)) {
            return false;
        }
        if (!batch.add(member)) {
            return false;
        }
        completions.add(completion);
        if (callers != null) {
            streams = callers;
        }
        return true;
    }

    /** Returns whether a call of an executable waits to be launched. */
    boolean holds(Executable executable) {
        return batch.holds(executable);
    }

    boolean isEmpty() {
        return batch.isEmpty();
    }

    /** Returns what is to learn of the end of the calls that are gathered now. */
    Completion completion() {
        List<Completion> all = completions;
        return failure -> all.forEach(one -> one.ended(failure));
    }

    /** Returns the caller's streams that the gathered calls have a place in, or null. */
    @Nullable
    CudaStreams streams() {
        return streams;
    }

    /** Returns the gathered calls, and begins anew. */
    List<ProgramBatch.Member> take() {
        completions = new ArrayList<>();
        streams = null;
        return batch.take();
    }

    @Override
    public void close() {
        queue.end(this);
    }
}

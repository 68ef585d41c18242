package dev.banyan.cuda;

import dev.banyan.reduce.backend.CallerStreams;
import dev.banyan.reduce.backend.Completion;
import dev.banyan.reduce.backend.Executable;
import dev.banyan.reduce.internal.BackendArguments;
import dev.banyan.reduce.internal.Completions;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import org.jspecify.annotations.Nullable;

/** A device program on its backend. */
final class ProgramExecutable implements Executable {
    /** As many tensors of a network have one shape, or a few more. */
    private static final int MOST_KNOWN = 64;

    private final LaunchQueue queue;
    private final ProgramPlan plan;
    private final long timeoutMillis;
    private volatile long lastNanos;
    private volatile boolean aborted;
    private final int ranks;
    /** Calls with the buffers that were checked last: a training step uses the same buffers again and again. */
    private final List<ProgramBatch.Member> known = new ArrayList<>();

    private int nextToForget;
    /** How often memory had been freed when the known buffers were checked. */
    private long frees;

    ProgramExecutable(LaunchQueue queue, ProgramPlan plan, int ranks, long timeoutMillis) {
        this.queue = queue;
        this.plan = plan;
        this.timeoutMillis = timeoutMillis;
        this.ranks = ranks;
    }

    @Override
    public void run(MemorySegment[] inputs, MemorySegment[] outputs) {
        CompletableFuture<Void> run = new CompletableFuture<>();
        start(inputs, outputs, null, Completion.of(run));
        poll(run);
        Completions.join(run);
    }

    @Override
    public void start(
            MemorySegment[] inputs, MemorySegment[] outputs, @Nullable CallerStreams streams, Completion completion) {
        BackendArguments.checkBuffers(inputs, outputs, ranks);
        if (plan.program().lanes().isEmpty() && streams == null) {
            completion.ended(null);
        } else {
            queue.start(this, inputs, outputs, streams, completion);
        }
    }

    @Override
    public void poll(Future<?> ended) {
        queue.poll(ended);
    }

    @Override
    public void abort() {
        aborted = true;
        queue.stop(this);
    }

    @Override
    public void close() {
        queue.release(this);
    }

    ProgramPlan plan() {
        return plan;
    }

    boolean isAborted() {
        return aborted;
    }

    long timeoutMillis() {
        return timeoutMillis;
    }

    /** Notes how long a run took, in ns. */
    void took(long nanos) {
        lastNanos = nanos;
    }

    /** Returns how long the last run took, in ns; 0 before the first one's end. */
    long lastNanos() {
        return lastNanos;
    }

    /**
     * Returns a call with some buffers, in turn with other starts of the backend. Allocates nothing where the call is
     * one of the last {@value #MOST_KNOWN} ones.
     *
     * @throws IllegalArgumentException if a buffer is no memory of its rank's device, or ends too early
     */
    ProgramBatch.Member call(BufferAccess access, MemorySegment[] in, MemorySegment[] out) {
        if (frees != access.frees()) {
            frees = access.frees();
            known.clear();
            nextToForget = 0;
        }
        for (int k = 0; k < known.size(); k++) {
            ProgramBatch.Member call = known.get(k);
            if (isOf(call.inputs(), in) && isOf(call.outputs(), out)) {
                return call;
            }
        }
        ProgramBatch.Member call = new ProgramBatch.Member(this, addresses(in), addresses(out));
        plan.uses().forEach((use, bytes) -> access.check(use, bytes, call.inputs(), call.outputs()));
        if (known.size() < MOST_KNOWN) {
            known.add(call);
        } else {
            known.set(nextToForget, call);
            nextToForget = (nextToForget + 1) % MOST_KNOWN;
        }
        return call;
    }

    private static boolean isOf(long[] addresses, MemorySegment[] buffers) {
        for (int rank = 0; rank < addresses.length; rank++) {
            if (addresses[rank] != buffers[rank].address()) {
                return false;
            }
        }
        return true;
    }

    private static long[] addresses(MemorySegment[] buffers) {
        long[] addresses = new long[buffers.length];
        for (int rank = 0; rank < addresses.length; rank++) {
            addresses[rank] = buffers[rank].address();
        }
        return addresses;
    }
}

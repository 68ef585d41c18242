package dev.banyan.cuda;

import dev.banyan.reduce.backend.CallerStreams;
import dev.banyan.reduce.backend.Executable;
import dev.banyan.reduce.internal.BackendArguments;
import dev.banyan.reduce.internal.Completions;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import org.jspecify.annotations.Nullable;

/** A device program on its backend. */
final class ProgramExecutable implements Executable {
    private final LaunchQueue queue;
    private final ProgramPlan plan;
    private final long timeoutMillis;
    private volatile long lastNanos;
    private volatile boolean aborted;
    /** Of the last run: a training step uses the same buffers again and again. */
    private long[] inputs;

    private long[] outputs;
    private boolean checked;

    ProgramExecutable(LaunchQueue queue, ProgramPlan plan, int ranks, long timeoutMillis) {
        this.queue = queue;
        this.plan = plan;
        this.timeoutMillis = timeoutMillis;
        inputs = new long[ranks];
        outputs = new long[ranks];
    }

    @Override
    public void run(MemorySegment[] inputs, MemorySegment[] outputs) {
        CompletableFuture<Void> run = start(inputs, outputs, null);
        if (run != null) {
            poll(run);
            Completions.join(run);
        }
    }

    @Override
    public @Nullable CompletableFuture<Void> start(
            MemorySegment[] inputs, MemorySegment[] outputs, @Nullable CallerStreams streams) {
        BackendArguments.checkBuffers(inputs, outputs, this.inputs.length);
        return plan.loops().isEmpty() && streams == null ? null : queue.start(this, inputs, outputs, streams);
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
     * Takes the buffers of the next run, in turn with other starts of the backend.
     *
     * @throws IllegalArgumentException if a buffer is no memory of its rank's device, or ends too early
     */
    void check(BufferAccess access, MemorySegment[] in, MemorySegment[] out) {
        if (!checked || !isOf(inputs, in) || !isOf(outputs, out)) {
            checked = false;
            inputs = addresses(in);
            outputs = addresses(out);
            plan.uses().forEach((use, bytes) -> access.check(use, bytes, inputs, outputs));
            checked = true;
        }
    }

    /** Returns a call with the buffers that were last checked. */
    ProgramBatch.Member member() {
        return new ProgramBatch.Member(this, inputs, outputs);
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

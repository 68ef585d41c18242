package dev.banyan.cuda.internal.launch;

import dev.banyan.cuda.type.CudaException;
import dev.banyan.reduce.backend.CallerStreams;
import dev.banyan.reduce.backend.Completion;
import dev.banyan.reduce.backend.Executable;
import dev.banyan.reduce.internal.BackendArguments;
import dev.banyan.reduce.internal.Completions;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import org.jspecify.annotations.Nullable;

/** An executable that runs by its turn in the launch queue of its backend. */
public abstract class QueuedExecutable implements Executable {
    private final LaunchQueue queue;
    private final int ranks;
    private final boolean isEmpty;

    /**
     * @param ranks the number of buffers of a run, each way
     * @param isEmpty whether there is nothing to do, so that a run ends where it starts
     */
    public QueuedExecutable(LaunchQueue queue, int ranks, boolean isEmpty) {
        this.queue = queue;
        this.ranks = ranks;
        this.isEmpty = isEmpty;
    }

    @Override
    public final void run(MemorySegment[] inputs, MemorySegment[] outputs) {
        CompletableFuture<Void> run = new CompletableFuture<>();
        start(inputs, outputs, null, Completion.of(run));
        poll(run);
        Completions.join(run);
    }

    @Override
    public final void start(
            MemorySegment[] inputs, MemorySegment[] outputs, @Nullable CallerStreams streams, Completion completion) {
        BackendArguments.checkBuffers(inputs, outputs, ranks);
        if (isEmpty && streams == null) {
            completion.ended(null);
        } else {
            queue.start(this, inputs, outputs, streams, completion);
        }
    }

    /**
     * Launches a run, in its turn.
     *
     * @param open what the calling thread gathers, or null
     * @throws CudaException if the launch fails
     */
    protected abstract void launch(
            @Nullable Gathering open, MemorySegment[] inputs, MemorySegment[] outputs, Place place);

    /** Frees what it has alone, in its turn; nothing of it runs. */
    protected abstract void free();

    @Override
    public final void poll(Future<?> ended) {
        queue.poll(ended);
    }

    @Override
    public final void close() {
        queue.release(this);
    }

    /** Asks runs in flight to end early. */
    protected final void stopRuns() {
        boolean _ = queue.each(this, Run::stop);
    }

    protected static long[] addresses(MemorySegment[] buffers) {
        long[] addresses = new long[buffers.length];
        for (int rank = 0; rank < addresses.length; rank++) {
            addresses[rank] = buffers[rank].address();
        }
        return addresses;
    }
}

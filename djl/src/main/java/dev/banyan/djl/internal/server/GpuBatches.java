package dev.banyan.djl.internal.server;

import dev.banyan.cuda.type.CudaStreams;
import dev.banyan.reduce.CollectiveCall;
import dev.banyan.reduce.Communicator;
import dev.banyan.reduce.internal.Completions;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;

/**
 * Batches of collectives on arrays in the memory of several GPUs. They are enqueued in the GPUs' default streams, where
 * PyTorch's work is: a batch begins after the work that is there, and later work waits for the batch. The methods never
 * wait for a GPU. The next batch, or {@link #close}, reports a batch that failed.
 *
 * <p>The arrays stay where they are. A copy of them side by side would move each byte twice more, and PyTorch's copies
 * need memory of their own, whose addresses would change.
 *
 * <p>Not safe for use from several threads.
 */
public final class GpuBatches implements AutoCloseable {
    private final Communicator communicator;
    private final CudaStreams streams;
    /** Completes when all batches so far have ended; fails if one failed. */
    private CompletableFuture<Void> begun = CompletableFuture.completedFuture(null);

    /**
     * One array of every GPU.
     *
     * @param buffers the array of each GPU, in the order of ranks
     * @param count the elements of one array
     */
    public record Arrays(List<MemorySegment> buffers, long count, DataType type) {}

    /** @param communicator the communicator on the GPUs, which this object closes */
    public GpuBatches(Communicator communicator) {
        this.communicator = communicator;
        streams = CudaStreams.defaults(communicator.size());
    }

    /** Returns the number of GPUs. */
    int size() {
        return communicator.size();
    }

    /** Sums each array of all GPUs into that of the first GPU. */
    public void sum(List<Arrays> batch) {
        enqueue(batch, arrays -> CollectiveCall.reduce(arrays.buffers(), arrays.count(), arrays.type(), ReduceOp.SUM));
    }

    /** Copies each array of the first GPU to all others. */
    public void spread(List<Arrays> batch) {
        enqueue(batch, arrays -> CollectiveCall.broadcast(arrays.buffers(), arrays.count(), arrays.type()));
    }

    private void enqueue(List<Arrays> batch, Function<Arrays, CollectiveCall> call) {
        if (begun.isCompletedExceptionally()) {
            Completions.join(begun);
        }
        CompletableFuture<Void> next =
                communicator.enqueueAll(batch.stream().map(call).toList(), streams);
        begun = CompletableFuture.allOf(begun, next);
    }

    @Override
    public void close() {
        communicator.close();
        Completions.join(begun);
    }
}

package dev.banyan.cuda;

import dev.banyan.nccl.internal.NcclOperation;
import dev.banyan.reduce.backend.CallerStreams;
import dev.banyan.reduce.backend.Completion;
import dev.banyan.reduce.backend.Executable;
import dev.banyan.reduce.backend.NcclRequest;
import dev.banyan.reduce.internal.BackendArguments;
import dev.banyan.reduce.internal.Completions;
import dev.banyan.schedule.Space;
import dev.banyan.schedule.type.Collective;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import org.jspecify.annotations.Nullable;

/** A collective of NCCL on its backend. */
final class NcclExecutable implements Executable {
    private final LaunchQueue queue;
    private final List<CudaDevice> ranks;
    private final NcclOperation operation;
    private volatile long lastNanos;
    private volatile boolean aborted;

    NcclExecutable(LaunchQueue queue, List<CudaDevice> ranks, NcclRequest request) {
        this.queue = queue;
        this.ranks = ranks;
        operation = new NcclOperation(
                request.collective(), request.root(), request.count(), request.type(), request.op(), request.inPlace());
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
        BackendArguments.checkBuffers(inputs, outputs, ranks.size());
        if (operation.count() == 0 && streams == null) {
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

    NcclOperation operation() {
        return operation;
    }

    boolean isAborted() {
        return aborted;
    }

    String name() {
        return operation.collective().label() + " by nccl";
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
     * Checks that the buffers are memory of their ranks' devices and long enough.
     *
     * @throws IllegalArgumentException if one is not
     */
    void check(BufferAccess access, long[] inputs, long[] outputs) {
        Collective collective = operation.collective();
        long input = collective.inputElements(operation.count(), ranks.size())
                * operation.type().bytes();
        long output = collective.outputElements(operation.count(), ranks.size())
                * operation.type().bytes();
        for (int rank = 0; rank < ranks.size(); rank++) {
            BufferAccess.Use read = new BufferAccess.Use(Space.INPUT, rank, ranks.get(rank));
            BufferAccess.Use write = new BufferAccess.Use(Space.OUTPUT, rank, ranks.get(rank));
            if (operation.inPlace()) {
                access.check(write, Math.max(input, output), inputs, outputs);
                continue;
            }
            if (collective != Collective.BROADCAST || rank == operation.root()) {
                access.check(read, input, inputs, outputs);
            }
            if (collective != Collective.REDUCE || rank == operation.root()) {
                access.check(write, output, inputs, outputs);
            }
        }
    }

    static long[] addresses(MemorySegment[] buffers) {
        return Arrays.stream(buffers).mapToLong(MemorySegment::address).toArray();
    }
}

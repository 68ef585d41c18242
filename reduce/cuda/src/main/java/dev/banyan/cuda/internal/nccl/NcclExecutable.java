package dev.banyan.cuda.internal.nccl;

import dev.banyan.cuda.internal.driver.CudaDevice;
import dev.banyan.cuda.internal.launch.Gathering;
import dev.banyan.cuda.internal.launch.LaunchQueue;
import dev.banyan.cuda.internal.launch.Place;
import dev.banyan.cuda.internal.launch.QueuedExecutable;
import dev.banyan.cuda.internal.memory.BufferAccess;
import dev.banyan.nccl.internal.NcclOperation;
import dev.banyan.reduce.backend.NcclRequest;
import dev.banyan.schedule.Space;
import dev.banyan.schedule.type.Collective;
import java.lang.foreign.MemorySegment;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** A collective of NCCL on its backend. */
public final class NcclExecutable extends QueuedExecutable {
    private final NcclLauncher launcher;
    private final List<CudaDevice> ranks;
    private final NcclOperation operation;
    private volatile boolean aborted;

    public NcclExecutable(LaunchQueue queue, NcclLauncher launcher, List<CudaDevice> ranks, NcclRequest request) {
        super(queue, ranks.size(), request.count() == 0);
        this.launcher = launcher;
        this.ranks = ranks;
        operation = new NcclOperation(
                request.collective(), request.root(), request.count(), request.type(), request.op(), request.inPlace());
    }

    @Override
    public void abort() {
        aborted = true;
        stopRuns();
    }

    @Override
    protected void launch(@Nullable Gathering open, MemorySegment[] inputs, MemorySegment[] outputs, Place place) {
        if (open != null) {
            open.flush();
        }
        launcher.start(this, addresses(inputs), addresses(outputs), place);
    }

    /** Does nothing: NCCL's communicators serve all calls. */
    @Override
    protected void free() {}

    NcclOperation operation() {
        return operation;
    }

    boolean isAborted() {
        return aborted;
    }

    String name() {
        return operation.collective().label() + " by nccl";
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
}

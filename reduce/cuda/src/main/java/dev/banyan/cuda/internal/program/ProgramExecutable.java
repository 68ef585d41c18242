package dev.banyan.cuda.internal.program;

import dev.banyan.cuda.internal.launch.Gathering;
import dev.banyan.cuda.internal.launch.LaunchQueue;
import dev.banyan.cuda.internal.launch.Place;
import dev.banyan.cuda.internal.launch.QueuedExecutable;
import dev.banyan.cuda.internal.memory.BufferAccess;
import dev.banyan.reduce.internal.sum.OpenSum;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** A call as one launch on each device. */
public final class ProgramExecutable extends QueuedExecutable implements OpenSum {
    /** As many tensors of a network have one shape, or a few more. */
    private static final int MOST_KNOWN = 64;

    private final ProgramLauncher launcher;
    /** A call is carried out by the first of these that can work on its buffers. */
    private final List<LaunchPlan> plans;

    private final Consumer<LaunchPlan> closing;
    private final long timeoutMillis;
    private volatile boolean aborted;
    /** Calls with the buffers that were checked last: a training step uses the same buffers again and again. */
    private final List<ProgramBatch.Member> known = new ArrayList<>();

    private int nextToForget;
    /** The number of frees of memory up to the last check of the known buffers. */
    private long frees;

    /**
     * @param plans at least one; the first that can work on the buffers of a call carries it out
     * @param closing takes a plan back
     */
    public ProgramExecutable(
            LaunchQueue queue,
            ProgramLauncher launcher,
            List<LaunchPlan> plans,
            Consumer<LaunchPlan> closing,
            int ranks,
            long timeoutMillis) {
        super(queue, ranks, plans.getLast().isEmpty());
        this.launcher = launcher;
        this.plans = List.copyOf(plans);
        this.closing = closing;
        this.timeoutMillis = timeoutMillis;
    }

    @Override
    public boolean takes(MemorySegment[] inputs, MemorySegment[] outputs) {
        long[] in = addresses(inputs);
        long[] out = addresses(outputs);
        return plans.stream().anyMatch(plan -> plan.addresses(launcher.access(), in, out) != null);
    }

    @Override
    public void abort() {
        aborted = true;
        stopRuns();
    }

    @Override
    protected void launch(@Nullable Gathering open, MemorySegment[] inputs, MemorySegment[] outputs, Place place) {
        ProgramBatch.Member call = call(launcher.access(), inputs, outputs);
        if (open instanceof ProgramGroup group) {
            group.add(call, place);
        } else {
            launcher.start(call.alone(), place);
        }
    }

    @Override
    protected void free() {
        plans.forEach(closing);
    }

    boolean isAborted() {
        return aborted;
    }

    long timeoutMillis() {
        return timeoutMillis;
    }

    /**
     * Returns a call with some buffers, in turn with other starts of the backend. Allocates nothing where the call is
     * one of the last {@value #MOST_KNOWN} ones.
     *
     * @throws IllegalArgumentException if a buffer is no memory of its rank's device, or ends too early
     */
    private ProgramBatch.Member call(BufferAccess access, MemorySegment[] in, MemorySegment[] out) {
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
        long[] inputs = addresses(in);
        long[] outputs = addresses(out);
        ProgramBatch.Member call = call(access, inputs, outputs);
        call.plan().uses().forEach((use, bytes) -> access.check(use, bytes, inputs, outputs));
        if (known.size() < MOST_KNOWN) {
            known.add(call);
        } else {
            known.set(nextToForget, call);
            nextToForget = (nextToForget + 1) % MOST_KNOWN;
        }
        return call;
    }

    private ProgramBatch.Member call(BufferAccess access, long[] inputs, long[] outputs) {
        for (LaunchPlan plan : plans) {
            LaunchPlan.Addresses addresses = plan.addresses(access, inputs, outputs);
            if (addresses != null) {
                return new ProgramBatch.Member(this, plan, inputs, outputs, addresses);
            }
        }
        throw new IllegalArgumentException(
                plans.getLast().name() + " cannot work on these buffers; allocate them by the communicator");
    }

    private static boolean isOf(long[] addresses, MemorySegment[] buffers) {
        for (int rank = 0; rank < addresses.length; rank++) {
            if (addresses[rank] != buffers[rank].address()) {
                return false;
            }
        }
        return true;
    }
}

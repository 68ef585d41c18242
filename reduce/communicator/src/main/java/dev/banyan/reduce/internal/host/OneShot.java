package dev.banyan.reduce.internal.host;

import dev.banyan.reduce.internal.code.BlockExecutable;
import dev.banyan.reduce.internal.processes.Job;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;

/**
 * Runs a short call of several processes as one-shot kernels of GPUs do: each process gives its inputs to the others,
 * meets them once, and then makes all sums itself, in the order of the schedule. Processes that share the work meet
 * twice, which takes longer than short sums.
 */
final class OneShot {
    private final BlockExecutable work;
    private final String name;
    private final long kind;
    private final ProcessExecutable.Sizes sizes;
    private final Job job;
    private final Inboxes inboxes;
    /** Memory of this process for the buffers of each rank; its own ranks do not use it. */
    private final List<MemorySegment> copiedInputs;

    private final List<MemorySegment> copiedOutputs;
    private final MemorySegment[] inputs;
    private final MemorySegment[] outputs;

    /**
     * @param work one call, which this process runs whole
     * @param inPlace whether the call's inputs are its outputs
     */
    OneShot(
            BlockExecutable work,
            String name,
            long kind,
            ProcessExecutable.Sizes sizes,
            boolean inPlace,
            Job job,
            Inboxes inboxes) {
        this.work = work;
        this.name = name;
        this.kind = kind;
        this.sizes = sizes;
        this.job = job;
        this.inboxes = inboxes;
        copiedInputs = slices(inboxes.inputs(), sizes.input(), job.ranks());
        copiedOutputs = inPlace ? copiedInputs : slices(inboxes.outputs(), sizes.output(), job.ranks());
        inputs = new MemorySegment[job.ranks()];
        outputs = new MemorySegment[job.ranks()];
    }

    /** Returns whether calls of some sizes are short enough. */
    static boolean suits(ProcessExecutable.Sizes sizes, int ranks) {
        return ranks * Inboxes.aligned(Math.max(sizes.input(), sizes.output())) <= Inboxes.MOST_BYTES;
    }

    private static List<MemorySegment> slices(MemorySegment memory, long bytes, int ranks) {
        List<MemorySegment> slices = new ArrayList<>();
        for (int rank = 0; rank < ranks; rank++) {
            slices.add(memory.asSlice(rank * Inboxes.aligned(bytes), bytes));
        }
        return slices;
    }

    /** As {@link ProcessExecutable#run}, in turn with other runs of the backend. */
    void run(MemorySegment[] in, MemorySegment[] out, long timeoutNanos) {
        inboxes.begin(kind);
        int first = job.firstRank();
        for (int r = 0; r < job.ranksHeld(); r++) {
            inboxes.give(in[first + r], r * Inboxes.aligned(sizes.input()), sizes.of(in[first + r], false));
        }
        job.block().setCall(job.process(), kind);
        job.meet(name, timeoutNanos);
        try {
            for (int p = 0; p < job.processes(); p++) {
                setBuffers(p, in, out);
            }
            work.runBlocks(inputs, outputs, 0, work.blocks());
        } catch (Throwable e) {
            // Others would take a later call of this process for its part in this one.
            job.fail();
            throw e;
        }
    }

    private void setBuffers(int process, MemorySegment[] in, MemorySegment[] out) {
        if (!inboxes.hasBegun(process, kind)) {
            throw new IllegalStateException(ProcessExecutable.otherCall(process, name));
        }
        int first = job.firstRank(process);
        for (int rank = first; rank < job.firstRank(process + 1); rank++) {
            boolean isHeld = process == job.process();
            inputs[rank] = isHeld ? in[rank] : copiedInputs.get(rank);
            outputs[rank] = isHeld ? out[rank] : copiedOutputs.get(rank);
            if (!isHeld) {
                inboxes.take(process, (rank - first) * Inboxes.aligned(sizes.input()), inputs[rank], sizes.input());
            }
        }
    }
}

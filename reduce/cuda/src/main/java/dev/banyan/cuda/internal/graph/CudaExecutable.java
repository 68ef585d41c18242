package dev.banyan.cuda.internal.graph;

import dev.banyan.cuda.internal.driver.Cuda;
import dev.banyan.cuda.internal.driver.CudaDevice;
import dev.banyan.cuda.internal.driver.DeviceAddress;
import dev.banyan.cuda.internal.launch.Gathering;
import dev.banyan.cuda.internal.launch.LaunchQueue;
import dev.banyan.cuda.internal.launch.Place;
import dev.banyan.cuda.internal.launch.QueuedExecutable;
import dev.banyan.cuda.internal.launch.Run;
import dev.banyan.cuda.internal.memory.BufferAccess;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.LongBuffer;
import java.util.Arrays;
import jcuda.driver.CUstream;
import jcuda.driver.JCudaDriver;
import org.jspecify.annotations.Nullable;

/** A plan on its backend. {@link #abort} does nothing, as the driver cannot end a graph early. */
public final class CudaExecutable extends QueuedExecutable {
    private final GraphLauncher launcher;
    private final PlanMaker plans;
    private final GraphPlan plan;
    private final MemorySegment marks;
    /** The key of the last run: a training step uses the same buffers again and again. */
    private GraphCache.@Nullable Key lastKey;

    /** @param plans takes the plan back */
    public CudaExecutable(LaunchQueue queue, GraphLauncher launcher, PlanMaker plans, GraphPlan plan) {
        super(queue, plan.devices().size(), plan.routes().isEmpty());
        this.launcher = launcher;
        this.plans = plans;
        this.plan = plan;
        marks = plan.markBlock().memory();
    }

    @Override
    protected void launch(@Nullable Gathering open, MemorySegment[] inputs, MemorySegment[] outputs, Place place) {
        if (open != null) {
            open.flush();
        }
        launcher.start(this, key(inputs, outputs), place);
    }

    @Override
    protected void free() {
        launcher.forget(this);
        plans.close(plan);
    }

    String name() {
        return plan.name();
    }

    /** Returns what the graph for these buffers depends on; the same object as before where they are the same. */
    private GraphCache.Key key(MemorySegment[] inputs, MemorySegment[] outputs) {
        GraphCache.Key key = lastKey;
        if (key == null || !isOf(key.addresses(), inputs, outputs)) {
            long[] addresses = new long[2 * inputs.length];
            for (int r = 0; r < inputs.length; r++) {
                addresses[r] = inputs[r].address();
                addresses[inputs.length + r] = outputs[r].address();
            }
            key = new GraphCache.Key(this, LongBuffer.wrap(addresses));
            lastKey = key;
        }
        return key;
    }

    private static boolean isOf(LongBuffer addresses, MemorySegment[] inputs, MemorySegment[] outputs) {
        for (int r = 0; r < inputs.length; r++) {
            if (addresses.get(r) != inputs[r].address() || addresses.get(inputs.length + r) != outputs[r].address()) {
                return false;
            }
        }
        return true;
    }

    /**
     * Builds a graph.
     *
     * @throws IllegalArgumentException if an address is no memory of the rank's device, or another device that must
     *     touch it cannot be let to
     */
    Graph build(GraphCache.Key key, BufferAccess access) {
        int ranks = plan.devices().size();
        long[] addresses = key.addresses().array();
        long[] inputs = Arrays.copyOf(addresses, ranks);
        long[] outputs = Arrays.copyOfRange(addresses, ranks, 2 * ranks);
        GraphUses.of(plan).forEach((use, bytes) -> access.check(use, bytes, inputs, outputs));
        return new GraphBuilder(plan, inputs, outputs).build();
    }

    /**
     * Clears the marks for a run that is about to be launched.
     *
     * @param inFlight whether an earlier run may still set them; they are then cleared behind it in the stream
     */
    void clearMarks(boolean inFlight, CUstream stream) {
        if (inFlight) {
            Cuda.check(
                    JCudaDriver.cuMemsetD8Async(
                            new DeviceAddress(plan.markBlock().address()), (byte) 0, marks.byteSize(), stream),
                    "cuMemsetD8Async of the marks of " + name());
        } else {
            marks.fill((byte) 0);
        }
    }

    /** Returns whether all marks are set. */
    boolean isMarked() {
        for (int mark = 0; mark < plan.marks().size(); mark++) {
            if (!isSet(mark)) {
                return false;
            }
        }
        return true;
    }

    private boolean isSet(int mark) {
        return marks.getAtIndex(ValueLayout.JAVA_INT, mark) != 0;
    }

    /** Returns the first mark that is not set, or the first one of a device; that device waits if it has none. */
    Run.Unfinished firstUnfinished(@Nullable CudaDevice wanted) {
        Run.Unfinished first = null;
        for (int m = 0; m < plan.marks().size(); m++) {
            if (isSet(m)) {
                continue;
            }
            Mark mark = plan.marks().get(m);
            Run.Unfinished unfinished = new Run.Unfinished(mark.device(), mark.step() + " of " + plan.name());
            if (mark.device().equals(wanted)) {
                return unfinished;
            }
            if (first == null) {
                first = unfinished;
            }
        }
        if (wanted != null) {
            return new Run.Unfinished(wanted, "the wait of " + plan.name() + " for other devices");
        }
        return first == null ? new Run.Unfinished(plan.devices().getFirst(), "the end of " + plan.name()) : first;
    }
}

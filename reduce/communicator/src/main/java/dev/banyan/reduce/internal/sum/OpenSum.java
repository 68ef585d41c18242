package dev.banyan.reduce.internal.sum;

import dev.banyan.reduce.backend.Executable;
import java.lang.foreign.MemorySegment;

/** A reproducible sum in one pass: devices load the numbers of all ranks from buffers that are open to them. */
public interface OpenSum extends Executable {
    /**
     * Returns whether it can run with these buffers.
     *
     * @param inputs as {@link Executable#run} takes them
     * @param outputs as {@link Executable#run} takes them
     */
    boolean takes(MemorySegment[] inputs, MemorySegment[] outputs);
}

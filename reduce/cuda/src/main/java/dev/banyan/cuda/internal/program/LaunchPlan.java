package dev.banyan.cuda.internal.program;

import dev.banyan.cuda.internal.memory.BufferAccess;
import dev.banyan.cuda.internal.ptx.Kernel;
import dev.banyan.cuda.internal.ptx.ProgramStatus;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** A call as one kernel on each device, which takes the parameters of device programs. */
public interface LaunchPlan {
    /** Returns the name of the collective and the algorithm, for messages. */
    String name();

    /** Returns the kernel that carries it out. */
    Kernel kernel();

    /** Returns the part of each device, by the order in which devices first appear among the ranks. */
    List<ProgramPlan.Part> parts();

    /** Returns the uses of buffers, and the end of what is touched in bytes from a buffer's begin. */
    Map<BufferAccess.Use, Long> uses();

    /**
     * Returns the addresses that the kernel takes, or null if it cannot work on these buffers.
     *
     * @param inputs address of each rank's input
     * @param outputs address of each rank's output
     */
    @Nullable
    Addresses addresses(BufferAccess access, long[] inputs, long[] outputs);

    /**
     * Addresses that a kernel takes.
     *
     * @param inputs of inputs, by rank, and others behind them
     * @param outputs of outputs, by rank, and others behind them
     */
    record Addresses(long[] inputs, long[] outputs) {}

    /** Returns the threads of a block. */
    int threads();

    /** Returns by how much a launch lets flags grow. */
    long values();

    /** Returns whether it keeps partial results in memory that all plans share. */
    boolean usesScratch();

    /** Returns whether all its slots may be known to be free. */
    boolean takesLinesOnce();

    /** Returns whether no rank is done before all have begun. */
    boolean synchronizes();

    /** Returns whether there is nothing to do. */
    boolean isEmpty();

    /** Returns what a block waited for, for messages. */
    String describe(ProgramStatus status);
}

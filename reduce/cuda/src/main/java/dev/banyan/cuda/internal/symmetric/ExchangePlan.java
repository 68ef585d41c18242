package dev.banyan.cuda.internal.symmetric;

import dev.banyan.cuda.internal.memory.BufferAccess;
import dev.banyan.cuda.internal.program.LaunchPlan;
import dev.banyan.cuda.internal.program.ProgramPlan;
import dev.banyan.cuda.internal.ptx.Kernel;
import dev.banyan.cuda.internal.ptx.ProgramStatus;
import java.util.List;
import java.util.Map;

/**
 * An exchange in the memory of its devices.
 *
 * @param name of the collective and the algorithm, for messages
 * @param kernel what runs it
 * @param parts what each device has of it
 * @param uses of buffers, and the end of what is touched in bytes from a buffer's begin
 */
record ExchangePlan(String name, Kernel kernel, List<ProgramPlan.Part> parts, Map<BufferAccess.Use, Long> uses)
        implements LaunchPlan {
    @Override
    public int threads() {
        return ExchangeKernel.THREADS;
    }

    /** {@inheritDoc} One for each barrier. */
    @Override
    public long values() {
        return 2;
    }

    @Override
    public boolean usesScratch() {
        return false;
    }

    @Override
    public boolean takesLinesOnce() {
        return false;
    }

    @Override
    public boolean synchronizes() {
        return true;
    }

    @Override
    public boolean isEmpty() {
        return false;
    }

    @Override
    public String describe(ProgramStatus status) {
        return "rank " + status.channel() + " at rank " + status.slice()
                + (status.loop() == 0 ? " before it loads" : " behind its last store");
    }
}

package dev.banyan.reduce.internal.host;

import dev.banyan.reduce.backend.StepListener;
import dev.banyan.reduce.internal.WorkerPool;
import dev.banyan.reduce.internal.code.BlockExecutable;
import dev.banyan.reduce.internal.code.HostCompiler;
import dev.banyan.reduce.internal.code.Program;
import dev.banyan.reduce.internal.loop.FusedLoop;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** A schedule that is ready to run: as fused loops, or step by step where a listener wants to know of the steps. */
final class HostExecutable extends BlockExecutable {
    private static final int BLOCKS_PER_LOOK = 8;

    private final HostCompiler compiler;
    private final HostBackend backend;
    private final Program fused;
    /** Runs until the fused loops are ready; null from then on. */
    private @Nullable Program plain;

    private final Set<FusedLoop> loops;
    /** Made when a listener is there for the first time. */
    private @Nullable Program stepwise;
    /** The program of the run. */
    private Program program;

    /** @param backend has the listener of steps */
    HostExecutable(int ranks, HostCompiler compiler, HostBackend backend, WorkerPool pool, Duration timeout) {
        super(ranks, pool, timeout, BLOCKS_PER_LOOK);
        this.compiler = compiler;
        this.backend = backend;
        fused = compiler.fused();
        program = fused;
        loops = fused.loops();
        plain = areReady() ? null : compiler.plain();
    }

    @Override
    public void begin(MemorySegment[] inputs, MemorySegment[] outputs) {
        StepListener listener = backend.listener();
        program = listener == null ? fastest() : stepwise();
        program.setBuffers(inputs, outputs);
        if (listener != null) {
            program.attach(listener, backend.nextRun());
        }
    }

    @Override
    public void warmUp() {
        loops.forEach(backend.readiness()::await);
    }

    private Program fastest() {
        Program current = plain;
        if (current == null) {
            return fused;
        }
        if (!areReady()) {
            return current;
        }
        current.close();
        plain = null;
        return fused;
    }

    private boolean areReady() {
        return loops.stream().allMatch(backend.readiness()::isReady);
    }

    private Program stepwise() {
        Program made = stepwise;
        if (made == null) {
            made = compiler.stepwise();
            stepwise = made;
        }
        return made;
    }

    @Override
    public void end() {
        program.forgetBuffers();
        if (program == plain) {
            // After the run, which should not share the processor with it.
            loops.forEach(backend.readiness()::prepare);
        }
    }

    @Override
    public long blocks() {
        return program.blocks();
    }

    @Override
    public boolean isAligned() {
        return fused.isAligned();
    }

    @Override
    public long place(long block) {
        return fused.place(block);
    }

    @Override
    public int participants() {
        return program.participants();
    }

    @Override
    public long traffic() {
        return program.traffic();
    }

    @Override
    public void runBlock(int participant, long block) {
        program.runBlock(participant, block);
    }

    @Override
    public void free() {
        fused.close();
        Program first = plain;
        if (first != null) {
            first.close();
        }
        Program steps = stepwise;
        if (steps != null) {
            steps.close();
        }
    }
}

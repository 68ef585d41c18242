package dev.banyan.reduce.host;

import dev.banyan.reduce.backend.Executable;
import dev.banyan.reduce.internal.processes.ControlBlock;
import dev.banyan.reduce.internal.processes.Job;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Blocks that the processes of a job share. A run is: say where the own buffers are, meet, take blocks until none is
 * left, meet again. Each process has a range of its own and helps the others when it has done that, so that one that
 * loses its core delays a run by a block.
 */
final class ProcessExecutable implements Executable {
    private static final int NONE = -1;
    private static final int ALIGNMENT = 64;

    /**
     * What a call uses of buffers, which may be longer.
     *
     * @param input of an input, in bytes
     * @param output of an output, in bytes
     */
    record Sizes(long input, long output) {
        long of(MemorySegment buffer, boolean isOutput) {
            return buffer.byteSize() == 0 ? 0 : isOutput ? output : input;
        }
    }

    private final BlockExecutable work;
    private final String name;
    private final long kind;
    private final Sizes sizes;
    private final Job job;
    private final ControlBlock control;
    private final SharedPieces pieces;
    private final ReentrantLock lock;
    private final long timeoutNanos;
    private final int first;
    private final int ranksHeld;
    private final MemorySegment[] inputs;
    private final MemorySegment[] outputs;
    /** Where the staging memory holds the own ranks' buffers in the current run, or {@link #NONE}. */
    private final long[] stagedInputs;

    private final long[] stagedOutputs;

    /**
     * @param work what a block is; it has one thread
     * @param name for messages
     * @param kind what must be the same in all processes
     * @param lock held while anything of the backend runs
     */
    ProcessExecutable(
            BlockExecutable work,
            String name,
            String kind,
            Sizes sizes,
            Job job,
            SharedPieces pieces,
            ReentrantLock lock,
            Duration timeout) {
        this.work = work;
        this.name = name;
        this.kind = ControlBlock.fingerprint(kind);
        this.sizes = sizes;
        this.job = job;
        this.pieces = pieces;
        this.lock = lock;
        control = job.block();
        timeoutNanos = TimeUnit.NANOSECONDS.convert(timeout);
        first = job.firstRank();
        ranksHeld = job.ranksHeld();
        stagedInputs = new long[ranksHeld];
        stagedOutputs = new long[ranksHeld];
        inputs = new MemorySegment[job.ranks()];
        outputs = new MemorySegment[job.ranks()];
    }

    /** @param in of each rank; those of other processes are ignored, as those in {@code out} are */
    @Override
    public void run(MemorySegment[] in, MemorySegment[] out) {
        lock.lock();
        try {
            job.checkUnbroken(name);
            long deadline = System.nanoTime() + timeoutNanos;
            boolean staged = post(in, out);
            control.setCall(job.process(), kind);
            control.setNextBlock(job.process(), firstOf(job.process()));
            job.meet(name, deadline - System.nanoTime());
            try {
                runBlocks(deadline);
            } catch (Throwable e) {
                // Others would take a later call of this process for its part in this one.
                job.fail();
                throw e;
            }
            if (staged) {
                fetch(out);
            }
        } finally {
            lock.unlock();
        }
    }

    private void runBlocks(long deadline) {
        checkCalls();
        resolve();
        work.begin(inputs, outputs);
        try {
            takeBlocks();
            job.meet(name, deadline - System.nanoTime());
        } finally {
            work.end();
        }
    }

    private long firstOf(int process) {
        return work.blocks() * process / job.processes();
    }

    /**
     * Says where the buffers of this process are, and copies inputs that are not shared.
     *
     * @return whether some buffer is not shared
     */
    private boolean post(MemorySegment[] in, MemorySegment[] out) {
        long end = 0;
        for (int r = 0; r < ranksHeld; r++) {
            long free = end;
            end = post(r, false, in[first + r], free);
            boolean isInPlace = isSame(in[first + r], out[first + r]);
            end = Math.max(end, post(r, true, out[first + r], isInPlace ? free : end));
        }
        if (end == 0) {
            return false;
        }
        int piece = pieces.staging(end);
        for (int r = 0; r < ranksHeld; r++) {
            if (stagedInputs[r] != NONE) {
                control.setBuffer(job.process(), r, false, piece, stagedInputs[r]);
                MemorySegment.copy(
                        in[first + r], 0, pieces.piece(job.process(), piece), stagedInputs[r], sizes.input());
            }
            if (stagedOutputs[r] != NONE) {
                control.setBuffer(job.process(), r, true, piece, stagedOutputs[r]);
            }
        }
        return true;
    }

    private static boolean isSame(MemorySegment a, MemorySegment b) {
        return a.address() == b.address() && a.byteSize() == b.byteSize();
    }

    /**
     * Says where a buffer is, or notes its place in the staging memory.
     *
     * @param free the first byte of the staging memory that no other buffer has
     * @return the first one behind the buffer
     */
    private long post(int rank, boolean isOutput, MemorySegment buffer, long free) {
        long[] staged = isOutput ? stagedOutputs : stagedInputs;
        staged[rank] = NONE;
        long bytes = sizes.of(buffer, isOutput);
        if (bytes == 0) {
            control.setBuffer(job.process(), rank, isOutput, NONE, 0);
            return free;
        }
        SharedPieces.Place place = pieces.find(buffer);
        if (place != null) {
            control.setBuffer(job.process(), rank, isOutput, place.piece(), place.offset());
            return free;
        }
        staged[rank] = free;
        return free + Math.ceilDiv(bytes, ALIGNMENT) * ALIGNMENT;
    }

    private void checkCalls() {
        for (int p = 0; p < job.processes(); p++) {
            if (control.call(p) != kind) {
                throw new IllegalStateException("process " + p + " makes another call than " + name
                        + " of this process; let all processes make the same calls in the same order");
            }
        }
    }

    private void resolve() {
        for (int p = 0; p < job.processes(); p++) {
            int rank = job.firstRank(p);
            for (int r = 0; rank + r < job.firstRank(p + 1); r++) {
                inputs[rank + r] = buffer(p, r, false);
                outputs[rank + r] = buffer(p, r, true);
            }
        }
    }

    private MemorySegment buffer(int process, int rank, boolean isOutput) {
        int piece = control.piece(process, rank, isOutput);
        return piece == NONE
                ? MemorySegment.NULL
                : pieces.piece(process, piece).asSlice(control.offset(process, rank, isOutput));
    }

    private void takeBlocks() {
        for (int i = 0; i < job.processes(); i++) {
            int process = (job.process() + i) % job.processes();
            long end = firstOf(process + 1);
            while (control.nextBlock(process) < end) {
                long block = control.takeBlock(process);
                if (block < end) {
                    work.runBlock(0, block);
                }
            }
        }
    }

    /** Copies what is staged to the outputs of this process. */
    private void fetch(MemorySegment[] out) {
        for (int r = 0; r < ranksHeld; r++) {
            if (stagedOutputs[r] != NONE) {
                MemorySegment shared = pieces.piece(job.process(), control.piece(job.process(), r, true));
                MemorySegment.copy(shared, stagedOutputs[r], out[first + r], 0, sizes.output());
            }
        }
    }

    /** Breaks the job: the run ends with an exception in all processes. */
    @Override
    public void abort() {
        job.fail();
    }

    @Override
    public void close() {
        work.close();
    }
}

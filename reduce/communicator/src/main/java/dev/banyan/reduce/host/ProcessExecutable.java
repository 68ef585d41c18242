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
    private final int ranksHere;
    private final MemorySegment[] inputs;
    private final MemorySegment[] outputs;

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
        first = job.firstRank(job.process());
        ranksHere = job.firstRank(job.process() + 1) - first;
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
            long staged = post(in, out);
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
            if (staged > 0) {
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

    /** Says where the buffers of this process are; copies those that are not shared. Returns how many bytes are. */
    private long post(MemorySegment[] in, MemorySegment[] out) {
        long staged = 0;
        for (int r = 0; r < ranksHere; r++) {
            staged += stagedBytes(in[first + r], false);
            if (!isSame(in[first + r], out[first + r])) {
                staged += stagedBytes(out[first + r], true);
            }
        }
        int piece = staged == 0 ? NONE : pieces.staging(staged);
        long at = 0;
        for (int r = 0; r < ranksHere; r++) {
            MemorySegment input = in[first + r];
            MemorySegment output = out[first + r];
            long inputAt = at;
            at += post(r, false, input, piece, at);
            if (isSame(input, output)) {
                post(r, true, input, piece, inputAt);
            } else {
                at += post(r, true, output, piece, at);
            }
            if (stagedBytes(input, false) > 0) {
                MemorySegment.copy(input, 0, pieces.piece(job.process(), piece), inputAt, sizes.of(input, false));
            }
        }
        return staged;
    }

    private static boolean isSame(MemorySegment a, MemorySegment b) {
        return a.address() == b.address() && a.byteSize() == b.byteSize();
    }

    private long stagedBytes(MemorySegment buffer, boolean isOutput) {
        long bytes = sizes.of(buffer, isOutput);
        return bytes == 0 || pieces.find(buffer) != null ? 0 : aligned(bytes);
    }

    private static long aligned(long bytes) {
        return Math.ceilDiv(bytes, 64) * 64;
    }

    /** Says where a buffer is, and returns what it takes of the staging memory. */
    private long post(int rank, boolean isOutput, MemorySegment buffer, int staging, long at) {
        if (sizes.of(buffer, isOutput) == 0) {
            control.setBuffer(job.process(), rank, isOutput, NONE, 0);
            return 0;
        }
        SharedPieces.Place place = pieces.find(buffer);
        if (place != null) {
            control.setBuffer(job.process(), rank, isOutput, place.piece(), place.offset());
            return 0;
        }
        control.setBuffer(job.process(), rank, isOutput, staging, at);
        return aligned(sizes.of(buffer, isOutput));
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
        for (int r = 0; r < ranksHere; r++) {
            MemorySegment output = out[first + r];
            if (stagedBytes(output, true) > 0) {
                MemorySegment shared = pieces.piece(job.process(), control.piece(job.process(), r, true));
                MemorySegment.copy(shared, control.offset(job.process(), r, true), output, 0, sizes.of(output, true));
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

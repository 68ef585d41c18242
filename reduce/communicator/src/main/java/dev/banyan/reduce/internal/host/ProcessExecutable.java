package dev.banyan.reduce.internal.host;

import dev.banyan.reduce.backend.Executable;
import dev.banyan.reduce.internal.code.BlockExecutable;
import dev.banyan.reduce.internal.processes.ControlBlock;
import dev.banyan.reduce.internal.processes.Job;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Blocks that the processes of a job share. A {@linkplain OneShot short} run is not shared; a longer one is: say where
 * the own buffers are, meet, take blocks until none is left, meet again. Each process has a range of its own and helps
 * the others when it has done that, so that one that loses its core delays a run by a block.
 *
 * <p>Buffers that are not shared are copied to staging memory and back. If all of a rank's bytes of a block are at one
 * place, each process runs its range alone, and reads and writes its own buffers directly: it copies only what others
 * read and write. Long runs go through windows, so that copies stay in caches.
 */
final class ProcessExecutable implements Executable {
    private static final int NONE = -1;
    /** So much of every buffer stays in caches from one copy to the other. Measured: 256 KiB to 1 MiB are alike. */
    private static final long WINDOW_BYTES = 512 << 10;

    /**
     * The bytes of an input and an output that a call uses; buffers may be longer.
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
    private final MemorySegment[] allInputs;
    private final MemorySegment[] allOutputs;
    /** Offsets of the own ranks' buffers in the staging memory in the current run, or {@link #NONE}. */
    private final long[] stagedInputs;

    private final long[] stagedOutputs;
    private MemorySegment staging = MemorySegment.NULL;
    /** Runs short calls; null for others. */
    private final @Nullable OneShot oneShot;
    /** True if what is not shared goes through windows; else it is staged whole. */
    private final boolean mayCut;

    private final long blocksPerWindow;
    /** Bytes of one of a buffer's two windows. */
    private final long windowBytes;

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
            boolean inPlace,
            Job job,
            SharedPieces pieces,
            Inboxes inboxes,
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
        allInputs = new MemorySegment[job.ranks()];
        allOutputs = new MemorySegment[job.ranks()];
        oneShot = OneShot.suits(sizes, job.ranks())
                ? new OneShot(work, name, this.kind, sizes, inPlace, job, inboxes)
                : null;
        long end = work.isAligned() ? work.place(work.blocks()) : 0;
        mayCut = end > 0 && end == sizes.input() && end == sizes.output();
        boolean isLong = mayCut && end > 2 * WINDOW_BYTES;
        blocksPerWindow = isLong ? WINDOW_BYTES / work.place(1) : work.blocks();
        windowBytes = isLong ? WINDOW_BYTES : end;
    }

    /** @param in of each rank; those of other processes are ignored, as those in {@code out} are */
    @Override
    public void run(MemorySegment[] in, MemorySegment[] out) {
        lock.lock();
        try {
            job.checkUnbroken(name);
            OneShot whole = oneShot;
            if (whole != null) {
                whole.run(in, out, timeoutNanos);
                return;
            }
            long deadline = System.nanoTime() + timeoutNanos;
            post(in, out);
            copyIn(in, 0, blocksPerWindow, 0);
            control.setCall(job.process(), kind);
            control.setNextBlock(job.process(), shareOf(job.process(), 0, work.blocks()));
            job.meet(name, deadline - System.nanoTime());
            try {
                runAll(in, out, deadline);
            } catch (Throwable e) {
                // Others would take a later call of this process for its part in this one.
                job.fail();
                throw e;
            }
        } finally {
            lock.unlock();
        }
    }

    private void runAll(MemorySegment[] in, MemorySegment[] out, long deadline) {
        checkCalls();
        if (mayCut && hasWindows()) {
            runWindows(in, out, deadline);
            return;
        }
        resolve(0, 0);
        work.begin(allInputs, allOutputs);
        try {
            takeBlocks();
        } finally {
            work.end();
        }
        job.meet(name, deadline - System.nanoTime());
        copyOut(out, 0, blocksPerWindow, 0);
    }

    /**
     * Runs window by window: while the blocks of one run, the next one's inputs are copied, and between two of them the
     * processes meet.
     */
    private void runWindows(MemorySegment[] in, MemorySegment[] out, long deadline) {
        long blocks = work.blocks();
        int half = 0;
        long begin = 0;
        do {
            long end = Math.min(begin + blocksPerWindow, blocks);
            resolve(begin, half);
            System.arraycopy(in, first, allInputs, first, ranksHeld);
            System.arraycopy(out, first, allOutputs, first, ranksHeld);
            work.runBlocks(
                    allInputs, allOutputs, shareOf(job.process(), begin, end), shareOf(job.process() + 1, begin, end));
            if (end < blocks) {
                long nextEnd = Math.min(end + blocksPerWindow, blocks);
                copyIn(in, end, nextEnd, 1 - half);
            }
            job.meet(name, deadline - System.nanoTime());
            copyOut(out, begin, end, half);
            half = 1 - half;
            begin = end;
        } while (begin < blocks);
    }

    /** Returns where the share of a process begins of some blocks; that of process n is the end. */
    private long shareOf(int process, long begin, long end) {
        return begin + (end - begin) * process / job.processes();
    }

    /** Says where the buffers of this process are, and finds staging memory for those that are not shared. */
    private void post(MemorySegment[] in, MemorySegment[] out) {
        long end = 0;
        for (int r = 0; r < ranksHeld; r++) {
            long free = end;
            end = post(r, false, in[first + r], free);
            boolean isInPlace = isSame(in[first + r], out[first + r]);
            end = Math.max(end, post(r, true, out[first + r], isInPlace ? free : end));
        }
        if (end == 0) {
            return;
        }
        int piece = pieces.staging(end);
        staging = pieces.piece(job.process(), piece);
        for (int r = 0; r < ranksHeld; r++) {
            postStaged(r, false, piece, stagedInputs[r]);
            postStaged(r, true, piece, stagedOutputs[r]);
        }
    }

    private void postStaged(int rank, boolean isOutput, int piece, long offset) {
        if (offset == NONE) {
            return;
        }
        if (mayCut) {
            control.setWindows(job.process(), rank, isOutput, piece, offset);
        } else {
            control.setBuffer(job.process(), rank, isOutput, piece, offset);
        }
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
        return free + Inboxes.aligned(mayCut ? 2 * windowBytes : bytes);
    }

    /** Copies what others need for some blocks of inputs that are not shared; without windows, all of them. */
    private void copyIn(MemorySegment[] in, long begin, long end, int half) {
        for (int r = 0; r < ranksHeld; r++) {
            if (stagedInputs[r] != NONE && mayCut) {
                long window = stagedInputs[r] + half * windowBytes - work.place(begin);
                copyForOthers(in[first + r], 0, staging, window, begin, end);
            } else if (stagedInputs[r] != NONE) {
                MemorySegment.copy(in[first + r], 0, staging, stagedInputs[r], sizes.input());
            }
        }
    }

    /** Copies what others have written in some blocks to outputs that are not shared; without windows, all of them. */
    private void copyOut(MemorySegment[] out, long begin, long end, int half) {
        for (int r = 0; r < ranksHeld; r++) {
            if (stagedOutputs[r] != NONE && mayCut) {
                long window = stagedOutputs[r] + half * windowBytes - work.place(begin);
                copyForOthers(staging, window, out[first + r], 0, begin, end);
            } else if (stagedOutputs[r] != NONE) {
                MemorySegment.copy(staging, stagedOutputs[r], out[first + r], 0, sizes.output());
            }
        }
    }

    /** Copies some blocks but those of this process's share, each to its place behind a shift in bytes. */
    private void copyForOthers(
            MemorySegment from, long fromShift, MemorySegment to, long toShift, long begin, long end) {
        long start = work.place(begin);
        long share = work.place(shareOf(job.process(), begin, end));
        long behindShare = work.place(shareOf(job.process() + 1, begin, end));
        MemorySegment.copy(from, fromShift + start, to, toShift + start, share - start);
        long last = work.place(end);
        MemorySegment.copy(from, fromShift + behindShare, to, toShift + behindShare, last - behindShare);
    }

    private void checkCalls() {
        for (int p = 0; p < job.processes(); p++) {
            if (control.call(p) != kind) {
                throw new IllegalStateException(otherCall(p, name));
            }
        }
    }

    static String otherCall(int process, String name) {
        return "process " + process + " makes another call than " + name
                + " of this process, or with another count, type or operation; let all processes make the same calls in"
                + " the same order";
    }

    /** Returns whether a buffer of some process goes through windows. */
    private boolean hasWindows() {
        for (int p = 0; p < job.processes(); p++) {
            for (int r = 0; r < job.firstRank(p + 1) - job.firstRank(p); r++) {
                if (control.hasWindows(p, r, false) || control.hasWindows(p, r, true)) {
                    return true;
                }
            }
        }
        return false;
    }

    private void resolve(long begin, int half) {
        for (int p = 0; p < job.processes(); p++) {
            int rank = job.firstRank(p);
            for (int r = 0; rank + r < job.firstRank(p + 1); r++) {
                allInputs[rank + r] = buffer(p, r, false, begin, half);
                allOutputs[rank + r] = buffer(p, r, true, begin, half);
            }
        }
    }

    private MemorySegment buffer(int process, int rank, boolean isOutput, long begin, int half) {
        int piece = control.piece(process, rank, isOutput);
        if (piece == NONE) {
            return MemorySegment.NULL;
        }
        MemorySegment shared = pieces.piece(process, piece).asSlice(control.offset(process, rank, isOutput));
        return control.hasWindows(process, rank, isOutput)
                ? seenFromBegin(shared.address() + half * windowBytes - work.place(begin))
                : shared;
    }

    /** Returns a buffer of which nothing is there but a window; blocks go nowhere else. */
    @SuppressWarnings("restricted")
    private MemorySegment seenFromBegin(long address) {
        return MemorySegment.ofAddress(address).reinterpret(sizes.output());
    }

    private void takeBlocks() {
        for (int i = 0; i < job.processes(); i++) {
            int process = (job.process() + i) % job.processes();
            long shareEnd = shareOf(process + 1, 0, work.blocks());
            for (long block = control.takeBlock(process, shareEnd);
                    block >= 0;
                    block = control.takeBlock(process, shareEnd)) {
                work.runBlock(0, block);
            }
        }
    }

    @Override
    public void warmUp() {
        work.warmUp();
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

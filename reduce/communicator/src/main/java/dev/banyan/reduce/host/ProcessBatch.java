package dev.banyan.reduce.host;

import dev.banyan.reduce.backend.Backend;
import dev.banyan.reduce.backend.Completion;
import dev.banyan.reduce.internal.processes.ControlBlock;
import dev.banyan.reduce.internal.processes.Job;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Calls that one thread starts together. Short ones that follow each other run as one: the processes meet once before
 * and once after all of them, not for each. Which calls these are depends only on what all processes know. Calls whose
 * buffers overlap in some process run one after another.
 *
 * <p>Each process says where its buffers are in a table in shared memory: first whether some of them overlap, then for
 * each call and rank four longs: piece and offset of the input, piece and offset of the output.
 *
 * <p>Used by one thread.
 */
final class ProcessBatch implements Backend.Group {
    /** Longer calls cost much more than meetings. */
    private static final long LONGEST_BYTES = 2 << 20;
    /** What is not shared is copied, and should stay in caches until the sums are made. */
    private static final long BATCH_BYTES = 4 << 20;

    static final int TABLE_BYTES = 64 << 10;
    private static final int HEAD_BYTES = 8;
    private static final int ENTRY_BYTES = 32;
    private static final int ALIGNMENT = 64;
    private static final long NONE = -1;
    private static final int COUNTER = 0;

    private static final class Member {
        private final ProcessExecutable executable;
        private final MemorySegment[] inputs;
        private final MemorySegment[] outputs;
        private final Completion completion;

        Member(ProcessExecutable executable, MemorySegment[] inputs, MemorySegment[] outputs, Completion completion) {
            this.executable = executable;
            this.inputs = inputs.clone();
            this.outputs = outputs.clone();
            this.completion = completion;
        }

        /** Returns how many bytes a rank has of it, the same in all processes. */
        long bytesOfARank() {
            return executable.sizes().input() + executable.sizes().output();
        }
    }

    /** A buffer that is not shared, and its copy. */
    private record Staged(MemorySegment buffer, long bytes, long offset, boolean isInput, boolean isOutput) {}

    private final Job job;
    private final ControlBlock control;
    private final SharedPieces pieces;
    private final ReentrantLock lock;
    private final long timeoutNanos;
    private final Runnable closing;
    private final List<Member> members = new ArrayList<>();
    private final List<Staged> staged = new ArrayList<>();
    private long bytes;

    /**
     * @param lock held while anything of the backend runs
     * @param closing called when the batch is closed
     */
    ProcessBatch(Job job, SharedPieces pieces, ReentrantLock lock, long timeoutNanos, Runnable closing) {
        this.job = job;
        this.pieces = pieces;
        this.lock = lock;
        this.timeoutNanos = timeoutNanos;
        this.closing = closing;
        control = job.block();
    }

    /** Adds a call, or runs it behind those that were added. */
    void add(ProcessExecutable executable, MemorySegment[] in, MemorySegment[] out, Completion completion) {
        Member member = new Member(executable, in, out, completion);
        long bytesOfARank = member.bytesOfARank();
        if (bytesOfARank > LONGEST_BYTES) {
            flush();
            run(member);
            return;
        }
        if (bytes + bytesOfARank > BATCH_BYTES || members.size() == mostMembers()) {
            flush();
        }
        members.add(member);
        bytes += bytesOfARank;
    }

    /** As many as the table of the process with the most ranks has room for. */
    private int mostMembers() {
        int most = 1;
        for (int p = 0; p < job.processes(); p++) {
            most = Math.max(most, job.firstRank(p + 1) - job.firstRank(p));
        }
        return (TABLE_BYTES - HEAD_BYTES) / (ENTRY_BYTES * most);
    }

    @Override
    public void close() {
        try {
            flush();
        } finally {
            closing.run();
        }
    }

    private static void run(Member member) {
        try {
            member.executable.run(member.inputs, member.outputs);
        } catch (RuntimeException e) {
            member.completion.ended(e);
            return;
        }
        member.completion.ended(null);
    }

    private void flush() {
        if (members.isEmpty()) {
            return;
        }
        List<Member> together = List.copyOf(members);
        members.clear();
        bytes = 0;
        if (together.size() == 1) {
            run(together.getFirst());
            return;
        }
        boolean ran;
        try {
            ran = runTogether(together);
        } catch (RuntimeException e) {
            together.forEach(member -> member.completion.ended(e));
            return;
        }
        if (ran) {
            together.forEach(member -> member.completion.ended(null));
        } else {
            together.forEach(ProcessBatch::run);
        }
    }

    /** Returns false, having run nothing, if buffers of some process overlap. */
    private boolean runTogether(List<Member> together) {
        String name = together.getFirst().executable.name() + " and " + (together.size() - 1) + " calls behind it";
        lock.lock();
        try {
            job.checkUnbroken(name);
            long deadline = System.nanoTime() + timeoutNanos;
            boolean overlap = overlap(together);
            post(together, overlap);
            if (!overlap) {
                staged.stream().filter(Staged::isInput).forEach(this::copyIn);
            }
            long[] ends = ends(together);
            long blocks = ends[ends.length - 1];
            control.setCall(job.process(), kind(together));
            control.setNextBlock(job.process(), COUNTER, shareOf(job.process(), blocks));
            job.meet(name, deadline - System.nanoTime());
            try {
                checkCalls(kind(together), name);
                boolean anyOverlap = overlaps();
                if (!anyOverlap) {
                    takeBlocks(together, ends);
                }
                job.meet(name, deadline - System.nanoTime());
                if (!anyOverlap) {
                    staged.stream().filter(Staged::isOutput).forEach(this::copyOut);
                }
                return !anyOverlap;
            } catch (Throwable e) {
                // Others would take a later call of this process for its part in this one.
                job.fail();
                throw e;
            }
        } finally {
            staged.clear();
            lock.unlock();
        }
    }

    private static long kind(List<Member> together) {
        long kind = together.size();
        for (Member member : together) {
            kind = 31 * kind + member.executable.kind();
        }
        return kind;
    }

    private void checkCalls(long kind, String name) {
        for (int p = 0; p < job.processes(); p++) {
            if (control.call(p) != kind) {
                throw new IllegalStateException("process " + p + " makes other calls than " + name
                        + " of this process; let all processes make the same calls in the same order");
            }
        }
    }

    private long shareOf(int process, long blocks) {
        return blocks * process / job.processes();
    }

    /** Returns the end of the blocks of each call, counted over all calls. */
    private static long[] ends(List<Member> together) {
        long[] ends = new long[together.size()];
        long end = 0;
        for (int m = 0; m < ends.length; m++) {
            end += together.get(m).executable.work().blocks();
            ends[m] = end;
        }
        return ends;
    }

    /** A buffer of a call. */
    private record Range(long begin, long end, int member, boolean isWritten) {}

    /** Returns whether a call writes what another one touches. */
    private boolean overlap(List<Member> together) {
        List<Range> ranges = new ArrayList<>();
        for (int m = 0; m < together.size(); m++) {
            Member member = together.get(m);
            for (int r = job.firstRank(); r < job.firstRank() + job.ranksHeld(); r++) {
                add(ranges, member.inputs[r], m, member.executable.sizes(), false);
                add(ranges, member.outputs[r], m, member.executable.sizes(), true);
            }
        }
        ranges.sort(Comparator.comparingLong(Range::begin));
        for (int i = 0; i < ranges.size(); i++) {
            Range range = ranges.get(i);
            for (int j = i + 1; j < ranges.size() && ranges.get(j).begin() < range.end(); j++) {
                Range other = ranges.get(j);
                if (range.member() != other.member() && (range.isWritten() || other.isWritten())) {
                    return true;
                }
            }
        }
        return false;
    }

    private static void add(
            List<Range> ranges, MemorySegment buffer, int member, ProcessExecutable.Sizes sizes, boolean isOutput) {
        long length = sizes.of(buffer, isOutput);
        if (length > 0) {
            ranges.add(new Range(buffer.address(), buffer.address() + length, member, isOutput));
        }
    }

    /** Says where the buffers of this process are, and finds room for those that are not shared. */
    private void post(List<Member> together, boolean overlap) {
        MemorySegment table = pieces.piece(job.process(), pieces.table());
        control.setBuffer(job.process(), 0, false, pieces.table(), 0);
        table.set(ValueLayout.JAVA_LONG, 0, overlap ? 1 : 0);
        if (overlap) {
            return;
        }
        long at = HEAD_BYTES;
        long free = 0;
        for (Member member : together) {
            ProcessExecutable.Sizes sizes = member.executable.sizes();
            for (int r = job.firstRank(); r < job.firstRank() + job.ranksHeld(); r++) {
                MemorySegment in = member.inputs[r];
                MemorySegment out = member.outputs[r];
                boolean inPlace = ProcessExecutable.isSame(in, out);
                long inputAt = free;
                free = post(table, at, in, sizes.of(in, false), free, true, inPlace);
                if (inPlace) {
                    MemorySegment.copy(table, at, table, at + 16, 16);
                    free = Math.max(free, inputAt + room(Math.max(sizes.of(in, false), sizes.of(out, true))));
                } else {
                    free = post(table, at + 16, out, sizes.of(out, true), free, false, true);
                }
                at += ENTRY_BYTES;
            }
        }
        if (free > 0) {
            stage(table, at, pieces.staging(free));
        }
    }

    private static long room(long bytes) {
        return Math.ceilDiv(bytes, ALIGNMENT) * ALIGNMENT;
    }

    /** Returns the first free byte of the staging memory behind the buffer's copy, if it has one. */
    private long post(
            MemorySegment table,
            long at,
            MemorySegment buffer,
            long length,
            long free,
            boolean isInput,
            boolean isOutput) {
        SharedPieces.Place place = length == 0 ? null : pieces.find(buffer);
        table.set(ValueLayout.JAVA_LONG, at, place == null ? NONE : place.piece());
        table.set(ValueLayout.JAVA_LONG, at + 8, place == null ? free : place.offset());
        if (length == 0 || place != null) {
            return free;
        }
        // The piece is known when all room that is needed is.
        table.set(ValueLayout.JAVA_LONG, at, NONE - 1);
        staged.add(new Staged(buffer, length, free, isInput, isOutput));
        return free + room(length);
    }

    /** Writes the number of the staging memory to the entries of what is not shared. */
    private static void stage(MemorySegment table, long end, int piece) {
        for (long at = HEAD_BYTES; at < end; at += 16) {
            if (table.get(ValueLayout.JAVA_LONG, at) == NONE - 1) {
                table.set(ValueLayout.JAVA_LONG, at, piece);
            }
        }
    }

    private MemorySegment staging() {
        return pieces.piece(job.process(), pieces.staging(0));
    }

    private void copyIn(Staged copy) {
        MemorySegment.copy(copy.buffer(), 0, staging(), copy.offset(), copy.bytes());
    }

    private void copyOut(Staged copy) {
        MemorySegment.copy(staging(), copy.offset(), copy.buffer(), 0, copy.bytes());
    }

    private MemorySegment table(int process) {
        return pieces.piece(process, control.piece(process, 0, false));
    }

    /** Returns whether buffers of some process overlap. */
    private boolean overlaps() {
        boolean overlaps = false;
        for (int p = 0; p < job.processes(); p++) {
            overlaps |= table(p).get(ValueLayout.JAVA_LONG, 0) != 0;
        }
        return overlaps;
    }

    /** Runs the blocks of this process's share, and then those of others that they have not taken yet. */
    private void takeBlocks(List<Member> together, long[] ends) {
        MemorySegment[] inputs = new MemorySegment[job.ranks()];
        MemorySegment[] outputs = new MemorySegment[job.ranks()];
        long blocks = ends[ends.length - 1];
        int current = -1;
        try {
            for (int i = 0; i < job.processes(); i++) {
                int process = (job.process() + i) % job.processes();
                long shareEnd = shareOf(process + 1, blocks);
                int member = 0;
                for (long block = control.takeBlock(process, COUNTER, shareEnd);
                        block >= 0;
                        block = control.takeBlock(process, COUNTER, shareEnd)) {
                    while (block >= ends[member]) {
                        member++;
                    }
                    if (member != current) {
                        if (current >= 0) {
                            together.get(current).executable.work().end();
                        }
                        current = -1;
                        resolve(member, inputs, outputs);
                        together.get(member).executable.work().begin(inputs, outputs);
                        current = member;
                    }
                    together.get(member).executable.work().runBlock(0, block - (member == 0 ? 0 : ends[member - 1]));
                }
            }
        } finally {
            if (current >= 0) {
                together.get(current).executable.work().end();
            }
        }
    }

    private void resolve(int member, MemorySegment[] inputs, MemorySegment[] outputs) {
        for (int p = 0; p < job.processes(); p++) {
            MemorySegment table = table(p);
            int held = job.firstRank(p + 1) - job.firstRank(p);
            for (int r = 0; r < held; r++) {
                long at = HEAD_BYTES + (long) ENTRY_BYTES * (member * held + r);
                inputs[job.firstRank(p) + r] = buffer(p, table, at);
                outputs[job.firstRank(p) + r] = buffer(p, table, at + 16);
            }
        }
    }

    private MemorySegment buffer(int process, MemorySegment table, long at) {
        long piece = table.get(ValueLayout.JAVA_LONG, at);
        return piece == NONE
                ? MemorySegment.NULL
                : pieces.piece(process, (int) piece).asSlice(table.get(ValueLayout.JAVA_LONG, at + 8));
    }
}

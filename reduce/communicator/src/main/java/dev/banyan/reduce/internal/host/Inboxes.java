package dev.banyan.reduce.internal.host;

import dev.banyan.reduce.internal.processes.Job;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * The shared memory in which processes of a job give each other the inputs of {@linkplain OneShot short calls}. Each
 * process has an inbox of two halves in shared memory, which calls use in turns: a process that begins to write to a
 * half has met the others since they read it last. A half begins with the number and the kind of the call.
 *
 * <p>Used by one thread at a time.
 */
final class Inboxes implements AutoCloseable {
    /** Greatest number of bytes of all ranks' inputs, and of their outputs. */
    static final long MOST_BYTES = 64 << 10;

    /** Buffers begin on cache lines. */
    private static final long ALIGNMENT = 64;

    private static final long KIND = 8;
    private static final long HEAD_BYTES = ALIGNMENT;
    private static final long HALF_BYTES = HEAD_BYTES + MOST_BYTES;
    static final long BYTES = 2 * HALF_BYTES;

    private final Job job;
    private final SharedPieces pieces;
    private final Arena arena = Arena.ofShared();
    private final MemorySegment inputs = arena.allocate(MOST_BYTES, ALIGNMENT);
    private final MemorySegment outputs = arena.allocate(MOST_BYTES, ALIGNMENT);
    private long call;

    Inboxes(Job job, SharedPieces pieces) {
        this.job = job;
        this.pieces = pieces;
    }

    /** Returns a number of bytes, rounded up to whole cache lines. */
    static long aligned(long bytes) {
        return Math.ceilDiv(bytes, ALIGNMENT) * ALIGNMENT;
    }

    /** Returns private memory for copies of inputs. */
    MemorySegment inputs() {
        return inputs;
    }

    /** Returns private memory for outputs of other processes' ranks, which nobody reads. */
    MemorySegment outputs() {
        return outputs;
    }

    /** Begins a call, the next one in all processes. */
    void begin(long kind) {
        call++;
        MemorySegment own = pieces.inbox(job.process());
        own.set(ValueLayout.JAVA_LONG, half(), call);
        own.set(ValueLayout.JAVA_LONG, half() + KIND, kind);
    }

    /** Returns whether a process has begun the same call; asked when it has arrived. */
    boolean hasBegun(int process, long kind) {
        MemorySegment inbox = pieces.inbox(process);
        return inbox.get(ValueLayout.JAVA_LONG, half()) == call
                && inbox.get(ValueLayout.JAVA_LONG, half() + KIND) == kind;
    }

    private long half() {
        return (call & 1) * HALF_BYTES;
    }

    /**
     * Gives an input to the others.
     *
     * @param at place in the inbox, in bytes
     */
    void give(MemorySegment input, long at, long bytes) {
        MemorySegment.copy(input, 0, pieces.inbox(job.process()), half() + HEAD_BYTES + at, bytes);
    }

    /** Takes an input that another process has given. */
    void take(int process, long at, MemorySegment target, long bytes) {
        MemorySegment.copy(pieces.inbox(process), half() + HEAD_BYTES + at, target, 0, bytes);
    }

    @Override
    public void close() {
        arena.close();
    }
}

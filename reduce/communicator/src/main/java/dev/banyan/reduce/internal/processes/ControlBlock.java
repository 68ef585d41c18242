package dev.banyan.reduce.internal.processes;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import java.nio.charset.StandardCharsets;

/**
 * The state that the processes of a job share, in memory that all have mapped. Offsets in bytes:
 *
 * <pre>
 *     0 i64 magic   8 i32 processes   64 i32 generation   68 i32 waiters   128 i64 what broke the job
 * 4,096 a page for each process:
 *     0 i64 process id and start   16 i64 ranks   24 i64 fingerprint   32 i64 state   128 i64 arrivals
 *   192 i64 runs started
 *   256 i64 next block   384 i64 kind of the call   512 for each rank four words: input and output, each a piece of
 *       memory and an offset   3,072 for each piece of memory i64 descriptor, i64 bytes
 * </pre>
 *
 * <p>A process writes to its own page alone, but for its next block. What it wrote before it {@linkplain Gate#pass
 * arrived} is seen by those that have waited for that.
 */
public final class ControlBlock {
    private static final long MAGIC = 0x62616e79616e3033L;
    private static final int PAGE = 4096;

    private static final int PROCESSES = 8;
    static final int GENERATION = 64;
    static final int WAITERS = 68;
    private static final int BROKEN = 128;

    /** Why a process breaks a job. */
    enum Break {
        /** Something failed in it. */
        FAILED(1L << 32),
        /** It has ended, or has left. */
        LOST(1L << 33),
        /** Two processes have its number. */
        TWICE(1L << 34),
        LATE(0);

        private final long flag;

        Break(long flag) {
            this.flag = flag;
        }
    }

    private static final int ID = 0;
    private static final int RANKS = 16;
    private static final int FINGERPRINT = 24;
    private static final int STATE = 32;
    private static final int ARRIVALS = 128;
    private static final int STARTED = 192;
    private static final int NEXT_BLOCK = 256;
    private static final int CALL = 384;
    private static final int BUFFERS = 512;
    private static final int PIECES = 3072;
    /** Marks the number of a piece. */
    private static final int WINDOWS = 1 << 30;

    /** Greatest number of ranks of one process. */
    public static final int MOST_RANKS = (PIECES - BUFFERS) / 32;
    /** Greatest number of pieces of memory of one process. */
    public static final int MOST_PIECES = (PAGE - PIECES) / 16;

    /** States of a process. */
    private static final long JOINED = 1;

    private static final long LEFT = 2;
    private static final long CLOSED = 3;

    private static final VarHandle LONG = ValueLayout.JAVA_LONG.varHandle();
    private static final VarHandle INT = ValueLayout.JAVA_INT.varHandle();

    private final MemorySegment memory;

    private ControlBlock(MemorySegment memory) {
        this.memory = memory;
    }

    /** Returns its length in bytes. */
    private static long bytes(int processes) {
        return PAGE * (1L + processes);
    }

    /** @throws IllegalStateException if it is of another version or another number of processes */
    static ControlBlock of(MemorySegment memory, int processes) {
        ControlBlock block = new ControlBlock(memory);
        if ((long) LONG.getAcquire(memory, 0L) != MAGIC || block.processes() != processes) {
            throw new IllegalStateException("rank 0 of this job has another version of this library, or "
                    + block.processes() + " processes instead of " + processes + "; start all with the same settings");
        }
        return block;
    }

    /** Makes the memory of a block. */
    public static SharedMemory make(int processes) {
        SharedMemory made = SharedMemory.create("banyan-control", bytes(processes));
        INT.set(made.memory(), (long) PROCESSES, processes);
        LONG.setRelease(made.memory(), 0L, MAGIC);
        return made;
    }

    /** Opens the memory of a block that another process has made, as {@link SharedMemory#open} does. */
    public static SharedMemory open(ProcessId maker, int descriptor, int processes) {
        return SharedMemory.open(maker, descriptor, bytes(processes));
    }

    /** Returns the number of processes. */
    public int processes() {
        return (int) INT.get(memory, (long) PROCESSES);
    }

    private static long page(int process) {
        return PAGE * (1L + process);
    }

    private long get(int process, int field) {
        return (long) LONG.getAcquire(memory, page(process) + field);
    }

    private void set(int process, int field, long value) {
        LONG.setRelease(memory, page(process) + field, value);
    }

    /**
     * Takes the page of a process.
     *
     * @throws IllegalStateException if another process has taken it
     */
    void join(int process, ProcessId id, int ranks, long fingerprint) {
        // From here on the others can watch the process.
        if (!LONG.compareAndSet(memory, page(process) + ID, 0L, id.packed())) {
            breakBy(process, Break.TWICE);
            throw new IllegalStateException(twice(process));
        }
        set(process, RANKS, ranks);
        set(process, FINGERPRINT, fingerprint);
        set(process, STATE, JOINED);
    }

    /** Returns the message of a job in which two processes have one number. */
    static String twice(int process) {
        return "two processes are number " + process
                + " of this job; give each its own BANYAN_RANK, and each job its own BANYAN_RENDEZVOUS";
    }

    /** Returns whether {@link #id} is known. */
    boolean isKnown(int process) {
        return get(process, ID) != 0;
    }

    boolean hasJoined(int process) {
        return get(process, STATE) >= JOINED;
    }

    void leave(int process) {
        set(process, STATE, LEFT);
    }

    boolean hasLeft(int process) {
        return get(process, STATE) >= LEFT;
    }

    /** Notes that a process that has left has given back what it had of the others' memory. */
    void close(int process) {
        set(process, STATE, CLOSED);
    }

    boolean isClosed(int process) {
        return get(process, STATE) == CLOSED;
    }

    /** Sets how many runs a process has started. */
    void setStarted(int process, long runs) {
        set(process, STARTED, runs);
    }

    long started(int process) {
        return get(process, STARTED);
    }

    /** Returns a process that has joined or is about to. */
    public ProcessId id(int process) {
        return ProcessId.unpacked(get(process, ID));
    }

    /** Returns how many ranks a process holds that has joined. */
    public int ranks(int process) {
        return (int) get(process, RANKS);
    }

    long fingerprint(int process) {
        return get(process, FINGERPRINT);
    }

    long arrivals(int process) {
        return get(process, ARRIVALS);
    }

    void setArrivals(int process, long arrivals) {
        set(process, ARRIVALS, arrivals);
    }

    int generation() {
        return (int) INT.getVolatile(memory, (long) GENERATION);
    }

    void nextGeneration() {
        int _ = (int) INT.getAndAdd(memory, (long) GENERATION, 1);
    }

    int waiters() {
        return (int) INT.getVolatile(memory, (long) WAITERS);
    }

    void addWaiters(int change) {
        int _ = (int) INT.getAndAdd(memory, (long) WAITERS, change);
    }

    long generationAddress() {
        return memory.address() + GENERATION;
    }

    /** Returns the process that broke the job, or -1. */
    int breaker() {
        return (int) ((long) LONG.getAcquire(memory, (long) BROKEN) & Integer.MAX_VALUE) - 1;
    }

    /** Returns whether the job was broken for a reason. */
    boolean isBrokenAs(Break reason) {
        return ((long) LONG.getAcquire(memory, (long) BROKEN) & reason.flag) != 0;
    }

    /** Breaks the job because of a process, unless it is broken. */
    void breakBy(int process, Break reason) {
        boolean _ = LONG.compareAndSet(memory, (long) BROKEN, 0L, process + 1L + reason.flag);
    }

    /** Sets which call a process begins. */
    public void setCall(int process, long kind) {
        set(process, CALL, kind);
    }

    /** Returns which call a process has begun. */
    public long call(int process) {
        return get(process, CALL);
    }

    /** Sets where a process's share of blocks begins. */
    public void setNextBlock(int process, long block) {
        set(process, NEXT_BLOCK, block);
    }

    /**
     * Takes the next block of a process's share.
     *
     * @param end of the share
     * @return the block, or -1 if all are taken
     */
    public long takeBlock(int process, long end) {
        long at = page(process) + NEXT_BLOCK;
        long next = (long) LONG.getAcquire(memory, at);
        while (next < end) {
            // The counter may go on to a later share meanwhile, of which nothing must be taken.
            long before = (long) LONG.compareAndExchange(memory, at, next, next + 1);
            if (before == next) {
                return next;
            }
            next = before;
        }
        return -1;
    }

    /**
     * Sets where a buffer is.
     *
     * @param rank 0..r-1 of the process's r ranks
     * @param isOutput whether it is the output
     * @param piece of the process's memory
     * @param offset in bytes
     */
    public void setBuffer(int process, int rank, boolean isOutput, int piece, long offset) {
        int field = buffer(rank, isOutput);
        set(process, field, piece);
        set(process, field + 8, offset);
    }

    /** Sets where two windows are through which a buffer goes, as {@link #setBuffer} does for a whole one. */
    public void setWindows(int process, int rank, boolean isOutput, int piece, long offset) {
        setBuffer(process, rank, isOutput, piece | WINDOWS, offset);
    }

    /** Returns whether a buffer goes through windows. */
    public boolean hasWindows(int process, int rank, boolean isOutput) {
        long field = get(process, buffer(rank, isOutput));
        return field >= 0 && (field & WINDOWS) != 0;
    }

    private static int buffer(int rank, boolean isOutput) {
        return BUFFERS + 32 * rank + (isOutput ? 16 : 0);
    }

    /** Returns the piece of memory that a buffer or its windows are in, or a negative number as it was set. */
    public int piece(int process, int rank, boolean isOutput) {
        int field = (int) get(process, buffer(rank, isOutput));
        return field < 0 ? field : field & ~WINDOWS;
    }

    /** Returns where a buffer begins in its piece, in bytes. */
    public long offset(int process, int rank, boolean isOutput) {
        return get(process, buffer(rank, isOutput) + 8);
    }

    /** Adds a piece of memory, which others may map from the next arrival on. */
    public void setPiece(int process, int piece, int descriptor, long bytes) {
        set(process, PIECES + 16 * piece, descriptor);
        set(process, PIECES + 16 * piece + 8, bytes);
    }

    /** Maps a piece of another process's memory. */
    public SharedMemory open(int process, int piece) {
        return SharedMemory.open(
                id(process), (int) get(process, PIECES + 16 * piece), get(process, PIECES + 16 * piece + 8));
    }

    /** Returns a number for text, the same in all processes. */
    public static long fingerprint(String text) {
        long hash = 0xcbf29ce484222325L;
        for (byte each : text.getBytes(StandardCharsets.UTF_8)) {
            hash = (hash ^ each) * 0x100000001b3L;
        }
        return hash;
    }
}

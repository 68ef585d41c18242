package dev.banyan.cuda.internal.ptx;

import static dev.banyan.cuda.internal.ptx.PtxText.Register.LONG;
import static dev.banyan.cuda.internal.ptx.PtxText.Register.PREDICATE;
import static dev.banyan.cuda.internal.ptx.PtxText.Register.WORD;

/** The shared state of a program kernel's parts: registers that live from one part to the next, and shared memory. */
final class ProgramRegisters {
    /** The record of the current loop. */
    static final String RECORD = "record";
    /** The {@linkplain ProgramCall record} of the current call; of the only call of a launch the buffers alone. */
    static final String CALL = "call";
    /** Inputs, then outputs of the current slice: u64 address, u32 form, u32 channel. */
    static final String PLACES = "places";
    /** Not 0 if a thread has reported why the block stops. */
    static final String STOP = "stop";
    /** Time in ns at which the block began. */
    static final String BEGIN = "begin";

    static final int PLACE_STRIDE = 16;
    static final int FORM_OFFSET = 8;
    static final int CHANNEL_OFFSET = 12;

    /** Index of the thread in its block, of which workers are the first. */
    final String thread;
    /** Number of workers. */
    final String workers;
    /** Threads of a block. */
    final String threads;
    /** Address of the current call of a batch, or 0 if the parameters are the only call. */
    final String call;
    /** Calls of a batch that are left, with the current one. */
    final String calls;
    /** State of the current call: address of the table, and base of the flags. */
    final String table;

    final String base;
    /** The set of slots that lines are in, 0 or 1, and 2 more if these are known to be free. */
    final String sets;
    /** Address of the records of this block in the table, less the head of the table. */
    final String head;
    /** Loops that are left. */
    final String loops;
    /** A predicate: the block stops. */
    final String stopped;

    /** Addresses of the shared arrays. */
    final String record;

    final String places;

    /**
     * State of the current loop, in shared memory: address of the place of the first output, and behind that of the
     * last one.
     */
    final String firstOutput;

    final String outputsEnd;

    /** Predicates of the current loop: not all places are aligned to 16 bytes; the protocol has lines. */
    final String scalar;

    final String lines;

    /** The result is the only input. */
    final String copies;

    /** State of the current slice: its number, its elements, and the values of its flags when it is done. */
    final String slice;

    final String count;
    final String flag;

    ProgramRegisters(PtxText text) {
        text.shared(RECORD, ProgramLoop.MOST_BYTES);
        text.shared(CALL, ProgramCall.BYTES);
        text.shared(PLACES, PLACE_STRIDE * (ProgramLoop.MOST_INPUTS + ProgramLoop.MOST_OUTPUTS));
        text.shared(STOP, 4);
        text.shared(BEGIN, 8);
        call = text.emit(LONG, "ld.param.u64", "[calls]");
        calls = text.emit(WORD, "cvt.u32.u64", text.emit(LONG, "ld.param.u64", "[count]"));
        table = text.register(LONG);
        base = text.register(LONG);
        sets = text.emit(WORD, "cvt.u32.u64", text.emit(LONG, "ld.param.u64", "[sets]"));
        head = text.register(LONG);
        loops = text.register(WORD);
        thread = text.emit(WORD, "mov.u32", "%tid.x");
        threads = text.emit(WORD, "mov.u32", "%ntid.x");
        workers = text.emit(WORD, "sub.u32", threads, Kernel.Program.POSTING_THREADS);
        stopped = text.emit(PREDICATE, "setp.ne.u32", thread, thread);
        record = text.emit(WORD, "mov.u32", RECORD);
        places = text.emit(WORD, "mov.u32", PLACES);
        firstOutput = text.register(WORD);
        outputsEnd = text.register(WORD);
        scalar = text.register(PREDICATE);
        lines = text.register(PREDICATE);
        copies = text.register(PREDICATE);
        slice = text.register(WORD);
        count = text.register(WORD);
        flag = text.register(LONG);
    }
}

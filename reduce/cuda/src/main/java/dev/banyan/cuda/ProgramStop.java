package dev.banyan.cuda;

import static dev.banyan.cuda.PtxText.Register.LONG;
import static dev.banyan.cuda.PtxText.Register.PREDICATE;
import static dev.banyan.cuda.PtxText.Register.WORD;

/** Writes the part of a polling loop that ends the block when the launch is aborted or has timed out. */
final class ProgramStop {
    /** Polls between two looks at the abort word and the clock; a power of two. */
    private static final int POLLS = 1024;

    private static final int ABORT_WORD_OFFSET = ProgramStatus.ABORT;

    private final PtxText text;
    private final ProgramRegisters registers;

    ProgramStop(PtxText text, ProgramRegisters registers) {
        this.text = text;
        this.registers = registers;
    }

    /** Emits the begin of a loop that polls, and returns the register that counts the polls. */
    String begin(String loop) {
        String polls = text.emit(WORD, "mov.u32", 0);
        text.place(loop);
        return polls;
    }

    /**
     * Emits the end of a loop that polls: goes back to its begin, or has set the predicate {@code stopped} behind it. The
     * first thread of a block that stops writes the status.
     *
     * @param channel a register with the channel, or its address in shared memory
     */
    void end(String loop, String polls, String channel, String seen, String wanted) {
        text.scope(() -> {
            text.emit("add.u32 " + polls + ", " + polls + ", 1");
            String low = text.emit(WORD, "and.b32", polls, POLLS - 1);
            text.branchIf(text.emit(PREDICATE, "setp.ne.u32", low, 0), loop);
            String abortWord = "[" + registers.control + "+" + ABORT_WORD_OFFSET + "]";
            String abort = text.emit(WORD, "ld.relaxed.sys.global.u32", abortWord);
            String aborted = text.emit(PREDICATE, "setp.ne.u32", abort, 0);
            String now = text.emit(LONG, "mov.u64", "%globaltimer");
            String elapsed = text.emit(LONG, "sub.u64", now, registers.begin);
            String timeout = text.emit(LONG, "ld.param.u64", "[timeout]");
            String late = text.emit(PREDICATE, "setp.gt.u64", elapsed, timeout);
            text.branchUnless(text.emit(PREDICATE, "or.pred", late, aborted), loop);
            report(abortWord, aborted, channel, seen, wanted);
        });
    }

    private void report(String abortWord, String aborted, String channel, String seen, String wanted) {
        String stopping = text.label("stopping");
        String code =
                text.emit(WORD, "selp.b32", ProgramStatus.Code.ABORTED.code, ProgramStatus.Code.TIMEOUT.code, aborted);
        String before = text.emit(WORD, "atom.shared.cas.b32", "[" + ProgramRegisters.STOP + "]", 0, code);
        text.emit("setp.eq.u32 " + registers.stopped + ", " + registers.thread + ", " + registers.thread);
        text.branchIf(text.emit(PREDICATE, "setp.ne.u32", before, 0), stopping);
        String status = text.emit(LONG, "mad.wide.u32", registers.block, ProgramStatus.BYTES, registers.control);
        String id = text.emit(WORD, "ld.shared.u32", "[" + ProgramRegisters.RECORD + "+44]");
        store("u32", status, 4, id);
        store("u32", status, 8, registers.slice);
        store("u32", status, 12, channel);
        store("u64", status, 16, seen);
        store("u64", status, 24, wanted);
        text.emit("fence.acq_rel.sys");
        text.emit("st.relaxed.sys.global.u32 [" + status + "+" + ProgramStatus.FIRST + "], " + code);
        text.branchIf(aborted, stopping);
        text.emit("st.relaxed.sys.global.u32 " + abortWord + ", 1");
        text.place(stopping);
    }

    private void store(String type, String status, int offset, String value) {
        text.emit("st.global." + type + " [" + status + "+" + (ProgramStatus.FIRST + offset) + "], " + value);
    }
}

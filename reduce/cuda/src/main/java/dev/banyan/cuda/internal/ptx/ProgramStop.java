package dev.banyan.cuda.internal.ptx;

import static dev.banyan.cuda.internal.ptx.PtxText.Register.LONG;
import static dev.banyan.cuda.internal.ptx.PtxText.Register.PREDICATE;
import static dev.banyan.cuda.internal.ptx.PtxText.Register.WORD;

import java.util.function.Supplier;

/** Writes the part of a polling loop that ends the block when the launch is aborted or has timed out. */
final class ProgramStop {
    /** Polls between two looks at the abort word and the clock; a power of two. */
    private static final int POLLS = 1024;

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
     * Emits the end of a loop that polls: goes back to its begin, or has set the predicate {@code stopped} behind it.
     * The first thread of a block that stops writes the status.
     *
     * @param channel emits what the status needs, where it is needed, and returns its register; so does {@code seen}
     */
    void end(String loop, String polls, Supplier<String> channel, Supplier<String> seen, String wanted) {
        text.scope(() -> {
            text.emit("add.u32 " + polls + ", " + polls + ", 1");
            String low = text.emit(WORD, "and.b32", polls, POLLS - 1);
            text.branchIf(text.emit(PREDICATE, "setp.ne.u32", low, 0), loop);
            String control = text.emit(LONG, "ld.param.u64", "[control]");
            String abortWord = "[" + control + "+" + ProgramStatus.ABORT + "]";
            String abort = text.emit(WORD, "ld.relaxed.sys.global.u32", abortWord);
            String aborted = text.emit(PREDICATE, "setp.ne.u32", abort, 0);
            String now = text.emit(LONG, "mov.u64", "%globaltimer");
            String begin = text.emit(LONG, "ld.shared.u64", "[" + ProgramRegisters.BEGIN + "]");
            String elapsed = text.emit(LONG, "sub.u64", now, begin);
            String timeout = text.emit(LONG, "ld.param.u64", "[timeout]");
            String late = text.emit(PREDICATE, "setp.gt.u64", elapsed, timeout);
            text.branchUnless(text.emit(PREDICATE, "or.pred", late, aborted), loop);
            report(control, abortWord, aborted, channel, seen, wanted);
        });
    }

    private void report(
            String control,
            String abortWord,
            String aborted,
            Supplier<String> channel,
            Supplier<String> seen,
            String wanted) {
        String stopping = text.label("stopping");
        String code = text.emit(
                WORD, "selp.b32", ProgramStatus.Code.ABORTED.code(), ProgramStatus.Code.TIMEOUT.code(), aborted);
        String before = text.emit(WORD, "atom.shared.cas.b32", "[" + ProgramRegisters.STOP + "]", 0, code);
        text.emit("setp.eq.u32 " + registers.stopped + ", " + registers.thread + ", " + registers.thread);
        text.branchIf(text.emit(PREDICATE, "setp.ne.u32", before, 0), stopping);
        String block = text.emit(WORD, "mov.u32", "%ctaid.x");
        String status = text.emit(LONG, "mad.wide.u32", block, ProgramStatus.BYTES, control);
        String id = text.emit(WORD, "ld.shared.u32", "[" + ProgramRegisters.RECORD + "+44]");
        store("u32", status, 4, id);
        store("u32", status, 8, registers.slice);
        store("u32", status, 12, channel.get());
        store("u64", status, 16, seen.get());
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

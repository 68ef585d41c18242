package dev.banyan.cuda.internal.ptx;

import static dev.banyan.cuda.internal.ptx.PtxText.Register.LONG;
import static dev.banyan.cuda.internal.ptx.PtxText.Register.PREDICATE;
import static dev.banyan.cuda.internal.ptx.PtxText.Register.WORD;

import java.util.List;
import java.util.stream.IntStream;

/** Instructions that go through the {@linkplain ProgramCall calls} of a launch. */
final class ProgramCalls {
    /** Pairs of words of a record. */
    private static final int PAIRS = ProgramCall.BYTES / 16;

    private final PtxText text;
    private final ProgramRegisters registers;
    private final String allEnd;

    /** @param allEnd label behind the last call */
    ProgramCalls(PtxText text, ProgramRegisters registers, String allEnd) {
        this.text = text;
        this.registers = registers;
        this.allEnd = allEnd;
    }

    private static String kept(int offset) {
        return "[" + ProgramRegisters.CALL + "+" + offset + "]";
    }

    /** Lets the workers wait for the record of a call of a batch, before they begin it. */
    void awaitRecord() {
        await("setp.eq.u64");
    }

    /** Lets the workers wait for the buffers of the only call of a launch, while they begin it. */
    void awaitBuffers() {
        await("setp.ne.u64");
    }

    /** @param isOther whether the address of the record, compared with 0, is that of another kind of call */
    private void await(String isOther) {
        String other = text.label("other_call");
        text.scope(() -> text.branchIf(text.test(isOther, registers.call, 0), other));
        text.emit("bar.sync 0");
        text.place(other);
    }

    /** Finds the records of this block in the table of a call, which may have fewer blocks than the grid. */
    void begin() {
        text.scope(() -> {
            String single = text.emit(PREDICATE, "setp.eq.u64", registers.call, 0);
            text.emit("@" + single + " ld.param.u64 " + registers.table + ", [table]");
            text.emit("@" + single + " ld.param.u64 " + registers.base + ", [base]");
            text.emit("@!" + single + " ld.shared.u64 " + registers.table + ", " + kept(ProgramCall.TABLE));
            text.emit("@!" + single + " ld.shared.u64 " + registers.base + ", " + kept(ProgramCall.BASE));
            String block = text.emit(WORD, "mov.u32", "%ctaid.x");
            text.emit("mad.wide.u32 " + registers.head + ", " + block + ", " + ProgramTable.BLOCK_BYTES + ", "
                    + registers.table);
            String loops = "ld.global.u32 " + registers.loops + ", [" + registers.head + "+"
                    + (ProgramTable.HEAD_BYTES + 8) + "]";
            // A call that is alone has as many blocks as the grid, so that nothing needs to be read before.
            text.emit("@" + single + " " + loops);
            String known = text.label("known");
            text.branchIf(single, known);
            text.emit("mov.u32 " + registers.loops + ", 0");
            String blocks = text.emit(WORD, "ld.global.u32", "[" + registers.table + "]");
            String inside = text.emit(PREDICATE, "setp.lt.u32", block, blocks);
            text.emit("@" + inside + " " + loops);
            text.emit("@!" + inside + " mov.u64 " + registers.head + ", " + registers.table);
            text.place(known);
        });
    }

    /** Goes on with the next call, whose buffers and records take the place of this one's in shared memory. */
    void end(String call) {
        text.branchIf(text.emit(PREDICATE, "setp.eq.u64", registers.call, 0), allEnd);
        text.emit("sub.u32 " + registers.calls + ", " + registers.calls + ", 1");
        text.branchIf(text.emit(PREDICATE, "setp.eq.u32", registers.calls, 0), allEnd);
        text.emit("add.u64 " + registers.call + ", " + registers.call + ", " + ProgramCall.BYTES);
        text.emit("bar.sync 0");
        text.emit("bra " + call);
    }

    /**
     * Sends for the record of a call, of which each lane keeps two words. The records of a batch are in memory of the
     * host, from where they take longer than a short call.
     *
     * @param number of the call behind the current one
     */
    void fetch(String lane, String words, int number) {
        String sent = text.label("sent_for_record");
        text.scope(() -> {
            text.branchIf(text.emit(PREDICATE, "setp.eq.u64", registers.call, 0), sent);
            text.branchIf(text.emit(PREDICATE, "setp.ge.u32", lane, PAIRS), sent);
            text.branchIf(text.emit(PREDICATE, "setp.le.u32", registers.calls, number), sent);
            String from = text.emit(LONG, "mad.wide.u32", lane, 16, registers.call);
            text.emit("ld.global.v2.u64 " + words + ", [" + from + "+" + ProgramCall.BYTES * number + "]");
        });
        text.place(sent);
    }

    /** Copies the record into shared memory that was sent for last, or the buffers of the only call. */
    void keep(String lane, String first, String words) {
        String fromParameters = text.label("buffers_of_parameters");
        String kept = text.label("call_kept");
        text.branchIf(text.emit(PREDICATE, "setp.eq.u64", registers.call, 0), fromParameters);
        text.branchIf(text.emit(PREDICATE, "setp.ge.u32", lane, PAIRS), kept);
        text.scope(() -> {
            String to = text.emit(WORD, "mad.lo.u32", lane, 16, text.emit(WORD, "mov.u32", ProgramRegisters.CALL));
            text.emit("st.shared.v2.u64 [" + to + "], " + words);
        });
        text.emit("bra " + kept);
        text.place(fromParameters);
        String guard = "@" + first + " ";
        for (int buffer = 0; buffer < Kernel.Program.BUFFERS; buffer += 2) {
            int even = buffer;
            text.scope(() -> {
                List<String> pair = IntStream.of(even, even + 1)
                        .mapToObj(number -> text.emit(LONG, "ld.param.u64", "[buffer" + number + "]"))
                        .toList();
                text.emit(guard + "st.shared.v2.u64 " + kept(ProgramCall.BUFFERS + 8 * even) + ", {"
                        + String.join(", ", pair) + "}");
            });
        }
        text.place(kept);
        text.emit("bar.warp.sync 0xffffffff");
    }
}

package dev.banyan.cuda.internal.ptx;

import static dev.banyan.cuda.internal.ptx.PtxText.Register.LONG;
import static dev.banyan.cuda.internal.ptx.PtxText.Register.PREDICATE;
import static dev.banyan.cuda.internal.ptx.PtxText.Register.WORD;

import java.util.List;
import java.util.stream.IntStream;

/** Instructions that go through the {@linkplain ProgramCall calls} of a launch. */
final class ProgramCalls {
    private final PtxText text;
    private final ProgramRegisters registers;
    private final String allEnd;

    /** @param allEnd label behind the last call */
    ProgramCalls(PtxText text, ProgramRegisters registers, String allEnd) {
        this.text = text;
        this.registers = registers;
        this.allEnd = allEnd;
    }

    /** Finds the records of this block; a call may have fewer blocks than the grid. */
    void begin() {
        text.scope(() -> {
            String single = text.emit(PREDICATE, "setp.eq.u64", registers.call, 0);
            text.emit("@" + single + " ld.param.u64 " + registers.table + ", [table]");
            text.emit("@" + single + " ld.param.u64 " + registers.base + ", [base]");
            text.emit("@!" + single + " ld.global.u64 " + registers.table + ", [" + registers.call + "+"
                    + ProgramCall.TABLE + "]");
            text.emit("@!" + single + " ld.global.u64 " + registers.base + ", [" + registers.call + "+"
                    + ProgramCall.BASE + "]");
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

    /** Copies the addresses of buffers into shared memory, from parameters by the first lane or from a batch by all. */
    void keepBuffers(String lane, String first) {
        String fromParameters = text.label("buffers_of_parameters");
        String kept = text.label("buffers_kept");
        text.branchIf(text.emit(PREDICATE, "setp.eq.u64", registers.call, 0), fromParameters);
        text.scope(() -> {
            String from = text.emit(LONG, "mad.wide.u32", lane, 8, registers.call);
            String buffer = text.emit(LONG, "ld.global.u64", "[" + from + "+" + ProgramCall.BUFFERS + "]");
            String buffers = text.emit(WORD, "mov.u32", ProgramRegisters.BUFFERS);
            String to = text.emit(WORD, "mad.lo.u32", lane, 8, buffers);
            text.emit("st.shared.u64 [" + to + "], " + buffer);
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
                text.emit(guard + "st.shared.v2.u64 [" + ProgramRegisters.BUFFERS + "+" + 8 * even + "], {"
                        + String.join(", ", pair) + "}");
            });
        }
        text.place(kept);
    }
}

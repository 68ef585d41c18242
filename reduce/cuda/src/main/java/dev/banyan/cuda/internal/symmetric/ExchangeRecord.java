package dev.banyan.cuda.internal.symmetric;

import static dev.banyan.cuda.internal.ptx.PtxText.Register.LONG;

import dev.banyan.cuda.internal.ptx.Kernel;
import dev.banyan.cuda.internal.ptx.ProgramCall;
import dev.banyan.cuda.internal.ptx.PtxText;

/**
 * Writes how a block gets the {@linkplain ProgramCall record} of each call. The only call of a launch is in parameters.
 * Records of several are in memory of the host, from where they take longer than a short call, so that the block sends
 * for the next one when it begins a call.
 */
final class ExchangeRecord {
    /** So many threads keep a word each. */
    static final int WORDS = ProgramCall.BYTES / 8;

    private final PtxText text;
    private final ExchangeBlock own;
    private final String thread;
    /** A word of the next record, in each of the first threads. */
    private final String word;

    ExchangeRecord(ExchangeBlock own) {
        this.own = own;
        text = own.text();
        thread = own.thread();
        word = text.register(LONG);
    }

    /** Sends for the record of a call, if there is one of that index. */
    void fetch(String index) {
        String sent = text.label("sent_for_record");
        String records = text.wide("ld.param.u64", "[calls]");
        text.branchIf(text.test("setp.eq.u64", records, 0), sent);
        text.branchIf(text.test("setp.ge.u32", thread, WORDS), sent);
        String count = text.word("cvt.u32.u64", text.wide("ld.param.u64", "[count]"));
        text.branchIf(text.test("setp.ge.u32", index, count), sent);
        String call = text.wide("mad.wide.u32", index, ProgramCall.BYTES, records);
        text.emit("ld.global.u64 " + word + ", [" + text.wide("mad.wide.u32", thread, 8, call) + "]");
        text.place(sent);
    }

    /** Copies the record that was sent for last, or that of the only call, into shared memory. */
    void keep() {
        String kept = text.label("record_kept");
        String alone = text.label("only_call");
        text.branchIf(text.test("setp.eq.u64", text.wide("ld.param.u64", "[calls]"), 0), alone);
        text.branchIf(text.test("setp.ge.u32", thread, WORDS), kept);
        text.emit("st.shared.u64 [" + own.word(thread) + "], " + word);
        text.emit("bra " + kept);
        text.place(alone);
        text.branchUnless(own.isFirst(), kept);
        keep(ProgramCall.TABLE, "table");
        keep(ProgramCall.BASE, "base");
        for (int buffer = 0; buffer < Kernel.Program.BUFFERS; buffer++) {
            keep(ProgramCall.BUFFERS + 8 * buffer, "buffer" + buffer);
        }
        text.place(kept);
        text.emit("bar.warp.sync 0xffffffff");
    }

    private void keep(int offset, String parameter) {
        text.scope(() -> text.emit(
                "st.shared.u64 " + own.record(offset) + ", " + text.wide("ld.param.u64", "[" + parameter + "]")));
    }
}

package dev.banyan.cuda.internal.symmetric;

import dev.banyan.cuda.internal.ptx.Kernel;
import dev.banyan.cuda.internal.ptx.ProgramStatus;
import dev.banyan.cuda.internal.ptx.PtxText;

/** Writes the barriers of a block: it meets the blocks of its number on all ranks. */
final class ExchangeBarrier {
    /** Not 0 if a thread has reported why the block stops. */
    private static final String STOP = "stop";
    /** Polls between two looks at the abort word and the clock; a power of two. */
    private static final int POLLS = 1024;

    private final PtxText text;
    private final ExchangeBlock own;
    private final String thread;
    private final String stopped;
    private final String left;

    /** @param left label of the kernel's end, to which a block goes that stops */
    ExchangeBarrier(ExchangeBlock own, String left) {
        this.own = own;
        this.left = left;
        text = own.text();
        thread = own.thread();
        text.shared(STOP, 4);
        stopped = text.test("setp.ne.u32", thread, thread);
        text.emit("@" + own.isFirst() + " st.shared.u32 [" + STOP + "], 0");
    }

    /**
     * Writes a barrier: a thread for each rank posts a flag there and awaits its own.
     *
     * @param isFirst whether it is the first of a call, with which handles are sent
     */
    void meet(boolean isFirst) {
        String passed = text.label("passed");
        String poll = text.label("poll");
        text.emit("bar.sync 0");
        String awaited = own.state(ExchangeBlock.AWAITED);
        text.branchIf(
                text.test("setp.ge.u32", thread, text.word("ld.global.u32", own.field(ExchangeTable.RANKS))), passed);
        String flags = text.wide("mad.wide.u32", thread, 8, own.table());
        String others = text.wide("ld.global.u64", "[" + flags + "+" + ExchangeTable.FLAGS + "]");
        String here = text.wide("ld.global.u64", own.field(ExchangeTable.OWN_FLAGS));
        String rank = text.word("ld.global.u32", own.field(ExchangeTable.RANK));
        String posted = own.flag(others, rank);
        String flag = own.flag(here, thread);
        if (isFirst) {
            sendHandles(rank, posted);
        }
        // The fence also orders what other threads of the block, and earlier kernels, did before.
        text.emit("fence.acq_rel.sys");
        text.emit("st.relaxed.sys.global.u64 [" + posted + "], " + awaited);
        String polls = text.word("mov.u32", 0);
        text.place(poll);
        String seen = text.wide("ld.acquire.sys.global.u64", "[" + flag + "]");
        text.branchIf(text.test("setp.ge.u64", seen, awaited), passed);
        text.emit("add.u32 " + polls + ", " + polls + ", 1");
        text.branchIf(text.test("setp.ne.u32", text.word("and.b32", polls, POLLS - 1), 0), poll);
        stopIfAsked(poll, passed, rank, seen, awaited);
        text.place(passed);
        text.emit("bar.warp.sync 0xffffffff");
        text.emit("bar.red.or.pred " + stopped + ", 0, " + stopped);
        text.branchIf(stopped, left);
        own.setState(ExchangeBlock.AWAITED, text.wide("add.u64", awaited, 1));
    }

    /** Sends the handles of a rank's buffers with a flag, if there are any. */
    private void sendHandles(String rank, String posted) {
        String sends = text.test("setp.ne.u64", text.wide("ld.global.u64", own.field(ExchangeTable.JOINT)), 0);
        String buffer = own.buffer(rank);
        for (int side = 0; side < 2; side++) {
            String handle =
                    text.wide("ld.shared.u64", ExchangeBlock.field(buffer, 8 * Kernel.Program.MOST_RANKS * side));
            text.emit("@" + sends + " st.global.u64 " + ExchangeBlock.field(posted, ExchangeTable.HANDLES + 8 * side)
                    + ", " + handle);
        }
    }

    /** Goes on to poll unless the launch is aborted or has timed out; the first thread of a block reports that. */
    private void stopIfAsked(String poll, String passed, String rank, String seen, String awaited) {
        String control = text.wide("ld.param.u64", "[control]");
        String abortWord = ExchangeBlock.field(control, ProgramStatus.ABORT);
        String aborted = text.test("setp.ne.u32", text.word("ld.relaxed.sys.global.u32", abortWord), 0);
        String elapsed = text.wide("sub.u64", text.wide("mov.u64", "%globaltimer"), own.state(ExchangeBlock.BEGIN));
        String late = text.test("setp.gt.u64", elapsed, text.wide("ld.param.u64", "[timeout]"));
        text.branchUnless(text.test("or.pred", late, aborted), poll);
        String code =
                text.word("selp.b32", ProgramStatus.Code.ABORTED.code(), ProgramStatus.Code.TIMEOUT.code(), aborted);
        String before = text.word("atom.shared.cas.b32", "[" + STOP + "]", 0, code);
        text.emit("setp.eq.u32 " + stopped + ", " + thread + ", " + thread);
        text.branchIf(text.test("setp.ne.u32", before, 0), passed);
        String status = text.wide("mad.wide.u32", text.word("mov.u32", "%ctaid.x"), ProgramStatus.BYTES, control);
        int first = ProgramStatus.FIRST;
        text.emit("st.global.u32 " + ExchangeBlock.field(status, first + 4) + ", " + own.phase());
        text.emit("st.global.u32 " + ExchangeBlock.field(status, first + 8) + ", " + rank);
        text.emit("st.global.u32 " + ExchangeBlock.field(status, first + 12) + ", " + thread);
        text.emit("st.global.u64 " + ExchangeBlock.field(status, first + 16) + ", " + seen);
        text.emit("st.global.u64 " + ExchangeBlock.field(status, first + 24) + ", " + awaited);
        text.emit("fence.acq_rel.sys");
        text.emit("st.relaxed.sys.global.u32 " + ExchangeBlock.field(status, first) + ", " + code);
        text.branchIf(aborted, passed);
        text.emit("st.relaxed.sys.global.u32 " + abortWord + ", 1");
    }
}

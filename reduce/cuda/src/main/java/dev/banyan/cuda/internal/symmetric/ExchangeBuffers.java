package dev.banyan.cuda.internal.symmetric;

import dev.banyan.cuda.internal.memory.JointMemory;
import dev.banyan.cuda.internal.ptx.Kernel;
import dev.banyan.cuda.internal.ptx.PtxText;
import java.util.ArrayList;
import java.util.List;

/** Writes how a block finds the addresses of all buffers. */
final class ExchangeBuffers {
    private final PtxText text;
    private final ExchangeBlock own;
    private final String thread;
    private final String phase;
    private final boolean multicasts;
    /** The kind of shares that the block leaves out; 0 for none. */
    private final String omitted;

    /** @param multicasts whether the kernel takes multicast addresses */
    ExchangeBuffers(ExchangeBlock own, boolean multicasts) {
        this.own = own;
        this.multicasts = multicasts;
        text = own.text();
        thread = own.thread();
        phase = own.phase();
        omitted = multicasts ? text.word("mov.u32", 0) : "";
        own.setBuffer(ExchangeTable.STAGE, "0");
    }

    /** Returns a register with the kind of shares that the block leaves out; 0 for none. */
    String omitted() {
        return omitted;
    }

    /** Computes the addresses of all buffers from the handles that came with the flags of the first barrier. */
    void find() {
        String found = text.label("buffers_found");
        String others = text.label("others_found");
        String joint = text.wide("ld.global.u64", own.field(ExchangeTable.JOINT));
        text.emit("ld.global.u32 " + phase + ", " + own.field(ExchangeTable.PHASE));
        String foreign = text.test("setp.ne.u32", thread, thread);
        String elsewhere = multicasts ? text.test("setp.ne.u32", thread, thread) : "";
        text.branchIf(text.test("setp.eq.u64", joint, 0), found);
        text.branchIf(
                text.test("setp.ge.u32", thread, text.word("ld.global.u32", own.field(ExchangeTable.RANKS))), others);
        String flag = own.flag(text.wide("ld.global.u64", own.field(ExchangeTable.OWN_FLAGS)), thread);
        String buffer = own.buffer(thread);
        if (multicasts) {
            compareHandles(flag, elsewhere);
        }
        for (int side = 0; side < 2; side++) {
            String handle = text.wide("ld.global.u64", ExchangeBlock.field(flag, ExchangeTable.HANDLES + 8 * side));
            String isForeign = text.test("setp.lt.s64", handle, 0);
            text.emit("or.pred " + foreign + ", " + foreign + ", " + isForeign);
            String piece = text.wide("shr.u64", handle, JointMemory.OFFSET_BITS);
            String begin = text.wide("mov.u64", 0);
            text.emit("@!" + isForeign + " ld.global.u64 " + begin + ", "
                    + ExchangeBlock.field(text.wide("mad.lo.u64", piece, 8, joint), 0));
            String bits = text.wide("selp.b64", ~JointMemory.FOREIGN, (1L << JointMemory.OFFSET_BITS) - 1, isForeign);
            text.emit("st.shared.u64 " + ExchangeBlock.field(buffer, 8 * Kernel.Program.MOST_RANKS * side) + ", "
                    + text.wide("add.u64", begin, text.wide("and.b64", handle, bits)));
        }
        text.place(others);
        text.emit("bar.warp.sync 0xffffffff");
        text.emit("bar.red.or.pred " + foreign + ", 0, " + foreign);
        text.emit("selp.b32 " + phase + ", " + ExchangeTable.Share.COPY_IN + ", " + phase + ", " + foreign);
        if (multicasts) {
            text.emit("bar.red.or.pred " + elsewhere + ", 0, " + elsewhere);
            text.emit("selp.b32 " + omitted + ", " + ExchangeTable.Share.ALIKE + ", " + ExchangeTable.Share.ELSEWHERE
                    + ", " + elsewhere);
        }
        text.place(found);
    }

    /** Finds out whether the buffers of a rank lie elsewhere than this one's, or have no multicast address. */
    private void compareHandles(String flag, String elsewhere) {
        String rank = text.word("ld.global.u32", own.field(ExchangeTable.RANK));
        String ownFlag = own.flag(text.wide("ld.global.u64", own.field(ExchangeTable.OWN_FLAGS)), rank);
        String distance = text.wide("sub.u64", text.wide("cvt.u64.u32", thread), text.wide("cvt.u64.u32", rank));
        String pieces = text.wide("shl.b64", distance, JointMemory.OFFSET_BITS);
        String address = own.buffer(text.word("ld.global.u32", own.field(ExchangeTable.RANKS)));
        List<String> all = new ArrayList<>();
        for (int side = 0; side < 2; side++) {
            all.add(text.wide("ld.shared.u64", ExchangeBlock.field(address, 8 * Kernel.Program.MOST_RANKS * side)));
            String theirs = text.wide("ld.global.u64", ExchangeBlock.field(flag, ExchangeTable.HANDLES + 8 * side));
            String ours = text.wide("ld.global.u64", ExchangeBlock.field(ownFlag, ExchangeTable.HANDLES + 8 * side));
            String differs = text.test("setp.ne.u64", theirs, text.wide("add.u64", ours, pieces));
            String matters = text.test("setp.ne.u64", all.getLast(), 0);
            text.emit("or.pred " + elsewhere + ", " + elsewhere + ", " + text.test("and.pred", differs, matters));
        }
        String none = text.test("setp.eq.u64", text.wide("or.b64", all.getFirst(), all.getLast()), 0);
        text.emit("or.pred " + elsewhere + ", " + elsewhere + ", " + none);
    }
}

package dev.banyan.cuda.internal.symmetric;

import static dev.banyan.cuda.internal.ptx.PtxText.Register.LONG;
import static dev.banyan.cuda.internal.ptx.PtxText.Register.PREDICATE;
import static dev.banyan.cuda.internal.ptx.PtxText.Register.WORD;

import dev.banyan.cuda.internal.memory.JointMemory;
import dev.banyan.cuda.internal.ptx.Element;
import dev.banyan.cuda.internal.ptx.Kernel;
import dev.banyan.cuda.internal.ptx.ProgramCall;
import dev.banyan.cuda.internal.ptx.ProgramStatus;
import dev.banyan.cuda.internal.ptx.PtxText;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;

/**
 * Writes the kernel of an {@linkplain ExchangeTable exchange}. Each block meets the blocks of its number on all ranks
 * twice: before the first load, as other work may still write the buffers, and behind the last store. Weak loads and
 * stores in between are ordered by these barriers.
 */
final class ExchangePtx {
    private static final String BUFFERS = "buffers";
    /** Addresses of the sources, then of the targets of a share. */
    static final String PLACES = "places";
    /** Not 0 if a thread has reported why the block stops. */
    private static final String STOP = "stop";
    /** Time in ns at which the block began. */
    private static final String BEGIN = "begin";
    /** Polls between two looks at the abort word and the clock; a power of two. */
    private static final int POLLS = 1024;

    private final PtxText text = new PtxText();
    private final String name;
    private final Element element;
    private final boolean multicasts;
    private final Consumer<ShareLoops> loops;
    private final String left = text.label("left");
    private final String thread;
    private final String block;
    private final String table;
    private final String base;
    private final String stopped;
    /** The kind of shares that the block leaves out; 0 for none. */
    private final String omitted;

    /**
     * @param name of the kernel
     * @param multicasts whether it takes multicast addresses
     * @param loops writes the loops over a share
     */
    ExchangePtx(String name, Element element, boolean multicasts, Consumer<ShareLoops> loops) {
        this.name = name;
        this.element = element;
        this.multicasts = multicasts;
        this.loops = loops;
        if (multicasts) {
            text.require("8.2", 90);
        }
        text.shared(BUFFERS, 8 * Kernel.Program.BUFFERS);
        text.shared(PLACES, 8 * 2 * Kernel.Program.MOST_RANKS);
        text.shared(STOP, 4);
        text.shared(BEGIN, 8);
        thread = word("mov.u32", "%tid.x");
        block = text.register(WORD);
        table = text.register(LONG);
        base = text.register(LONG);
        stopped = test("setp.ne.u32", thread, thread);
        omitted = multicasts ? word("mov.u32", 0) : "";
    }

    private String word(String operation, Object... operands) {
        return text.emit(WORD, operation, operands);
    }

    private String wide(String operation, Object... operands) {
        return text.emit(LONG, operation, operands);
    }

    private String test(String operation, Object... operands) {
        return text.emit(PREDICATE, operation, operands);
    }

    String text() {
        String call = wide("ld.param.u64", "[calls]");
        String calls = word("cvt.u32.u64", wide("ld.param.u64", "[count]"));
        String first = test("setp.eq.u32", thread, 0);
        text.emit("@" + first + " st.shared.u32 [" + STOP + "], 0");
        text.emit("@" + first + " st.shared.u64 [" + BEGIN + "], " + wide("mov.u64", "%globaltimer"));
        String next = text.label("call");
        String over = text.label("call_over");
        String end = text.label("calls_over");
        text.place(next);
        text.scope(() -> begin(call));
        text.scope(() -> keepBuffers(call, first));
        text.emit("bar.sync 0");
        text.branchIf(test("setp.ge.u32", block, word("ld.global.u32", "[" + table + "]")), over);
        text.scope(() -> meet(0));
        text.scope(this::findBuffers);
        orderAliases();
        text.scope(this::exchange);
        orderAliases();
        text.scope(() -> meet(1));
        text.place(over);
        text.branchIf(test("setp.eq.u64", call, 0), end);
        text.emit("sub.u32 " + calls + ", " + calls + ", 1");
        text.branchIf(test("setp.eq.u32", calls, 0), end);
        text.emit("add.u64 " + call + ", " + call + ", " + ProgramCall.BYTES);
        text.emit("bar.sync 0");
        text.emit("bra " + next);
        text.place(end);
        text.scope(this::report);
        text.place(left);
        List<String> parameters = new ArrayList<>();
        for (String parameter : List.of("table", "base", "control", "timeout", "calls", "count", "sets")) {
            parameters.add(".param .u64 " + parameter);
        }
        for (int buffer = 0; buffer < Kernel.Program.BUFFERS; buffer++) {
            parameters.add(".param .u64 buffer" + buffer);
        }
        return text.module(name, ".maxntid " + ExchangeKernel.THREADS + ", 1, 1\n.minnctapersm 1", parameters);
    }

    /** The memory behind a multicast address has other addresses, which accesses before and behind the exchange use. */
    private void orderAliases() {
        if (multicasts) {
            text.emit("fence.proxy.alias");
        }
    }

    /**
     * Finds the table and the flags' values of a call. The blocks of a GPU take its ranks by turns, so that a block has
     * the same part in all calls of a launch, and alone writes its flags, however many blocks each call has.
     */
    private void begin(String call) {
        String single = test("setp.eq.u64", call, 0);
        text.emit("@" + single + " ld.param.u64 " + table + ", [table]");
        text.emit("@" + single + " ld.param.u64 " + base + ", [base]");
        text.emit("@!" + single + " ld.global.u64 " + table + ", [" + call + "+" + ProgramCall.TABLE + "]");
        text.emit("@!" + single + " ld.global.u64 " + base + ", [" + call + "+" + ProgramCall.BASE + "]");
        String number = word("mov.u32", "%ctaid.x");
        String ranks = word("ld.global.u32", field(ExchangeTable.RANKS_HERE));
        String own = word("rem.u32", number, ranks);
        text.emit("div.u32 " + block + ", " + number + ", " + ranks);
        String apart = word("ld.global.u32", field(ExchangeTable.BYTES_APART));
        text.emit("mad.wide.u32 " + table + ", " + own + ", " + apart + ", " + table);
    }

    /** Copies the addresses of buffers into shared memory, from parameters by one thread or from a batch by many. */
    private void keepBuffers(String call, String first) {
        String kept = text.label("buffers_kept");
        String fromBatch = text.label("buffers_of_batch");
        text.branchUnless(test("setp.eq.u64", call, 0), fromBatch);
        text.branchUnless(first, kept);
        for (int buffer = 0; buffer < Kernel.Program.BUFFERS; buffer++) {
            int number = buffer;
            text.scope(() -> text.emit("st.shared.u64 [" + BUFFERS + "+" + 8 * number + "], "
                    + wide("ld.param.u64", "[buffer" + number + "]")));
        }
        text.emit("bra " + kept);
        text.place(fromBatch);
        text.branchIf(test("setp.ge.u32", thread, Kernel.Program.BUFFERS), kept);
        String from = wide("mad.wide.u32", thread, 8, call);
        String buffer = wide("ld.global.u64", "[" + from + "+" + ProgramCall.BUFFERS + "]");
        text.emit("st.shared.u64 [" + shared(BUFFERS, thread) + "], " + buffer);
        text.place(kept);
    }

    private String shared(String array, String index) {
        return word("mad.lo.u32", index, 8, word("mov.u32", array));
    }

    // ---- Barriers ----

    /** Meets the blocks of this number on all ranks: a thread for each rank posts a flag there and awaits its own. */
    private void meet(int number) {
        String passed = text.label("passed");
        String poll = text.label("poll");
        String awaited = wide("add.u64", base, number);
        text.emit("bar.sync 0");
        text.branchIf(test("setp.ge.u32", thread, word("ld.global.u32", field(ExchangeTable.RANKS))), passed);
        String flags = wide("mad.wide.u32", thread, 8, table);
        String others = wide("ld.global.u64", "[" + flags + "+" + ExchangeTable.FLAGS + "]");
        String own = wide("ld.global.u64", field(ExchangeTable.OWN_FLAGS));
        String rank = word("ld.global.u32", field(ExchangeTable.RANK));
        String posted = flag(others, rank);
        String flag = flag(own, thread);
        if (number == 0) {
            sendHandles(rank, posted);
        }
        // The fence also orders what other threads of the block, and earlier kernels, did before.
        text.emit("fence.acq_rel.sys");
        text.emit("st.relaxed.sys.global.u64 [" + posted + "], " + awaited);
        String polls = word("mov.u32", 0);
        text.place(poll);
        String seen = wide("ld.acquire.sys.global.u64", "[" + flag + "]");
        text.branchIf(test("setp.ge.u64", seen, awaited), passed);
        text.emit("add.u32 " + polls + ", " + polls + ", 1");
        text.branchIf(test("setp.ne.u32", word("and.b32", polls, POLLS - 1), 0), poll);
        stopIfAsked(poll, passed, number, rank, seen, awaited);
        text.place(passed);
        text.emit("bar.warp.sync 0xffffffff");
        text.emit("bar.red.or.pred " + stopped + ", 0, " + stopped);
        text.branchIf(stopped, left);
    }

    /** Sends the handles of a rank's buffers with a flag, if there are any. */
    private void sendHandles(String rank, String posted) {
        String sends = test("setp.ne.u64", wide("ld.global.u64", field(ExchangeTable.JOINT)), 0);
        String own = shared(BUFFERS, rank);
        for (int side = 0; side < 2; side++) {
            String handle = wide("ld.shared.u64", field(own, 8 * Kernel.Program.MOST_RANKS * side));
            text.emit(
                    "@" + sends + " st.global.u64 " + field(posted, ExchangeTable.HANDLES + 8 * side) + ", " + handle);
        }
    }

    /** Computes the addresses of all buffers from the handles that came with the flags of the first barrier. */
    private void findBuffers() {
        String found = text.label("buffers_found");
        String others = text.label("others_found");
        String joint = wide("ld.global.u64", field(ExchangeTable.JOINT));
        String elsewhere = multicasts ? test("setp.ne.u32", thread, thread) : "";
        text.branchIf(test("setp.eq.u64", joint, 0), found);
        text.branchIf(test("setp.ge.u32", thread, word("ld.global.u32", field(ExchangeTable.RANKS))), others);
        String flag = flag(wide("ld.global.u64", field(ExchangeTable.OWN_FLAGS)), thread);
        String buffer = shared(BUFFERS, thread);
        if (multicasts) {
            compareHandles(flag, elsewhere);
        }
        for (int side = 0; side < 2; side++) {
            String handle = wide("ld.global.u64", field(flag, ExchangeTable.HANDLES + 8 * side));
            String piece = wide("shr.u64", handle, JointMemory.OFFSET_BITS);
            String begin = wide("ld.global.u64", field(wide("mad.lo.u64", piece, 8, joint), 0));
            String offset = wide("and.b64", handle, (1L << JointMemory.OFFSET_BITS) - 1);
            text.emit("st.shared.u64 " + field(buffer, 8 * Kernel.Program.MOST_RANKS * side) + ", "
                    + wide("add.u64", begin, offset));
        }
        text.place(others);
        if (multicasts) {
            text.emit("bar.warp.sync 0xffffffff");
            text.emit("bar.red.or.pred " + elsewhere + ", 0, " + elsewhere);
            text.emit("selp.b32 " + omitted + ", " + ExchangeTable.Share.ALIKE + ", " + ExchangeTable.Share.ELSEWHERE
                    + ", " + elsewhere);
        } else {
            text.emit("bar.sync 0");
        }
        text.place(found);
    }

    /** Finds out whether the buffers of a rank lie elsewhere than this one's, or have no multicast address. */
    private void compareHandles(String flag, String elsewhere) {
        String rank = word("ld.global.u32", field(ExchangeTable.RANK));
        String ownFlag = flag(wide("ld.global.u64", field(ExchangeTable.OWN_FLAGS)), rank);
        String distance = wide("sub.u64", wide("cvt.u64.u32", thread), wide("cvt.u64.u32", rank));
        String pieces = wide("shl.b64", distance, JointMemory.OFFSET_BITS);
        String address = shared(BUFFERS, word("ld.global.u32", field(ExchangeTable.RANKS)));
        List<String> all = new ArrayList<>();
        for (int side = 0; side < 2; side++) {
            all.add(wide("ld.shared.u64", field(address, 8 * Kernel.Program.MOST_RANKS * side)));
            String theirs = wide("ld.global.u64", field(flag, ExchangeTable.HANDLES + 8 * side));
            String own = wide("ld.global.u64", field(ownFlag, ExchangeTable.HANDLES + 8 * side));
            String differs = test("setp.ne.u64", theirs, wide("add.u64", own, pieces));
            String matters = test("setp.ne.u64", all.getLast(), 0);
            text.emit("or.pred " + elsewhere + ", " + elsewhere + ", " + test("and.pred", differs, matters));
        }
        String none = test("setp.eq.u64", wide("or.b64", all.getFirst(), all.getLast()), 0);
        text.emit("or.pred " + elsewhere + ", " + elsewhere + ", " + none);
    }

    private static String field(String table, int offset) {
        return "[" + table + "+" + offset + "]";
    }

    private String field(int offset) {
        return field(table, offset);
    }

    private String flag(String flags, String sender) {
        String index = word("mad.lo.u32", block, Kernel.Program.MOST_RANKS, sender);
        return wide("mad.wide.u32", index, ExchangeTable.FLAG_BYTES, flags);
    }

    /** Goes on to poll unless the launch is aborted or has timed out; the first thread of a block reports that. */
    private void stopIfAsked(String poll, String passed, int number, String rank, String seen, String awaited) {
        String control = wide("ld.param.u64", "[control]");
        String abortWord = field(control, ProgramStatus.ABORT);
        String aborted = test("setp.ne.u32", word("ld.relaxed.sys.global.u32", abortWord), 0);
        String elapsed = wide("sub.u64", wide("mov.u64", "%globaltimer"), wide("ld.shared.u64", "[" + BEGIN + "]"));
        String late = test("setp.gt.u64", elapsed, wide("ld.param.u64", "[timeout]"));
        text.branchUnless(test("or.pred", late, aborted), poll);
        String code = word("selp.b32", ProgramStatus.Code.ABORTED.code(), ProgramStatus.Code.TIMEOUT.code(), aborted);
        String before = word("atom.shared.cas.b32", "[" + STOP + "]", 0, code);
        text.emit("setp.eq.u32 " + stopped + ", " + thread + ", " + thread);
        text.branchIf(test("setp.ne.u32", before, 0), passed);
        String status = wide("mad.wide.u32", word("mov.u32", "%ctaid.x"), ProgramStatus.BYTES, control);
        int first = ProgramStatus.FIRST;
        text.emit("st.global.u32 " + field(status, first + 4) + ", " + number);
        text.emit("st.global.u32 " + field(status, first + 8) + ", " + rank);
        text.emit("st.global.u32 " + field(status, first + 12) + ", " + thread);
        text.emit("st.global.u64 " + field(status, first + 16) + ", " + seen);
        text.emit("st.global.u64 " + field(status, first + 24) + ", " + awaited);
        text.emit("fence.acq_rel.sys");
        text.emit("st.relaxed.sys.global.u32 " + field(status, first) + ", " + code);
        text.branchIf(aborted, passed);
        text.emit("st.relaxed.sys.global.u32 " + abortWord + ", 1");
    }

    // ---- Shares ----

    private void exchange() {
        String share = text.label("share");
        String all = text.label("shares_over");
        String at = wide("add.u64", table, ExchangeTable.FIRST_SHARE);
        String shares = word("ld.global.u32", field(ExchangeTable.SHARES));
        text.place(share);
        text.branchIf(test("setp.eq.u32", shares, 0), all);
        String sources = word("ld.global.u32", field(at, 0));
        String places = word("add.u32", sources, word("ld.global.u32", field(at, 4)));
        String over = text.label("share_over");
        if (multicasts) {
            String kind = word("and.b32", word("ld.global.u32", field(at, 12)), omitted);
            text.branchIf(test("setp.ne.u32", kind, 0), over);
        }
        String misaligned = text.register(PREDICATE);
        text.scope(() -> point(at, places, misaligned));
        text.emit("bar.red.or.pred " + misaligned + ", 0, " + misaligned);
        text.scope(() ->
                loops.accept(new ShareLoops(text, element.bytes(), table, block, at, sources, places, misaligned)));
        text.emit("bar.sync 0");
        text.place(over);
        String bytes = word("mad.lo.u32", places, ExchangeTable.PLACE_BYTES, ExchangeTable.SHARE_BYTES);
        text.emit("add.u64 " + at + ", " + at + ", " + wide("cvt.u64.u32", bytes));
        text.emit("sub.u32 " + shares + ", " + shares + ", 1");
        text.emit("bra " + share);
        text.place(all);
    }

    /** Computes the address of a source or target in each of the first threads. */
    private void point(String at, String places, String misaligned) {
        String pointed = text.label("pointed");
        text.emit("setp.ne.u32 " + misaligned + ", " + thread + ", " + thread);
        text.branchIf(test("setp.ge.u32", thread, places), pointed);
        String place = wide("mad.wide.u32", thread, ExchangeTable.PLACE_BYTES, at);
        String buffer = word("ld.global.u32", field(place, ExchangeTable.SHARE_BYTES));
        String offset = wide("ld.global.u64", field(place, ExchangeTable.SHARE_BYTES + 8));
        String address = wide("add.u64", wide("ld.shared.u64", "[" + shared(BUFFERS, buffer) + "]"), offset);
        text.emit("st.shared.u64 [" + shared(PLACES, thread) + "], " + address);
        text.emit("setp.ne.u64 " + misaligned + ", " + wide("and.b64", address, 15) + ", 0");
        text.place(pointed);
        text.emit("bar.warp.sync 0xffffffff");
    }

    /** The last block of the grid reports that all are done. */
    private void report() {
        text.emit("bar.sync 0");
        text.branchIf(test("setp.ne.u32", thread, 0), left);
        text.emit("fence.acq_rel.sys");
        String most = word("sub.u32", word("mov.u32", "%nctaid.x"), 1);
        String counter = wide("ld.global.u64", field(ExchangeTable.DONE_COUNTER));
        String before = word("atom.relaxed.gpu.global.inc.u32", "[" + counter + "]", most);
        text.branchIf(test("setp.ne.u32", before, most), left);
        text.emit("fence.acq_rel.sys");
        String control = wide("ld.param.u64", "[control]");
        text.emit("st.relaxed.sys.global.u64 " + field(control, ProgramStatus.DONE) + ", " + base);
    }
}

package dev.banyan.cuda.internal.symmetric;

import static dev.banyan.cuda.internal.ptx.PtxText.Register.PREDICATE;

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
 * before the first load of a launch, as other work may still write the buffers, and behind the last store.
 * Through the stage, it meets them behind each slice's copy to the stage, when all have also copied the results
 * before out, and behind the stores between stages. Weak loads and stores in between are ordered by these barriers.
 */
final class ExchangePtx {
    /** Addresses of the sources, then of the targets of a share. */
    static final String PLACES = "places";

    private final PtxText text = new PtxText();
    private final String name;
    private final Element element;
    private final boolean multicasts;
    private final Consumer<ShareLoops> loops;
    private final String left = text.label("left");
    private final ExchangeBlock own;
    private final ExchangeBarrier barrier;
    private final ExchangeRecord record;
    private final ExchangeBuffers buffers;
    private final String thread;
    private final String block;
    private final String table;
    private final String phase;

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
        text.shared(PLACES, 8 * 2 * Kernel.Program.MOST_RANKS);
        own = new ExchangeBlock(text);
        barrier = new ExchangeBarrier(own, left);
        record = new ExchangeRecord(own);
        buffers = new ExchangeBuffers(own, multicasts);
        thread = own.thread();
        block = own.number();
        table = own.table();
        phase = own.phase();
    }

    String text() {
        String index = text.word("mov.u32", 0);
        own.setState(ExchangeBlock.BEGIN, text.wide("mov.u64", "%globaltimer"));
        text.emit("mov.u32 " + phase + ", 0");
        String next = text.label("call");
        String over = text.label("call_over");
        String end = text.label("calls_over");
        text.scope(() -> record.fetch(index));
        text.place(next);
        text.scope(record::keep);
        text.emit("bar.sync 0");
        text.scope(() -> record.fetch(text.word("add.u32", index, 1)));
        text.scope(this::begin);
        text.branchIf(text.test("setp.ge.u32", block, text.word("ld.global.u32", "[" + table + "]")), over);
        text.scope(() -> own.setState(ExchangeBlock.AWAITED, own.base()));
        text.scope(this::meetBefore);
        text.scope(buffers::find);
        text.scope(this::takeFirstSlice);
        text.scope(() -> carryOut(over));
        text.place(over);
        text.emit("add.u32 " + index + ", " + index + ", 1");
        text.scope(() -> {
            String count = text.word("cvt.u32.u64", text.wide("ld.param.u64", "[count]"));
            text.branchIf(text.test("setp.ge.u32", index, count), end);
        });
        text.emit("bar.sync 0");
        text.emit("bra " + next);
        text.place(end);
        text.scope(this::meetBehindLast);
        text.scope(this::report);
        text.place(left);
        List<String> parameters = new ArrayList<>();
        for (String parameter : List.of("table", "base", "control", "timeout", "calls", "count", "sets")) {
            parameters.add(".param .u64 " + parameter);
        }
        for (int buffer = 0; buffer < Kernel.Program.BUFFERS; buffer++) {
            parameters.add(".param .u64 buffer" + buffer);
        }
        return text.module(name, ".maxntid " + ExchangeKernel.MOST_THREADS + ", 1, 1\n.minnctapersm 1", parameters);
    }

    /**
     * Meets the others before the first call of a launch. Before others it need not: no two calls touch a buffer
     * together, nobody leaves before all are done, and calls through the stage meet inside. Launches of several
     * processes have one call.
     */
    private void meetBefore() {
        String met = text.label("met");
        text.branchIf(text.test("setp.ne.u32", phase, 0), met);
        barrier.meet(true);
        text.place(met);
    }

    /**
     * Meets the others behind the last call of this block: they store to its outputs, or load from its inputs. Behind
     * one through the stage, they do not, and have done so for the calls before when they met inside it.
     */
    private void meetBehindLast() {
        String met = text.label("met_behind");
        text.branchUnless(isDirect(), met);
        barrier.meet(false);
        text.place(met);
    }

    /** Through the stage, the blocks take slices by turns; else all blocks take all together. */
    private void takeFirstSlice() {
        String bytes = text.wide("ld.global.u64", own.field(ExchangeTable.SLICE));
        String before = text.wide("mul.lo.u64", text.wide("cvt.u64.u32", block), bytes);
        text.emit("@" + isDirect() + " mov.u64 " + before + ", 0");
        own.setState(ExchangeBlock.MOVED, before);
        text.emit("bar.sync 0");
    }

    private String isDirect() {
        return text.test("setp.eq.u32", phase, ExchangeTable.Share.DIRECT);
    }

    /**
     * Carries out the shares, in phases for each slice if they go through the stage. A block whose first slice is empty
     * meets the others, too: else these could read the handles of its next call in place of this one's.
     */
    private void carryOut(String over) {
        String nextPhase = text.label("phase");
        String copiedOut = text.label("copied_out");
        text.place(nextPhase);
        orderAliases();
        text.scope(this::exchange);
        orderAliases();
        text.scope(() -> text.branchIf(text.test("setp.eq.u32", phase, ExchangeTable.Share.COPY_OUT), copiedOut));
        text.scope(() -> text.branchIf(isDirect(), over));
        text.scope(() -> barrier.meet(false));
        text.emit("shl.b32 " + phase + ", " + phase + ", 1");
        text.emit("bra " + nextPhase);
        text.place(copiedOut);
        text.scope(() -> {
            String blocks = text.wide("cvt.u64.u32", text.word("ld.global.u32", own.field(0)));
            String bytes = text.wide("ld.global.u64", own.field(ExchangeTable.SLICE));
            String moved = text.wide("mad.lo.u64", blocks, bytes, own.state(ExchangeBlock.MOVED));
            text.emit("bar.sync 0");
            own.setState(ExchangeBlock.MOVED, moved);
            text.emit("bar.sync 0");
            text.branchIf(
                    text.test("setp.ge.u64", moved, text.wide("ld.global.u64", own.field(ExchangeTable.LONGEST))),
                    over);
        });
        text.emit("mov.u32 " + phase + ", " + ExchangeTable.Share.COPY_IN);
        text.emit("bra " + nextPhase);
    }

    /** The memory behind a multicast address has other addresses, which accesses before and behind the exchange use. */
    private void orderAliases() {
        if (multicasts) {
            text.emit("fence.proxy.alias");
        }
    }

    /**
     * Finds the table of a call. The blocks of a GPU take its ranks by turns, so that a block has the same part in all
     * calls of a launch, and alone writes its flags, however many blocks each call has.
     */
    private void begin() {
        text.emit("ld.shared.u64 " + table + ", " + own.record(ProgramCall.TABLE));
        String number = text.word("mov.u32", "%ctaid.x");
        String ranks = text.word("ld.global.u32", own.field(ExchangeTable.RANKS_HERE));
        String rank = text.word("rem.u32", number, ranks);
        text.emit("div.u32 " + block + ", " + number + ", " + ranks);
        String apart = text.word("ld.global.u32", own.field(ExchangeTable.BYTES_APART));
        text.emit("mad.wide.u32 " + table + ", " + rank + ", " + apart + ", " + table);
    }

    private void exchange() {
        String share = text.label("share");
        String all = text.label("shares_over");
        String at = text.wide("add.u64", table, ExchangeTable.FIRST_SHARE);
        String shares = text.word("ld.global.u32", own.field(ExchangeTable.SHARES));
        text.place(share);
        text.branchIf(text.test("setp.eq.u32", shares, 0), all);
        String sources = text.word("ld.global.u32", ExchangeBlock.field(at, 0));
        String places = text.word("add.u32", sources, text.word("ld.global.u32", ExchangeBlock.field(at, 4)));
        String over = text.label("share_over");
        String kind = text.word("ld.global.u32", ExchangeBlock.field(at, 12));
        text.branchIf(text.test("setp.eq.u32", text.word("and.b32", kind, phase), 0), over);
        if (multicasts) {
            text.branchIf(text.test("setp.ne.u32", text.word("and.b32", kind, buffers.omitted()), 0), over);
        }
        String misaligned = text.register(PREDICATE);
        text.scope(() -> point(at, places, misaligned));
        text.emit("bar.red.or.pred " + misaligned + ", 0, " + misaligned);
        text.scope(() -> {
            String combined = text.label("combined");
            String copies = text.label("copies");
            ShareLoops taken = new ShareLoops(text, element.bytes(), slice(), at, sources, places, misaligned);
            int copying = ExchangeTable.Share.COPY_IN + ExchangeTable.Share.COPY_OUT;
            text.branchIf(text.test("setp.ne.u32", text.word("and.b32", phase, copying), 0), copies);
            text.scope(() -> loops.accept(taken));
            text.emit("bra " + combined);
            text.place(copies);
            text.scope(() -> new CopyLoops(taken, element.bytes()).emitPairs());
            text.place(combined);
        });
        text.emit("bar.sync 0");
        text.place(over);
        String bytes = text.word("mad.lo.u32", places, ExchangeTable.PLACE_BYTES, ExchangeTable.SHARE_BYTES);
        text.emit("add.u64 " + at + ", " + at + ", " + text.wide("cvt.u64.u32", bytes));
        text.emit("sub.u32 " + shares + ", " + shares + ", 1");
        text.emit("bra " + share);
        text.place(all);
    }

    private ShareLoops.Slice slice() {
        String direct = isDirect();
        String threads = text.word("mov.u32", "%ntid.x");
        String ofAll = text.word("mad.lo.u32", block, threads, thread);
        // A launch of several calls may have more blocks than this one.
        String all = text.word("mul.lo.u32", text.word("ld.global.u32", own.field(0)), threads);
        String bytes = text.wide("ld.global.u64", own.field(ExchangeTable.SLICE));
        return new ShareLoops.Slice(
                text.word("selp.b32", ofAll, thread, direct),
                text.word("selp.b32", all, threads, direct),
                own.state(ExchangeBlock.MOVED),
                text.wide("selp.b64", -1, bytes, direct));
    }

    /** Computes the address of a source or target in each of the first threads. */
    private void point(String at, String places, String misaligned) {
        String pointed = text.label("pointed");
        text.emit("setp.ne.u32 " + misaligned + ", " + thread + ", " + thread);
        text.branchIf(text.test("setp.ge.u32", thread, places), pointed);
        String place = text.wide("mad.wide.u32", thread, ExchangeTable.PLACE_BYTES, at);
        String buffer = text.word("ld.global.u32", ExchangeBlock.field(place, ExchangeTable.SHARE_BYTES));
        String offset = text.wide("ld.global.u64", ExchangeBlock.field(place, ExchangeTable.SHARE_BYTES + 8));
        String ofBlock =
                text.wide("mul.wide.u32", block, text.word("ld.global.u32", own.field(ExchangeTable.STAGE_OF_A_BLOCK)));
        String inStage = text.test("setp.eq.u32", buffer, ExchangeTable.STAGE);
        String begin =
                text.wide("add.u64", text.wide("selp.b64", ofBlock, own.state(ExchangeBlock.MOVED), inStage), offset);
        String address = text.wide("add.u64", text.wide("ld.shared.u64", "[" + own.buffer(buffer) + "]"), begin);
        text.emit(
                "st.shared.u64 [" + text.word("mad.lo.u32", thread, 8, text.word("mov.u32", PLACES)) + "], " + address);
        text.emit("setp.ne.u64 " + misaligned + ", " + text.wide("and.b64", address, 15) + ", 0");
        text.place(pointed);
        text.emit("bar.warp.sync 0xffffffff");
    }

    /** The last block of the grid reports that all are done. */
    private void report() {
        text.emit("bar.sync 0");
        text.branchIf(text.test("setp.ne.u32", thread, 0), left);
        text.emit("fence.acq_rel.sys");
        String most = text.word("sub.u32", text.word("mov.u32", "%nctaid.x"), 1);
        String counter = text.wide("ld.global.u64", own.field(ExchangeTable.DONE_COUNTER));
        String before = text.word("atom.relaxed.gpu.global.inc.u32", "[" + counter + "]", most);
        text.branchIf(text.test("setp.ne.u32", before, most), left);
        text.emit("fence.acq_rel.sys");
        String control = text.wide("ld.param.u64", "[control]");
        text.emit("st.relaxed.sys.global.u64 " + ExchangeBlock.field(control, ProgramStatus.DONE) + ", " + own.base());
    }
}

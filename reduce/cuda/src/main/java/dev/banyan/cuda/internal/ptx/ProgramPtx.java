package dev.banyan.cuda.internal.ptx;

import static dev.banyan.cuda.internal.ptx.PtxText.Register.LONG;
import static dev.banyan.cuda.internal.ptx.PtxText.Register.PREDICATE;
import static dev.banyan.cuda.internal.ptx.PtxText.Register.WORD;

import dev.banyan.schedule.type.ReduceOp;
import java.util.ArrayList;
import java.util.List;

/**
 * Writes the kernel that interprets {@linkplain ProgramTable device programs}. A block has workers, of which the first
 * warp also reads records and waits for flags, and a posting warp, whose fences overlap with the next slice.
 *
 * <p>Named barriers: 0 of all threads at the begin and at the end; 1 of the workers, when a loop or a slice may begin;
 * 2 of all threads, when a slice is done; 3 of the first and the posting warp, when a record has been read. Barriers 1
 * and 2 also collect whether a thread stops, so that all threads of a block leave at the same place.
 */
final class ProgramPtx {
    private static final int WARP = 32;

    private final PtxText text = new PtxText();
    private final Kernel.Program kernel;
    private final ProgramRegisters registers;
    private final ProgramStop stop;
    private final ProgramCalls calls;
    private final String loopsEnd = text.label("loops_end");
    private final String left = text.label("left");

    ProgramPtx(Kernel.Program kernel) {
        this.kernel = kernel;
        registers = new ProgramRegisters(text);
        stop = new ProgramStop(text, registers);
        calls = new ProgramCalls(text, registers, loopsEnd);
    }

    String text() {
        String posting = text.label("posting");
        text.branchIf(text.emit(PREDICATE, "setp.ge.u32", registers.thread, registers.workers), posting);
        text.scope(this::work);
        text.place(posting);
        text.scope(this::post);
        text.place(loopsEnd);
        end();
        text.place(left);
        List<String> parameters = new ArrayList<>();
        for (String parameter : List.of("table", "base", "control", "timeout", "calls", "count", "sets")) {
            parameters.add(".param .u64 " + parameter);
        }
        for (int buffer = 0; buffer < Kernel.Program.BUFFERS; buffer++) {
            parameters.add(".param .u64 buffer" + buffer);
        }
        int threads = Kernel.Program.MOST_WORKERS + Kernel.Program.POSTING_THREADS;
        return text.module(kernel.name(), ".maxntid " + threads + ", 1, 1\n.minnctapersm 1", parameters);
    }

    // ---- Workers ----

    private void work() {
        String front = text.emit(PREDICATE, "setp.lt.u32", registers.thread, WARP);
        String call = text.label("call");
        String callEnd = text.label("call_end");
        text.place(call);
        calls.awaitRecord();
        calls.begin();
        String next = text.emit(LONG, "ld.global.u64", "[" + registers.head + "+" + ProgramTable.HEAD_BYTES + "]");
        calls.awaitBuffers();
        String loop = text.label("loop");
        String isRead = text.label("is_read");
        text.place(loop);
        text.branchIf(text.emit(PREDICATE, "setp.eq.u32", registers.loops, 0), callEnd);
        String misaligned = text.emit(PREDICATE, "setp.ne.u32", registers.thread, registers.thread);
        WaitRegisters waits = new WaitRegisters(text);
        PlaceRegisters place = new PlaceRegisters(text);
        text.branchUnless(front, isRead);
        text.scope(() -> {
            read(next);
            prepareWait(waits);
            preparePlace(place, misaligned);
        });
        text.emit("bar.arrive 3, " + 2 * WARP);
        text.place(isRead);
        text.emit("bar.red.or.pred " + registers.scalar + ", 1, " + registers.workers + ", " + misaligned);
        text.scope(this::begin);

        String slice = text.label("slice");
        String isReady = text.label("is_ready");
        String moved = text.label("moved");
        text.place(slice);
        text.emit("add.u64 " + registers.flag + ", " + registers.flag + ", 1");
        text.branchUnless(front, isReady);
        text.scope(() -> await(waits));
        text.scope(() -> point(place));
        text.place(isReady);
        text.emit("bar.red.or.pred " + registers.stopped + ", 1, " + registers.workers + ", " + registers.stopped);
        String last = text.register(PREDICATE);
        text.scope(() -> readCount(last));
        text.scope(() -> move(moved));
        text.place(moved);
        text.emit("bar.red.or.pred " + registers.stopped + ", 2, " + registers.threads + ", " + registers.stopped);
        text.branchIf(registers.stopped, left);
        text.emit("add.u32 " + registers.slice + ", " + registers.slice + ", 1");
        text.branchUnless(last, slice);
        text.emit("sub.u32 " + registers.loops + ", " + registers.loops + ", 1");
        text.emit("bra " + loop);
        text.place(callEnd);
        calls.end(call);
    }

    /** The registers of a lane of the first warp, which waits for a flag in each slice. */
    private record WaitRegisters(String flag, String lag, String seen) {
        WaitRegisters(PtxText text) {
            this(text.register(LONG), text.register(WORD), text.register(LONG));
        }
    }

    /** The input or output whose addresses a lane of the first warp computes: begin + (slice & mask) * step. */
    private record PlaceRegisters(String exists, String begin, String mask, String step, String at) {
        PlaceRegisters(PtxText text) {
            this(
                    text.register(PREDICATE),
                    text.register(LONG),
                    text.register(WORD),
                    text.register(WORD),
                    text.register(WORD));
        }
    }

    /** Copies the next record into shared memory. */
    private void read(String next) {
        String stage = text.label("stage");
        String bytes = text.emit(WORD, "ld.global.u32", "[" + next + "]");
        String at = text.emit(WORD, "mul.lo.u32", registers.thread, 16);
        text.place(stage);
        String wide = text.emit(LONG, "cvt.u64.u32", at);
        String from = text.emit(LONG, "add.u64", next, wide);
        String to = text.emit(WORD, "add.u32", registers.record, at);
        String words = vector(text.register(WORD), text.register(WORD), text.register(WORD), text.register(WORD));
        // The first words are on their way before the length of the record is known.
        text.emit("ld.global.v4.u32 " + words + ", [" + from + "]");
        text.emit("@" + text.emit(PREDICATE, "setp.lt.u32", at, bytes) + " st.shared.v4.u32 [" + to + "], " + words);
        text.emit("add.u32 " + at + ", " + at + ", " + ProgramTable.READ_AHEAD);
        text.branchIf(text.emit(PREDICATE, "setp.lt.u32", at, bytes), stage);
        text.emit("bar.warp.sync 0xffffffff");
        String length = text.emit(LONG, "cvt.u64.u32", bytes);
        text.emit("add.u64 " + next + ", " + next + ", " + length);
    }

    private static String vector(String... registers) {
        return "{" + String.join(", ", registers) + "}";
    }

    private static String field(int offset) {
        return "[" + ProgramRegisters.RECORD + "+" + offset + "]";
    }

    private void prepareWait(WaitRegisters wait) {
        String waits = text.emit(WORD, "ld.shared.u32", field(16));
        String none = text.emit(PREDICATE, "setp.ge.u32", registers.thread, waits);
        String at = ownWait();
        String unless = "@!" + none + " ";
        text.emit("mov.u32 " + wait.lag + ", 0");
        text.emit(unless + "ld.shared.u64 " + wait.flag + ", [" + at + "+" + ProgramLoop.HEAD_BYTES + "]");
        text.emit(unless + "ld.shared.u32 " + wait.lag + ", [" + at + "+" + (ProgramLoop.HEAD_BYTES + 8) + "]");
        // A lane without a flag has seen the greatest value, and so has one whose receiver's slots are known to be
        // free.
        String areFree = text.emit(PREDICATE, "setp.ge.u32", registers.sets, Kernel.Program.FREE);
        String isReady = text.emit(PREDICATE, "setp.eq.u32", wait.lag, ProgramLoop.Wait.READINESS);
        text.emit("and.pred " + isReady + ", " + isReady + ", " + areFree);
        text.emit("or.pred " + none + ", " + none + ", " + isReady);
        text.emit("selp.b64 " + wait.seen + ", -1, 0, " + none);
    }

    private String ownWait() {
        return text.emit(WORD, "mad.lo.u32", registers.thread, ProgramLoop.WAIT_BYTES, registers.record);
    }

    private void preparePlace(PlaceRegisters place, String misaligned) {
        String counts = text.label("prepared");
        String waits = text.register(WORD);
        String inputs = text.register(WORD);
        String outputs = text.register(WORD);
        text.emit("ld.shared.v4.u32 " + vector(waits, inputs, outputs, text.register(WORD)) + ", " + field(16));
        String all = text.emit(WORD, "add.u32", inputs, outputs);
        text.emit("setp.lt.u32 " + place.exists + ", " + registers.thread + ", " + all);
        text.branchUnless(place.exists, counts);
        String own = text.emit(WORD, "mad.lo.u32", registers.thread, ProgramLoop.PLACE_BYTES, registers.record);
        String at = text.emit(WORD, "mad.lo.u32", waits, ProgramLoop.WAIT_BYTES, own);
        String buffer = text.register(WORD);
        String slotBytes = text.register(WORD);
        String mask = text.register(WORD);
        String form = text.register(WORD);
        String channel = text.register(WORD);
        int offset = ProgramLoop.HEAD_BYTES;
        text.emit("ld.shared.u64 " + place.begin + ", [" + at + "+" + offset + "]");
        text.emit("ld.shared.v2.u32 " + vector(buffer, slotBytes) + ", [" + at + "+" + (offset + 8) + "]");
        text.emit("ld.shared.v4.u32 " + vector(mask, form, channel, text.register(WORD)) + ", [" + at + "+"
                + (offset + 16) + "]");
        String relative = text.emit(PREDICATE, "setp.ne.u32", buffer, ProgramLoop.ABSOLUTE);
        String parameters =
                text.emit(WORD, "add.u32", text.emit(WORD, "mov.u32", ProgramRegisters.CALL), ProgramCall.BUFFERS);
        String parameter = text.emit(WORD, "mad.lo.u32", buffer, 8, parameters);
        String address = text.emit(LONG, "mov.u64", 0);
        text.emit("@" + relative + " ld.shared.u64 " + address + ", [" + parameter + "]");
        text.emit("add.u64 " + place.begin + ", " + place.begin + ", " + address);
        String elements = text.emit(WORD, "ld.shared.u32", field(8));
        String sliceBytes =
                text.emit(WORD, "mul.lo.u32", elements, kernel.element().bytes());
        String linear = text.emit(PREDICATE, "setp.eq.u32", slotBytes, 0);
        text.emit("selp.b32 " + place.step + ", " + sliceBytes + ", " + slotBytes + ", " + linear);
        text.emit("selp.b32 " + place.mask + ", -1, " + mask + ", " + linear);
        text.emit("mad.lo.u32 " + place.at + ", " + registers.thread + ", " + ProgramRegisters.PLACE_STRIDE + ", "
                + registers.places);
        text.emit("st.shared.v2.u32 [" + place.at + "+" + ProgramRegisters.FORM_OFFSET + "], " + vector(form, channel));
        String lines = text.emit(PREDICATE, "setp.ne.u32", form, ProgramLoop.Form.PLAIN.code());
        String set = text.emit(WORD, "and.b32", registers.sets, 1);
        text.emit("@" + lines + " mad.wide.u32 " + place.begin + ", " + set + ", " + slotBytes + ", " + place.begin);
        String low = text.emit(LONG, "and.b64", place.begin, 15);
        text.emit("setp.ne.u64 " + misaligned + ", " + low + ", 0");
        text.place(counts);
        text.emit("bar.warp.sync 0xffffffff");
    }

    /** Reads the fields that all workers need. */
    private void begin() {
        String inputs = text.emit(WORD, "ld.shared.u32", field(20));
        String outputs = text.emit(WORD, "ld.shared.u32", field(24));
        text.emit("mad.lo.u32 " + registers.firstOutput + ", " + inputs + ", " + ProgramRegisters.PLACE_STRIDE + ", "
                + registers.places);
        text.emit("mad.lo.u32 " + registers.outputsEnd + ", " + outputs + ", " + ProgramRegisters.PLACE_STRIDE + ", "
                + registers.firstOutput);
        readStart();
        String protocol = text.emit(WORD, "ld.shared.u32", field(48));
        text.emit("setp.ne.u32 " + registers.lines + ", " + protocol + ", 0");
        text.emit("setp.eq.u32 " + registers.copies + ", " + inputs + ", 1");
        if (kernel.op() == ReduceOp.SUM && kernel.element().isFloating()) {
            String divisor = text.emit(WORD, "ld.shared.u32", field(40));
            String undivided = text.emit(PREDICATE, "setp.eq.u32", divisor, 1);
            text.emit("and.pred " + registers.copies + ", " + registers.copies + ", " + undivided);
        }
        text.emit("mov.u32 " + registers.slice + ", 0");
    }

    /** Reads the values of the loop's flags before its first slice. */
    private void readStart() {
        String offset = text.emit(LONG, "ld.shared.u64", field(32));
        text.emit("add.u64 " + registers.flag + ", " + registers.base + ", " + offset);
    }

    /**
     * Waits in the first warp, a flag per lane. What was seen for an earlier slice need not be read again. Loads
     * acquire, as a fence behind them would also wait for the stores of the warp to other devices.
     */
    private void await(WaitRegisters wait) {
        String poll = text.label("poll");
        String waited = text.label("waited");
        String done = text.emit(WORD, "add.u32", registers.slice, 1);
        // start + max(0, slice + 1 - lag) is less than the flag of the slice by min(slice + 1, lag).
        String less = text.emit(LONG, "cvt.u64.u32", text.emit(WORD, "min.u32", done, wait.lag));
        String wanted = text.emit(LONG, "sub.u64", registers.flag, less);
        String lacks = text.emit(PREDICATE, "setp.lt.u64", wait.seen, wanted);
        text.branchUnless(lacks, waited);
        String polls = stop.begin(poll);
        text.emit("ld.acquire.sys.global.u64 " + wait.seen + ", [" + wait.flag + "]");
        text.branchIf(text.emit(PREDICATE, "setp.ge.u64", wait.seen, wanted), waited);
        stop.end(
                poll,
                polls,
                () -> text.emit(WORD, "ld.shared.u32", "[" + ownWait() + "+" + (ProgramLoop.HEAD_BYTES + 12) + "]"),
                wait::seen,
                wanted);
        text.place(waited);
        text.emit("bar.warp.sync 0xffffffff");
    }

    /** Computes the addresses of a slice in the first warp, an input or output per lane. */
    private void point(PlaceRegisters place) {
        String index = text.emit(WORD, "and.b32", registers.slice, place.mask);
        String address = text.emit(LONG, "mad.wide.u32", index, place.step, place.begin);
        text.emit("@" + place.exists + " st.shared.u64 [" + place.at + "], " + address);
    }

    /** Reads the number of elements of the slice, and whether it is the last one. */
    private void readCount(String last) {
        String slices = text.register(WORD);
        String elements = text.register(WORD);
        String lastElements = text.register(WORD);
        text.emit("ld.shared.v4.u32 " + vector(text.register(WORD), slices, elements, lastElements) + ", " + field(0));
        String next = text.emit(WORD, "add.u32", registers.slice, 1);
        text.emit("setp.eq.u32 " + last + ", " + next + ", " + slices);
        text.emit("selp.b32 " + registers.count + ", " + lastElements + ", " + elements + ", " + last);
    }

    private void move(String moved) {
        String lines = text.label("move_lines");
        String reduce = text.label("reduce");
        text.branchIf(registers.stopped, moved);
        text.branchIf(text.emit(PREDICATE, "setp.eq.u32", registers.firstOutput, registers.places), moved);
        text.branchIf(registers.lines, lines);
        text.branchUnless(registers.copies, reduce);
        text.scope(() -> new BulkCopy(text, registers, kernel.element()).emit(moved));
        text.place(reduce);
        text.scope(() -> new BulkReduction(text, registers, kernel, divisor()).emit(moved));
        text.place(lines);
        text.scope(() -> {
            ElementCode code = ElementCode.of(text, kernel.op(), kernel.element(), divisor());
            new LineMove(text, registers, stop, kernel.element(), code).emit(moved);
        });
    }

    private String divisor() {
        return text.emit(WORD, "ld.shared.u32", field(40));
    }

    // ---- The posting warp ----

    private void post() {
        String lane = text.emit(WORD, "sub.u32", registers.thread, registers.workers);
        String first = text.emit(PREDICATE, "setp.eq.u32", lane, 0);
        keep("@" + first + " ");
        String call = text.label("post_call");
        String callEnd = text.label("post_call_end");
        String words = vector(text.register(LONG), text.register(LONG));
        calls.fetch(lane, words, 0);
        text.place(call);
        calls.keep(lane, first, words);
        text.emit("bar.sync 0");
        calls.fetch(lane, words, 1);
        calls.begin();
        String loop = text.label("post_loop");
        String slice = text.label("post_slice");
        text.place(loop);
        text.branchIf(text.emit(PREDICATE, "setp.eq.u32", registers.loops, 0), callEnd);
        text.emit("bar.sync 3, " + 2 * WARP);
        String slices = text.emit(WORD, "ld.shared.u32", field(4));
        String waits = text.register(WORD);
        String inputs = text.register(WORD);
        String outputs = text.register(WORD);
        String posts = text.register(WORD);
        text.emit("ld.shared.v4.u32 " + vector(waits, inputs, outputs, posts) + ", " + field(16));
        readStart();
        String exists = text.emit(PREDICATE, "setp.lt.u32", lane, posts);
        String places = text.emit(WORD, "add.u32", inputs, outputs);
        String own = text.emit(WORD, "mad.lo.u32", lane, ProgramLoop.POST_BYTES, registers.record);
        String behindWaits = text.emit(WORD, "mad.lo.u32", waits, ProgramLoop.WAIT_BYTES, own);
        String at = text.emit(WORD, "mad.lo.u32", places, ProgramLoop.PLACE_BYTES, behindWaits);
        String flag = text.emit(LONG, "mov.u64", 0);
        // A lane without a flag has none of the kinds.
        String kind = text.emit(WORD, "mov.u32", ProgramLoop.PostKind.WHEN_READY.code() + 1);
        text.emit("@" + exists + " ld.shared.u64 " + flag + ", [" + at + "+" + ProgramLoop.HEAD_BYTES + "]");
        text.emit("@" + exists + " ld.shared.u32 " + kind + ", [" + at + "+" + (ProgramLoop.HEAD_BYTES + 8) + "]");
        String fromReady = text.emit(WORD, "sub.u32", kind, ProgramLoop.PostKind.WHEN_READY_AND_AFTER_SLICES.code());
        String ready = text.emit(PREDICATE, "setp.lt.u32", fromReady, 2);
        post(ready, flag);
        String each =
                text.emit(PREDICATE, "setp.le.u32", kind, ProgramLoop.PostKind.WHEN_READY_AND_AFTER_SLICES.code());
        text.place(slice);
        String nobody = text.emit(PREDICATE, "setp.ne.u32", lane, lane);
        text.emit("bar.red.or.pred " + registers.stopped + ", 2, " + registers.threads + ", " + nobody);
        text.branchIf(registers.stopped, left);
        text.emit("add.u64 " + registers.flag + ", " + registers.flag + ", 1");
        post(each, flag);
        text.emit("sub.u32 " + slices + ", " + slices + ", 1");
        text.branchIf(text.emit(PREDICATE, "setp.ne.u32", slices, 0), slice);
        text.emit("sub.u32 " + registers.loops + ", " + registers.loops + ", 1");
        text.emit("bra " + loop);
        text.place(callEnd);
        calls.end(call);
    }

    /** The fence also orders what other threads of the block did before the barrier. */
    private void post(String posts, String flag) {
        text.emit("@" + posts + " fence.acq_rel.sys");
        text.emit("@" + posts + " st.relaxed.sys.global.u64 [" + flag + "], " + registers.flag);
    }

    private void keep(String guard) {
        text.emit(guard + "st.shared.u32 [" + ProgramRegisters.STOP + "], 0");
        String now = text.emit(LONG, "mov.u64", "%globaltimer");
        text.emit(guard + "st.shared.u64 [" + ProgramRegisters.BEGIN + "], " + now);
    }

    // ---- The end ----

    /** The last block of the grid reports that all are done. */
    private void end() {
        String counter = text.emit(LONG, "ld.global.u64", "[" + registers.table + "+8]");
        text.emit("bar.sync 0");
        text.branchIf(text.emit(PREDICATE, "setp.ne.u32", registers.thread, 0), left);
        text.emit("fence.acq_rel.sys");
        String blocks = text.emit(WORD, "mov.u32", "%nctaid.x");
        String most = text.emit(WORD, "sub.u32", blocks, 1);
        String before = text.emit(WORD, "atom.relaxed.gpu.global.inc.u32", "[" + counter + "]", most);
        text.branchIf(text.emit(PREDICATE, "setp.ne.u32", before, most), left);
        text.emit("fence.acq_rel.sys");
        String control = text.emit(LONG, "ld.param.u64", "[control]");
        text.emit("st.relaxed.sys.global.u64 [" + control + "+" + ProgramStatus.DONE + "], " + registers.base);
    }
}

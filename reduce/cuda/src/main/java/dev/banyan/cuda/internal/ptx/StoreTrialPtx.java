package dev.banyan.cuda.internal.ptx;

import static dev.banyan.cuda.internal.ptx.PtxText.Register.LONG;
import static dev.banyan.cuda.internal.ptx.PtxText.Register.PREDICATE;
import static dev.banyan.cuda.internal.ptx.PtxText.Register.WORD;

import java.util.List;
import java.util.stream.Stream;

/**
 * Writes the kernel that tries what device programs do: its block stores bytes to another device, then a fence and a
 * flag, waits for the flag of the other one, and copies what has arrived with it.
 */
final class StoreTrialPtx {
    private static final List<String> PARAMETERS =
            List.of("source", "target", "flag", "received", "awaited", "seen", "control", "value");

    private final PtxText text = new PtxText();
    private final String thread = text.emit(WORD, "mov.u32", "%tid.x");

    String text(String name) {
        String over = text.label("over");
        String poll = text.label("poll");
        String came = text.label("came");
        String value = text.emit(LONG, "ld.param.u64", "[value]");
        String control = text.address("control");
        String first = text.emit(PREDICATE, "setp.eq.u32", thread, 0);
        text.emit(
                "@" + first + " st.relaxed.sys.global.u64 [" + control + "+" + Kernel.StoreTrial.BEGUN + "], " + value);
        copy("source", "target");
        text.emit("bar.sync 0");
        String stopped = text.emit(PREDICATE, "setp.ne.u32", thread, thread);
        text.branchUnless(first, came);
        text.emit("fence.acq_rel.sys");
        text.emit("st.relaxed.sys.global.u64 [" + text.address("flag") + "], " + value);
        String awaited = text.address("awaited");
        text.place(poll);
        String there = text.emit(LONG, "ld.acquire.sys.global.u64", "[" + awaited + "]");
        text.branchIf(text.emit(PREDICATE, "setp.ge.u64", there, value), came);
        String abort =
                text.emit(LONG, "ld.relaxed.sys.global.u64", "[" + control + "+" + Kernel.StoreTrial.ABORT + "]");
        text.emit("setp.ne.u64 " + stopped + ", " + abort + ", 0");
        text.branchUnless(stopped, poll);
        text.place(came);
        text.emit("bar.red.or.pred " + stopped + ", 0, " + stopped);
        text.branchIf(stopped, over);
        copy("received", "seen");
        text.place(over);
        return text.module(
                name,
                Kernel.LIMITS,
                PARAMETERS.stream().map(parameter -> ".param .u64 " + parameter).toList());
    }

    private void copy(String from, String to) {
        text.scope(() -> {
            String loop = text.label("words");
            String source = text.address(from);
            String target = text.address(to);
            String at = text.emit(WORD, "mul.lo.u32", thread, 16);
            text.place(loop);
            String offset = text.emit(LONG, "cvt.u64.u32", at);
            List<String> words =
                    Stream.generate(() -> text.register(WORD)).limit(4).toList();
            String vector = "{" + String.join(", ", words) + "}";
            text.emit("ld.global.v4.u32 " + vector + ", [" + text.emit(LONG, "add.u64", source, offset) + "]");
            text.emit("st.global.v4.u32 [" + text.emit(LONG, "add.u64", target, offset) + "], " + vector);
            text.emit("add.u32 " + at + ", " + at + ", " + 16 * Kernel.BLOCK);
            text.branchIf(text.emit(PREDICATE, "setp.lt.u32", at, Kernel.StoreTrial.DATA_BYTES), loop);
        });
    }
}

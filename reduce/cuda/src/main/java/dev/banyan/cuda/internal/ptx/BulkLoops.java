package dev.banyan.cuda.internal.ptx;

import static dev.banyan.cuda.internal.ptx.PtxText.Register.LONG;
import static dev.banyan.cuda.internal.ptx.PtxText.Register.PREDICATE;
import static dev.banyan.cuda.internal.ptx.PtxText.Register.WORD;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;

/**
 * Writes the loops of the workers over a slice of plain data. Where all places are aligned, a thread takes several
 * times 16 bytes at once, a warp's next to each other, and the elements behind the last 16 bytes one by one; else it
 * takes all one by one.
 */
final class BulkLoops {
    private static final int WARP = 32;
    /** Bytes between the words of a thread in a round. */
    static final int WORDS_APART = 16 * WARP;

    private final PtxText text;
    private final ProgramRegisters registers;
    private final Element element;
    /** Number of words of 16 bytes that are not taken element by element. */
    private final String words;

    BulkLoops(PtxText text, ProgramRegisters registers, Element element) {
        this.text = text;
        this.registers = registers;
        this.element = element;
        String bytes = text.emit(WORD, "mul.lo.u32", registers.count, element.bytes());
        words = text.emit(WORD, "selp.b32", 0, text.emit(WORD, "shr.u32", bytes, 4), registers.scalar);
    }

    /** The words of a thread in a round, e.g. word, word + 32, word + 64: all within the slice but guarded ones. */
    record Round(String offset, List<String> guards) {}

    /** Emits a loop over rounds of so many words of each thread. */
    void eachRound(int unrolled, Consumer<Round> body) {
        String loop = text.label("words");
        String end = text.label("words_end");
        String lane = text.emit(WORD, "and.b32", registers.thread, WARP - 1);
        String warp = text.emit(WORD, "sub.u32", registers.thread, lane);
        String word = text.emit(WORD, "mad.lo.u32", warp, unrolled, lane);
        text.place(loop);
        text.branchIf(text.emit(PREDICATE, "setp.ge.u32", word, words), end);
        String offset = text.emit(LONG, "mul.wide.u32", word, 16);
        String left = text.emit(WORD, "sub.u32", words, word);
        List<String> guards = new ArrayList<>(List.of(""));
        for (int u = 1; u < unrolled; u++) {
            guards.add("@" + text.emit(PREDICATE, "setp.gt.u32", left, WARP * u) + " ");
        }
        body.accept(new Round(offset, guards));
        String step = text.emit(WORD, "mul.lo.u32", registers.workers, unrolled);
        text.emit("add.u32 " + word + ", " + word + ", " + step);
        text.emit("bra " + loop);
        text.place(end);
    }

    /** Emits a loop over the elements of a thread behind the words; then it goes to a label. */
    void eachElement(String end, Consumer<String> body) {
        String inWords = text.emit(WORD, "mul.lo.u32", words, 16 / element.bytes());
        String index = text.emit(WORD, "add.u32", registers.thread, inWords);
        String loop = text.label("element");
        text.place(loop);
        text.branchIf(text.emit(PREDICATE, "setp.ge.u32", index, registers.count), end);
        body.accept(text.emit(LONG, "mul.wide.u32", index, element.bytes()));
        text.emit("add.u32 " + index + ", " + index + ", " + registers.workers);
        text.emit("bra " + loop);
    }

    /** The address of data of a slice, from the address of its place in shared memory. */
    String address(String place, String offset) {
        String begin = text.emit(LONG, "ld.shared.u64", "[" + place + "]");
        return text.emit(LONG, "add.u64", begin, offset);
    }

    void eachOutput(String offset, Consumer<String> store) {
        String loop = text.label("output");
        text.scope(() -> {
            String output = text.emit(WORD, "mov.u32", registers.firstOutput);
            text.place(loop);
            // Most slices have one or two outputs; an unrolled loop would take registers and instructions for more.
            text.emit(".pragma \"nounroll\"");
            store.accept(address(output, offset));
            text.emit("add.u32 " + output + ", " + output + ", " + ProgramRegisters.PLACE_STRIDE);
            text.branchIf(text.emit(PREDICATE, "setp.lt.u32", output, registers.outputsEnd), loop);
        });
    }
}

package dev.banyan.cuda.internal.symmetric;

import dev.banyan.cuda.internal.ptx.PtxText;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;

/**
 * Writes loops over the elements of a share. Where all places are aligned, a thread takes several times 16 bytes at
 * once, a warp's next to each other, and the elements behind the last 16 bytes one by one; else all one by one.
 */
final class ShareLoops {
    private static final int WARP = 32;
    /** Bytes between the words that a thread takes in a round. */
    static final int WORDS_APART = 16 * WARP;

    private final PtxText text;
    private final int elementBytes;
    private final String share;
    private final String sources;
    private final String places;
    private final String elements;
    /** Number of words of 16 bytes that are not taken element by element. */
    private final String words;

    private final Slice slice;
    private final String addresses;

    /**
     * The part of a share that some threads take.
     *
     * @param thread a register with the number of this thread among them
     * @param threads a register with their number
     * @param begin a register with the bytes before it
     * @param bytes a register with the most bytes that it has
     */
    record Slice(String thread, String threads, String begin, String bytes) {}

    /**
     * @param share a register with the address of the share
     * @param sources a register with the number of sources
     * @param places a register with the number of sources and targets
     * @param scalar a predicate: not all places are aligned
     */
    ShareLoops(
            PtxText text, int elementBytes, Slice slice, String share, String sources, String places, String scalar) {
        this.text = text;
        this.elementBytes = elementBytes;
        this.share = share;
        this.sources = sources;
        this.places = places;
        this.slice = slice;
        String whole = text.wide("mul.lo.u64", text.wide("ld.global.u64", "[" + share + "+16]"), elementBytes);
        String left = text.wide("sub.u64", whole, text.wide("min.u64", whole, slice.begin()));
        String bytes = text.wide("min.u64", left, slice.bytes());
        elements = text.wide("shr.u64", bytes, Integer.numberOfTrailingZeros(elementBytes));
        words = text.wide("selp.b64", 0, text.wide("shr.u64", bytes, 4), scalar);
        addresses = text.word("mov.u32", ExchangePtx.PLACES);
    }

    PtxText text() {
        return text;
    }

    /** Returns a register with the number of sources. */
    String sources() {
        return sources;
    }

    /** Returns a register with the divisor of results. */
    String divisor() {
        return text.word("ld.global.u32", "[" + share + "+8]");
    }

    /** Returns a register with what of the share are multicast addresses. */
    String multicasts() {
        return text.word("and.b32", text.word("ld.global.u32", "[" + share + "+12]"), ExchangeTable.Share.MULTICAST);
    }

    /** The words of a thread in a round, all within the share but guarded ones. */
    record Round(String offset, List<String> guards) {}

    /** Emits a loop over the words of a thread, of which it takes so many in a round. */
    void eachRound(int unrolled, Consumer<Round> body) {
        String loop = text.label("words");
        String end = text.label("words_over");
        String lane = text.word("and.b32", slice.thread(), WARP - 1);
        String warp = text.word("sub.u32", slice.thread(), lane);
        String at = text.wide("mad.wide.u32", warp, unrolled, text.wide("cvt.u64.u32", lane));
        text.place(loop);
        text.branchIf(text.test("setp.ge.u64", at, words), end);
        String offset = text.wide("shl.b64", at, 4);
        String ahead = text.wide("sub.u64", words, at);
        List<String> guards = new ArrayList<>(List.of(""));
        for (int u = 1; u < unrolled; u++) {
            guards.add("@" + text.test("setp.gt.u64", ahead, WARP * u) + " ");
        }
        body.accept(new Round(offset, guards));
        text.emit("mad.wide.u32 " + at + ", " + slice.threads() + ", " + unrolled + ", " + at);
        text.emit("bra " + loop);
        text.place(end);
    }

    /** Emits a loop over the elements of a thread behind the words; then it goes to a label. */
    void eachElement(String end, Consumer<String> body) {
        String index = text.wide("mad.lo.u64", words, 16 / elementBytes, text.wide("cvt.u64.u32", slice.thread()));
        String loop = text.label("element");
        text.place(loop);
        text.branchIf(text.test("setp.ge.u64", index, elements), end);
        body.accept(text.wide("mul.lo.u64", index, elementBytes));
        text.emit("mad.wide.u32 " + index + ", " + slice.threads() + ", 1, " + index);
        text.emit("bra " + loop);
    }

    /** Returns the address of what is at an offset of a source or target. */
    String address(int place, String offset) {
        return address(addresses + "+" + 8 * place, offset);
    }

    /**
     * Returns the sum of an address and an offset.
     *
     * @param place where shared memory has the address
     */
    String address(String place, String offset) {
        return text.wide("add.u64", text.wide("ld.shared.u64", "[" + place + "]"), offset);
    }

    /** Emits a loop over the addresses of what is at an offset of all targets. */
    void eachTarget(String offset, Consumer<String> store) {
        String loop = text.label("target");
        text.scope(() -> {
            String target = text.word("mad.lo.u32", sources, 8, addresses);
            String end = text.word("mad.lo.u32", places, 8, addresses);
            text.place(loop);
            text.emit(".pragma \"nounroll\"");
            store.accept(address(target, offset));
            text.emit("add.u32 " + target + ", " + target + ", 8");
            text.branchIf(text.test("setp.lt.u32", target, end), loop);
        });
    }

    /** Emits a loop over the addresses of what is at an offset of all sources but the first. */
    void eachFurtherSource(String offset, Consumer<String> combine) {
        String loop = text.label("source");
        text.scope(() -> {
            String source = text.word("add.u32", addresses, 8);
            String end = text.word("mad.lo.u32", sources, 8, addresses);
            text.place(loop);
            text.scope(() -> combine.accept(address(source, offset)));
            text.emit("add.u32 " + source + ", " + source + ", 8");
            text.branchIf(text.test("setp.lt.u32", source, end), loop);
        });
    }
}

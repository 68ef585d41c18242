package dev.banyan.cuda.internal.symmetric;

import static dev.banyan.cuda.internal.ptx.PtxText.Register.LONG;
import static dev.banyan.cuda.internal.ptx.PtxText.Register.PREDICATE;
import static dev.banyan.cuda.internal.ptx.PtxText.Register.WORD;

import dev.banyan.cuda.internal.ptx.Element;
import dev.banyan.cuda.internal.ptx.ElementCode;
import dev.banyan.cuda.internal.ptx.PtxText;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import java.util.stream.Stream;

/**
 * Writes the loops over the elements of a share. Where all places are aligned, a thread takes several times 16 bytes at
 * once, a warp's next to each other, and the elements behind the last 16 bytes one by one; else all one by one.
 */
final class ExchangeLoops {
    private static final int WARP = 32;
    private static final int WORDS_APART = 16 * WARP;
    /** Numbers of sources that have a loop of their own, in which all are loaded at once. */
    private static final int[] UNROLLED = {2, 3, 4, 6, 8, 16};
    /** Words of 16 bytes that a thread loads at once. */
    private static final int WORDS_IN_FLIGHT = 8;
    /** The same where nothing is combined. */
    private static final int WORDS_OF_A_COPY = 4;

    private final PtxText text;
    private final ExchangeKernel kernel;
    private final Element element;
    private final String share;
    private final ElementCode code;
    private final String sources;
    private final String places;
    private final String elements;
    /** Number of words of 16 bytes that are not taken element by element. */
    private final String words;
    /** The number of this thread among those of the call, and their number. */
    private final String thread;

    private final String threads;
    private final String addresses;

    /**
     * @param table a register with the address of the table
     * @param block a register with the number of this block among those of its rank
     * @param share a register with the address of the share
     * @param sources a register with the number of sources
     * @param places a register with the number of sources and targets
     * @param scalar a predicate: not all places are aligned
     */
    ExchangeLoops(
            PtxText text,
            ExchangeKernel kernel,
            String table,
            String block,
            String share,
            String sources,
            String places,
            String scalar) {
        this.text = text;
        this.sources = sources;
        this.places = places;
        this.share = share;
        this.kernel = kernel;
        element = kernel.element();
        code = ElementCode.of(text, kernel.op(), element, word("ld.global.u32", "[" + share + "+8]"));
        elements = wide("ld.global.u64", "[" + share + "+16]");
        String bytes = wide("mul.lo.u64", elements, element.bytes());
        words = wide("selp.b64", 0, wide("shr.u64", bytes, 4), scalar);
        thread = word("mad.lo.u32", block, ExchangeKernel.THREADS, word("mov.u32", "%tid.x"));
        // A launch of several calls may have more blocks than this one.
        threads = word("mul.lo.u32", word("ld.global.u32", "[" + table + "]"), ExchangeKernel.THREADS);
        addresses = word("mov.u32", ExchangePtx.PLACES);
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

    void emit() {
        String moved = text.label("moved");
        String rest = text.label("rest");
        String combine = text.label("combine");
        if (kernel.multicast()) {
            text.scope(() -> emitMulticast(moved));
        }
        text.branchIf(test("setp.ne.u32", sources, 1), combine);
        text.scope(() -> eachRound(WORDS_OF_A_COPY, this::copyWords));
        text.scope(() -> eachElement(moved, this::copyElement));
        text.place(combine);
        for (int number : UNROLLED) {
            String other = text.label("other_sources");
            text.branchIf(test("setp.ne.u32", sources, number), other);
            text.scope(() ->
                    eachRound(Math.clamp(WORDS_IN_FLIGHT / number, 1, 2), round -> combineAllAtOnce(round, number)));
            text.emit("bra " + rest);
            text.place(other);
        }
        text.scope(() -> eachRound(1, this::combineInTurn));
        text.place(rest);
        text.scope(() -> eachElement(moved, this::combineElement));
        text.place(moved);
    }

    /** Emits the loops of shares with multicast addresses, behind which it goes to a label; others go on. */
    private void emitMulticast(String moved) {
        MulticastLoops multicast = new MulticastLoops(text, kernel, code);
        String kind = word("ld.global.u32", "[" + share + "+12]");
        int both = ExchangeTable.Share.COMBINED + ExchangeTable.Share.TO_ALL;
        for (int k = 1; k <= both; k++) {
            boolean combines = (k & ExchangeTable.Share.COMBINED) != 0;
            if (combines && !MulticastLoops.combines(kernel.op(), element, false)) {
                continue;
            }
            boolean toAll = (k & ExchangeTable.Share.TO_ALL) != 0;
            String other = text.label("other_kind");
            text.branchIf(test("setp.ne.u32", kind, k), other);
            text.scope(() -> eachRound(WORDS_OF_A_COPY, round -> move(multicast, round, combines, toAll)));
            text.emit("bra " + moved);
            text.place(other);
        }
    }

    private void move(MulticastLoops multicast, Round round, boolean combines, boolean toAll) {
        String from = address(addresses, round.offset());
        List<List<String>> results = new ArrayList<>();
        for (int u = 0; u < round.guards().size(); u++) {
            String guard = round.guards().get(u);
            results.add(
                    combines
                            ? multicast.combine(guard, from, WORDS_APART * u)
                            : multicast.load(guard, from, WORDS_APART * u));
        }
        String to = address(addresses + "+8", round.offset());
        for (int u = 0; u < results.size(); u++) {
            String guard = round.guards().get(u);
            if (toAll) {
                multicast.storeToAll(guard, to, WORDS_APART * u, results.get(u));
            } else {
                code.store(guard, to, WORDS_APART * u, results.get(u));
            }
        }
    }

    /** The words of a thread in a round, all within the share but guarded ones. */
    private record Round(String offset, List<String> guards) {}

    private void eachRound(int unrolled, Consumer<Round> body) {
        String loop = text.label("words");
        String end = text.label("words_over");
        String lane = word("and.b32", thread, WARP - 1);
        String warp = word("sub.u32", thread, lane);
        String at = wide("mad.wide.u32", warp, unrolled, wide("cvt.u64.u32", lane));
        text.place(loop);
        text.branchIf(test("setp.ge.u64", at, words), end);
        String offset = wide("shl.b64", at, 4);
        String ahead = wide("sub.u64", words, at);
        List<String> guards = new ArrayList<>(List.of(""));
        for (int u = 1; u < unrolled; u++) {
            guards.add("@" + test("setp.gt.u64", ahead, WARP * u) + " ");
        }
        body.accept(new Round(offset, guards));
        text.emit("mad.wide.u32 " + at + ", " + threads + ", " + unrolled + ", " + at);
        text.emit("bra " + loop);
        text.place(end);
    }

    /** Emits a loop over the elements of a thread behind the words; then it goes to a label. */
    private void eachElement(String end, Consumer<String> body) {
        String index = wide("mad.lo.u64", words, 16 / element.bytes(), wide("cvt.u64.u32", thread));
        String loop = text.label("element");
        text.place(loop);
        text.branchIf(test("setp.ge.u64", index, elements), end);
        body.accept(wide("mul.lo.u64", index, element.bytes()));
        text.emit("mad.wide.u32 " + index + ", " + threads + ", 1, " + index);
        text.emit("bra " + loop);
    }

    private String address(String place, String offset) {
        return wide("add.u64", wide("ld.shared.u64", "[" + place + "]"), offset);
    }

    private void eachTarget(String offset, Consumer<String> store) {
        String loop = text.label("target");
        text.scope(() -> {
            String target = word("mad.lo.u32", sources, 8, addresses);
            String end = word("mad.lo.u32", places, 8, addresses);
            text.place(loop);
            text.emit(".pragma \"nounroll\"");
            store.accept(address(target, offset));
            text.emit("add.u32 " + target + ", " + target + ", 8");
            text.branchIf(test("setp.lt.u32", target, end), loop);
        });
    }

    private void copyWords(Round round) {
        List<List<String>> loaded = new ArrayList<>();
        String from = address(addresses, round.offset());
        for (int u = 0; u < round.guards().size(); u++) {
            List<String> quad =
                    Stream.generate(() -> text.register(WORD)).limit(4).toList();
            text.emit(round.guards().get(u) + "ld.global.v4.u32 {" + String.join(", ", quad) + "}, [" + from + "+"
                    + WORDS_APART * u + "]");
            loaded.add(quad);
        }
        eachTarget(round.offset(), to -> {
            for (int u = 0; u < loaded.size(); u++) {
                text.emit(round.guards().get(u) + "st.global.v4.u32 [" + to + "+" + WORDS_APART * u + "], {"
                        + String.join(", ", loaded.get(u)) + "}");
            }
        });
    }

    private void copyElement(String offset) {
        String from = address(addresses, offset);
        String type = element.bytes() == 16 ? "v2.u64" : "u" + 8 * element.bytes();
        String value = switch (element.bytes()) {
            case 16 -> "{" + text.register(LONG) + ", " + text.register(LONG) + "}";
            case 8 -> text.register(LONG);
            default -> text.register(WORD);
        };
        text.emit("ld.global." + type + " " + value + ", [" + from + "]");
        eachTarget(offset, to -> text.emit("st.global." + type + " [" + to + "], " + value));
    }

    private void combineAllAtOnce(Round round, int number) {
        List<List<List<String>>> loaded = new ArrayList<>();
        for (int source = 0; source < number; source++) {
            String from = address(addresses + "+" + 8 * source, round.offset());
            List<List<String>> ofSource = new ArrayList<>();
            for (int u = 0; u < round.guards().size(); u++) {
                List<String> word = code.words();
                code.load(round.guards().get(u), word, from, WORDS_APART * u);
                ofSource.add(word);
            }
            loaded.add(ofSource);
        }
        List<List<String>> results = new ArrayList<>();
        for (int u = 0; u < round.guards().size(); u++) {
            List<String> accumulators = code.unpack(loaded.getFirst().get(u));
            for (List<List<String>> ofSource : loaded.subList(1, number)) {
                code.combine(accumulators, ofSource.get(u));
            }
            results.add(code.pack(accumulators));
        }
        store(round, results);
    }

    private void store(Round round, List<List<String>> results) {
        eachTarget(round.offset(), to -> {
            for (int u = 0; u < results.size(); u++) {
                code.store(round.guards().get(u), to, WORDS_APART * u, results.get(u));
            }
        });
    }

    private void combineInTurn(Round round) {
        List<String> first = code.words();
        code.load("", first, address(addresses, round.offset()), 0);
        List<String> accumulators = code.unpack(first);
        eachFurtherSource(source -> {
            List<String> word = code.words();
            code.load("", word, address(source, round.offset()), 0);
            code.combine(accumulators, word);
        });
        store(round, List.of(code.pack(accumulators)));
    }

    private void combineElement(String offset) {
        List<String> accumulators = code.loadElement(address(addresses, offset));
        eachFurtherSource(source -> code.combineElement(accumulators, code.loadElement(address(source, offset))));
        List<String> result = code.packElement(accumulators);
        eachTarget(offset, to -> code.storeElement(to, result));
    }

    /** Emits a loop over the places of all sources but the first. */
    private void eachFurtherSource(Consumer<String> combine) {
        String loop = text.label("source");
        text.scope(() -> {
            String source = word("add.u32", addresses, 8);
            String end = word("mad.lo.u32", sources, 8, addresses);
            text.place(loop);
            text.scope(() -> combine.accept(source));
            text.emit("add.u32 " + source + ", " + source + ", 8");
            text.branchIf(test("setp.lt.u32", source, end), loop);
        });
    }
}

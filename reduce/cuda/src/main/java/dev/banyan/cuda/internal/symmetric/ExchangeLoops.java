package dev.banyan.cuda.internal.symmetric;

import dev.banyan.cuda.internal.ptx.Element;
import dev.banyan.cuda.internal.ptx.ElementCode;
import dev.banyan.cuda.internal.ptx.PtxText;
import dev.banyan.schedule.internal.program.DirectExchange;
import dev.banyan.schedule.type.DataType;
import java.util.ArrayList;
import java.util.List;

/** Writes the loops over a share whose elements are combined, in the order of its sources. */
final class ExchangeLoops {
    /** Numbers of sources that have a loop of their own, in which all are loaded at once. */
    private static final int[] UNROLLED = {2, 3, 4, 6, 8, 16};
    /** Words of 16 bytes that a thread loads at once. */
    private static final int WORDS_IN_FLIGHT = 8;

    private final PtxText text;
    private final ShareLoops loops;
    private final ExchangeKernel kernel;
    private final Element element;
    private final ElementCode code;
    private final String sources;

    ExchangeLoops(ShareLoops loops, ExchangeKernel kernel) {
        this.loops = loops;
        this.kernel = kernel;
        text = loops.text();
        element = kernel.element();
        code = ElementCode.of(text, kernel.op(), element, loops.divisor());
        sources = loops.sources();
    }

    void emit() {
        String moved = text.label("moved");
        String rest = text.label("rest");
        String combine = text.label("combine");
        if (kernel.multicast()) {
            text.scope(() -> emitMulticast(moved));
        }
        text.branchIf(text.test("setp.ne.u32", sources, 1), combine);
        new CopyLoops(loops, element.bytes()).emitToAll(moved);
        text.place(combine);
        for (int number : UNROLLED) {
            String other = text.label("other_sources");
            text.branchIf(text.test("setp.ne.u32", sources, number), other);
            text.scope(() -> loops.eachRound(
                    Math.clamp(WORDS_IN_FLIGHT / number, 1, 2), round -> combineAllAtOnce(round, number)));
            text.emit("bra " + rest);
            text.place(other);
        }
        text.scope(() -> loops.eachRound(1, this::combineInTurn));
        text.place(rest);
        text.scope(() -> loops.eachElement(moved, this::combineElement));
        text.place(moved);
    }

    /** Emits the loops of shares with multicast addresses, behind which it goes to a label; others go on. */
    private void emitMulticast(String moved) {
        MulticastLoops multicast = new MulticastLoops(text, kernel, code);
        String kind = loops.multicasts();
        for (int k = 1; k <= ExchangeTable.Share.MULTICAST; k++) {
            boolean combines = (k & ExchangeTable.Share.COMBINED) != 0;
            if (combines && !DirectExchange.combinesInSwitch(DataType.valueOf(element.name()), kernel.op())) {
                continue;
            }
            boolean toAll = (k & ExchangeTable.Share.TO_ALL) != 0;
            String other = text.label("other_kind");
            text.branchIf(text.test("setp.ne.u32", kind, k), other);
            text.scope(
                    () -> loops.eachRound(CopyLoops.WORDS_IN_FLIGHT, round -> move(multicast, round, combines, toAll)));
            text.emit("bra " + moved);
            text.place(other);
        }
    }

    private void move(MulticastLoops multicast, ShareLoops.Round round, boolean combines, boolean toAll) {
        String from = loops.address(0, round.offset());
        List<List<String>> results = new ArrayList<>();
        for (int u = 0; u < round.guards().size(); u++) {
            String guard = round.guards().get(u);
            results.add(
                    combines
                            ? multicast.combine(guard, from, ShareLoops.WORDS_APART * u)
                            : multicast.load(guard, from, ShareLoops.WORDS_APART * u));
        }
        String to = loops.address(1, round.offset());
        for (int u = 0; u < results.size(); u++) {
            String guard = round.guards().get(u);
            if (toAll) {
                multicast.storeToAll(guard, to, ShareLoops.WORDS_APART * u, results.get(u));
            } else {
                code.store(guard, to, ShareLoops.WORDS_APART * u, results.get(u));
            }
        }
    }

    private void combineAllAtOnce(ShareLoops.Round round, int number) {
        List<List<List<String>>> loaded = new ArrayList<>();
        for (int source = 0; source < number; source++) {
            String from = loops.address(source, round.offset());
            List<List<String>> ofSource = new ArrayList<>();
            for (int u = 0; u < round.guards().size(); u++) {
                List<String> word = code.words();
                code.load(round.guards().get(u), word, from, ShareLoops.WORDS_APART * u);
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

    private void store(ShareLoops.Round round, List<List<String>> results) {
        loops.eachTarget(round.offset(), to -> {
            for (int u = 0; u < results.size(); u++) {
                code.store(round.guards().get(u), to, ShareLoops.WORDS_APART * u, results.get(u));
            }
        });
    }

    private void combineInTurn(ShareLoops.Round round) {
        List<String> first = code.words();
        code.load("", first, loops.address(0, round.offset()), 0);
        List<String> accumulators = code.unpack(first);
        loops.eachFurtherSource(round.offset(), source -> {
            List<String> word = code.words();
            code.load("", word, source, 0);
            code.combine(accumulators, word);
        });
        store(round, List.of(code.pack(accumulators)));
    }

    private void combineElement(String offset) {
        List<String> accumulators = code.loadElement(loops.address(0, offset));
        loops.eachFurtherSource(offset, source -> code.combineElement(accumulators, code.loadElement(source)));
        List<String> result = code.packElement(accumulators);
        loops.eachTarget(offset, to -> code.storeElement(to, result));
    }
}

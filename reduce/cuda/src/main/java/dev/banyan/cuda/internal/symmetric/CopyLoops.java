package dev.banyan.cuda.internal.symmetric;

import static dev.banyan.cuda.internal.ptx.PtxText.Register.LONG;
import static dev.banyan.cuda.internal.ptx.PtxText.Register.PREDICATE;
import static dev.banyan.cuda.internal.ptx.PtxText.Register.WORD;

import dev.banyan.cuda.internal.ptx.PtxText;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import java.util.stream.Stream;

/** Writes loops over a share that copy without combining. */
final class CopyLoops {
    /** Words of 16 bytes that a thread loads at once. */
    static final int WORDS_IN_FLIGHT = 4;

    private final PtxText text;
    private final ShareLoops loops;
    private final int elementBytes;

    CopyLoops(ShareLoops loops, int elementBytes) {
        this.loops = loops;
        text = loops.text();
        this.elementBytes = elementBytes;
    }

    /**
     * Emits loops that copy the only source to all targets.
     *
     * @param moved label of what follows
     */
    void emitToAll(String moved) {
        text.scope(() -> loops.eachRound(
                WORDS_IN_FLIGHT,
                round -> copyWords(
                        round, loops.address(0, round.offset()), store -> loops.eachTarget(round.offset(), store))));
        text.scope(() -> loops.eachElement(
                moved, offset -> copyElement(loops.address(0, offset), store -> loops.eachTarget(offset, store))));
    }

    /** Emits loops that copy each source to the target of its number. */
    void emitPairs() {
        String copy = text.label("pair");
        String next = text.label("pair_copied");
        String bytes = text.emit(WORD, "mul.lo.u32", loops.sources(), 8);
        String source = text.emit(WORD, "mov.u32", ExchangePtx.PLACES);
        String end = text.emit(WORD, "add.u32", source, bytes);
        String target = text.emit(WORD, "mov.u32", end);
        text.place(copy);
        text.scope(() -> loops.eachRound(
                WORDS_IN_FLIGHT,
                round -> copyWords(
                        round,
                        loops.address(source, round.offset()),
                        store -> store.accept(loops.address(target, round.offset())))));
        text.scope(() -> loops.eachElement(
                next,
                offset -> copyElement(
                        loops.address(source, offset), store -> store.accept(loops.address(target, offset)))));
        text.place(next);
        text.emit("add.u32 " + source + ", " + source + ", 8");
        text.emit("add.u32 " + target + ", " + target + ", 8");
        text.branchIf(text.emit(PREDICATE, "setp.lt.u32", source, end), copy);
    }

    /** @param eachTarget emits a store for the address of each target */
    private void copyWords(ShareLoops.Round round, String from, Consumer<Consumer<String>> eachTarget) {
        List<List<String>> loaded = new ArrayList<>();
        for (String guard : round.guards()) {
            List<String> quad =
                    Stream.generate(() -> text.register(WORD)).limit(4).toList();
            text.emit(guard + "ld.global.v4.u32 {" + String.join(", ", quad) + "}, [" + from + "+"
                    + ShareLoops.WORDS_APART * loaded.size() + "]");
            loaded.add(quad);
        }
        eachTarget.accept(to -> {
            for (int u = 0; u < loaded.size(); u++) {
                text.emit(round.guards().get(u) + "st.global.v4.u32 [" + to + "+" + ShareLoops.WORDS_APART * u + "], {"
                        + String.join(", ", loaded.get(u)) + "}");
            }
        });
    }

    private void copyElement(String from, Consumer<Consumer<String>> eachTarget) {
        String type = elementBytes == 16 ? "v2.u64" : "u" + 8 * elementBytes;
        String value = switch (elementBytes) {
            case 16 -> "{" + text.register(LONG) + ", " + text.register(LONG) + "}";
            case 8 -> text.register(LONG);
            default -> text.register(WORD);
        };
        text.emit("ld.global." + type + " " + value + ", [" + from + "]");
        eachTarget.accept(to -> text.emit("st.global." + type + " [" + to + "], " + value));
    }
}

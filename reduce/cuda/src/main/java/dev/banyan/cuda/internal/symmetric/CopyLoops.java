package dev.banyan.cuda.internal.symmetric;

import static dev.banyan.cuda.internal.ptx.PtxText.Register.LONG;
import static dev.banyan.cuda.internal.ptx.PtxText.Register.WORD;

import dev.banyan.cuda.internal.ptx.PtxText;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;
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
        emit(offset -> loops.address(0, offset), loops::eachTarget, moved);
    }

    /** Emits loops that copy each source to the target of its number. */
    void emitPairs() {
        String copy = text.label("pair");
        String next = text.label("pair_copied");
        String bytes = text.word("mul.lo.u32", loops.sources(), 8);
        String source = text.word("mov.u32", ExchangePtx.PLACES);
        String end = text.word("add.u32", source, bytes);
        String target = text.word("mov.u32", end);
        text.place(copy);
        emit(
                offset -> loops.address(source, offset),
                (offset, store) -> store.accept(loops.address(target, offset)),
                next);
        text.place(next);
        text.emit("add.u32 " + source + ", " + source + ", 8");
        text.emit("add.u32 " + target + ", " + target + ", 8");
        text.branchIf(text.test("setp.lt.u32", source, end), copy);
    }

    /**
     * @param from returns the address of what is at an offset of the source
     * @param eachTarget emits a store to what is at an offset of each target
     * @param moved label of what follows
     */
    private void emit(UnaryOperator<String> from, BiConsumer<String, Consumer<String>> eachTarget, String moved) {
        text.scope(() -> loops.eachRound(WORDS_IN_FLIGHT, round -> copyWords(round, from, eachTarget)));
        text.scope(() -> loops.eachElement(moved, offset -> copyElement(offset, from, eachTarget)));
    }

    private void copyWords(
            ShareLoops.Round round, UnaryOperator<String> from, BiConsumer<String, Consumer<String>> eachTarget) {
        List<List<String>> loaded = new ArrayList<>();
        String address = from.apply(round.offset());
        for (String guard : round.guards()) {
            List<String> quad =
                    Stream.generate(() -> text.register(WORD)).limit(4).toList();
            text.emit(guard + "ld.global.v4.u32 {" + String.join(", ", quad) + "}, [" + address + "+"
                    + ShareLoops.WORDS_APART * loaded.size() + "]");
            loaded.add(quad);
        }
        eachTarget.accept(round.offset(), to -> {
            for (int u = 0; u < loaded.size(); u++) {
                text.emit(round.guards().get(u) + "st.global.v4.u32 [" + to + "+" + ShareLoops.WORDS_APART * u + "], {"
                        + String.join(", ", loaded.get(u)) + "}");
            }
        });
    }

    private void copyElement(
            String offset, UnaryOperator<String> from, BiConsumer<String, Consumer<String>> eachTarget) {
        String address = from.apply(offset);
        String type = elementBytes == 16 ? "v2.u64" : "u" + 8 * elementBytes;
        String value = switch (elementBytes) {
            case 16 -> "{" + text.register(LONG) + ", " + text.register(LONG) + "}";
            case 8 -> text.register(LONG);
            default -> text.register(WORD);
        };
        text.emit("ld.global." + type + " " + value + ", [" + address + "]");
        eachTarget.accept(offset, to -> text.emit("st.global." + type + " [" + to + "], " + value));
    }
}

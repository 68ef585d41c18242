package dev.banyan.cuda.internal.symmetric;

import static dev.banyan.cuda.internal.ptx.PtxText.Register.LONG;
import static dev.banyan.cuda.internal.ptx.PtxText.Register.WORD;

import dev.banyan.cuda.internal.ptx.PtxText;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/** Writes the loops over a share that has one source, which is copied to all targets. */
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

    /** @param moved label of what follows */
    void emit(String moved) {
        text.scope(() -> loops.eachRound(WORDS_IN_FLIGHT, this::copyWords));
        text.scope(() -> loops.eachElement(moved, this::copyElement));
    }

    private void copyWords(ShareLoops.Round round) {
        List<List<String>> loaded = new ArrayList<>();
        String from = loops.address(0, round.offset());
        for (int u = 0; u < round.guards().size(); u++) {
            List<String> quad =
                    Stream.generate(() -> text.register(WORD)).limit(4).toList();
            text.emit(round.guards().get(u) + "ld.global.v4.u32 {" + String.join(", ", quad) + "}, [" + from + "+"
                    + ShareLoops.WORDS_APART * u + "]");
            loaded.add(quad);
        }
        loops.eachTarget(round.offset(), to -> {
            for (int u = 0; u < loaded.size(); u++) {
                text.emit(round.guards().get(u) + "st.global.v4.u32 [" + to + "+" + ShareLoops.WORDS_APART * u + "], {"
                        + String.join(", ", loaded.get(u)) + "}");
            }
        });
    }

    private void copyElement(String offset) {
        String from = loops.address(0, offset);
        String type = elementBytes == 16 ? "v2.u64" : "u" + 8 * elementBytes;
        String value = switch (elementBytes) {
            case 16 -> "{" + text.register(LONG) + ", " + text.register(LONG) + "}";
            case 8 -> text.register(LONG);
            default -> text.register(WORD);
        };
        text.emit("ld.global." + type + " " + value + ", [" + from + "]");
        loops.eachTarget(offset, to -> text.emit("st.global." + type + " [" + to + "], " + value));
    }
}

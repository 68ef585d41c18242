package dev.banyan.cuda.internal.ptx;

import static dev.banyan.cuda.internal.ptx.PtxText.Register.LONG;
import static dev.banyan.cuda.internal.ptx.PtxText.Register.WORD;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/** Writes the move of a slice of plain data from one input to all outputs, whatever its type. */
final class BulkCopy {
    /** 16-byte words that a thread copies at once. */
    private static final int UNROLLED = 4;

    private final PtxText text;
    private final ProgramRegisters registers;
    private final Element element;
    private final BulkLoops loops;

    BulkCopy(PtxText text, ProgramRegisters registers, Element element) {
        this.text = text;
        this.registers = registers;
        this.element = element;
        loops = new BulkLoops(text, registers, element);
    }

    /** Emits the move, behind which it goes to a label. */
    void emit(String moved) {
        text.scope(() -> loops.eachRound(UNROLLED, this::copyWords));
        text.scope(() -> loops.eachElement(moved, this::copyElement));
    }

    private void copyWords(BulkLoops.Round round) {
        List<List<String>> loaded = new ArrayList<>();
        String from = loops.address(registers.places, round.offset());
        for (int u = 0; u < UNROLLED; u++) {
            List<String> word =
                    Stream.generate(() -> text.register(WORD)).limit(4).toList();
            text.emit(round.guards().get(u) + "ld.global.v4.u32 {" + String.join(", ", word) + "}, [" + from + "+"
                    + BulkLoops.WORDS_APART * u + "]");
            loaded.add(word);
        }
        loops.eachOutput(round.offset(), to -> {
            for (int u = 0; u < UNROLLED; u++) {
                text.emit(round.guards().get(u) + "st.global.v4.u32 [" + to + "+" + BulkLoops.WORDS_APART * u + "], {"
                        + String.join(", ", loaded.get(u)) + "}");
            }
        });
    }

    private void copyElement(String offset) {
        String from = loops.address(registers.places, offset);
        String type = element.bytes() == 16 ? "v2.u64" : "u" + 8 * element.bytes();
        String value = switch (element.bytes()) {
            case 16 -> "{" + text.register(LONG) + ", " + text.register(LONG) + "}";
            case 8 -> text.register(LONG);
            default -> text.register(WORD);
        };
        text.emit("ld.global." + type + " " + value + ", [" + from + "]");
        loops.eachOutput(offset, to -> text.emit("st.global." + type + " [" + to + "], " + value));
    }
}

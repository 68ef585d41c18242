package dev.banyan.cuda;

import static dev.banyan.cuda.PtxText.Register.LONG;
import static dev.banyan.cuda.PtxText.Register.PREDICATE;
import static dev.banyan.cuda.PtxText.Register.WORD;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * Writes the move of a slice of plain data by the workers. Where all places are aligned, a thread takes several times 16
 * bytes at once, a warp's next to each other, and the elements behind the last 16 bytes one by one; else it takes all
 * one by one.
 */
final class BulkMove {
    /** 16-byte words that a thread copies at once. */
    private static final int COPIED_WORDS = 4;

    private static final int WARP = 32;

    private final PtxText text;
    private final ProgramRegisters registers;
    private final Element element;
    private final ElementCode code;
    /** A predicate: the result is the only input. */
    private final String copies;

    BulkMove(PtxText text, ProgramRegisters registers, Element element, ElementCode code, String copies) {
        this.text = text;
        this.registers = registers;
        this.element = element;
        this.code = code;
        this.copies = copies;
    }

    /** 16-byte words of each input that a thread takes at once, so that registers suffice. */
    private int combinedWords() {
        return switch (element) {
            case I8, U8 -> 1;
            case F16, BF16, F32, I32, F64, I64, I128 -> 2;
        };
    }

    /** Emits the move, behind which it goes to a label. */
    void emit(String moved) {
        String reduce = text.label("reduce");
        String bytes = text.emit(WORD, "mul.lo.u32", registers.count, element.bytes());
        String words = text.emit(WORD, "shr.u32", bytes, 4);
        words = text.emit(WORD, "selp.b32", 0, words, registers.scalar);
        String inWords = text.emit(WORD, "mul.lo.u32", words, 16 / element.bytes());
        String index = text.emit(WORD, "add.u32", registers.thread, inWords);
        String allWords = words;
        text.branchUnless(copies, reduce);
        text.scope(() -> copyWords(allWords));
        text.scope(() -> eachElement(index, moved, this::copyElement));
        text.place(reduce);
        text.scope(() -> combineWords(allWords));
        text.scope(() -> eachElement(index, moved, this::combineElement));
    }

    // ---- 16 bytes at a time ----

    /** The words of a thread in a round, e.g. word, word + 32, word + 64: all within the slice but guarded ones. */
    private record Round(String offset, List<String> guards) {}

    /** Emits a loop over rounds of so many words of each thread. */
    private void eachRound(String words, int unrolled, Consumer<Round> body) {
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

    private void copyWords(String words) {
        eachRound(words, COPIED_WORDS, round -> {
            List<List<String>> loaded = new ArrayList<>();
            String from = address(registers.places, round.offset);
            for (int u = 0; u < COPIED_WORDS; u++) {
                List<String> word =
                        Stream.generate(() -> text.register(WORD)).limit(4).toList();
                text.emit(round.guards.get(u) + "ld.global.v4.u32 {" + String.join(", ", word) + "}, [" + from + "+"
                        + 16 * WARP * u + "]");
                loaded.add(word);
            }
            eachOutput(round.offset, to -> {
                for (int u = 0; u < COPIED_WORDS; u++) {
                    text.emit(round.guards.get(u) + "st.global.v4.u32 [" + to + "+" + 16 * WARP * u + "], {"
                            + String.join(", ", loaded.get(u)) + "}");
                }
            });
        });
    }

    /** Loads of the next input are on their way while an input is combined. */
    private void combineWords(String words) {
        int unrolled = combinedWords();
        eachRound(words, unrolled, round -> {
            String all = text.label("all_inputs");
            String pair = text.label("inputs");
            String input = text.emit(WORD, "mov.u32", registers.places);
            String more = text.register(PREDICATE);
            List<List<String>> even = words(unrolled);
            List<List<String>> odd = words(unrolled);
            List<List<String>> first = words(unrolled);
            load(round, input, first);
            loadIfMore(round, input, more, even);
            List<List<String>> accumulators = first.stream().map(code::unpack).toList();
            text.branchUnless(more, all);
            text.place(pair);
            loadIfMore(round, input, more, odd);
            combine(accumulators, even);
            text.branchUnless(more, all);
            loadIfMore(round, input, more, even);
            combine(accumulators, odd);
            text.branchIf(more, pair);
            text.place(all);
            List<List<String>> results = accumulators.stream().map(code::pack).toList();
            eachOutput(round.offset, to -> {
                for (int u = 0; u < unrolled; u++) {
                    code.store(round.guards.get(u), to, 16 * WARP * u, results.get(u));
                }
            });
        });
    }

    private List<List<String>> words(int number) {
        return IntStream.range(0, number).mapToObj(u -> code.words()).toList();
    }

    /** Loads from the input whose place is at an address in shared memory, which then is that of the next place. */
    private void load(Round round, String input, List<List<String>> words) {
        text.scope(() -> {
            String from = address(input, round.offset);
            for (int u = 0; u < words.size(); u++) {
                code.load(round.guards.get(u), words.get(u), from, 16 * WARP * u);
            }
        });
        text.emit("add.u32 " + input + ", " + input + ", " + ProgramRegisters.PLACE_STRIDE);
    }

    private void loadIfMore(Round round, String input, String more, List<List<String>> words) {
        String none = text.label("no_input");
        text.emit("setp.lt.u32 " + more + ", " + input + ", " + registers.firstOutput);
        text.branchUnless(more, none);
        load(round, input, words);
        text.place(none);
    }

    private void combine(List<List<String>> accumulators, List<List<String>> words) {
        for (int u = 0; u < words.size(); u++) {
            code.combine(accumulators.get(u), words.get(u));
        }
    }

    // ---- Element by element ----

    /** Emits a loop over the elements of a thread from an index on. */
    private void eachElement(String index, String end, Consumer<String> body) {
        String loop = text.label("element");
        text.place(loop);
        text.branchIf(text.emit(PREDICATE, "setp.ge.u32", index, registers.count), end);
        body.accept(text.emit(LONG, "mul.wide.u32", index, element.bytes()));
        text.emit("add.u32 " + index + ", " + index + ", " + registers.workers);
        text.emit("bra " + loop);
    }

    private void copyElement(String offset) {
        String from = address(registers.places, offset);
        String type = element.bytes() == 16 ? "v2.u64" : "u" + 8 * element.bytes();
        String value = switch (element.bytes()) {
            case 16 -> "{" + text.register(LONG) + ", " + text.register(LONG) + "}";
            case 8 -> text.register(LONG);
            default -> text.register(WORD);
        };
        text.emit("ld.global." + type + " " + value + ", [" + from + "]");
        eachOutput(offset, to -> text.emit("st.global." + type + " [" + to + "], " + value));
    }

    private void combineElement(String offset) {
        String loop = text.label("input");
        String all = text.label("combined");
        String input = text.emit(WORD, "mov.u32", registers.places);
        List<String> accumulators = code.loadElement(address(input, offset));
        text.place(loop);
        text.emit("add.u32 " + input + ", " + input + ", " + ProgramRegisters.PLACE_STRIDE);
        text.branchIf(text.emit(PREDICATE, "setp.ge.u32", input, registers.firstOutput), all);
        text.scope(() -> code.combineElement(accumulators, code.loadElement(address(input, offset))));
        text.emit("bra " + loop);
        text.place(all);
        List<String> result = code.packElement(accumulators);
        eachOutput(offset, to -> code.storeElement(to, result));
    }

    // ---- Places ----

    /** The address of data of a slice, from the address of its place in shared memory. */
    private String address(String place, String offset) {
        String begin = text.emit(LONG, "ld.shared.u64", "[" + place + "]");
        return text.emit(LONG, "add.u64", begin, offset);
    }

    private void eachOutput(String offset, Consumer<String> store) {
        String loop = text.label("output");
        text.scope(() -> {
            String output = text.emit(WORD, "mov.u32", registers.firstOutput);
            text.place(loop);
            store.accept(address(output, offset));
            text.emit("add.u32 " + output + ", " + output + ", " + ProgramRegisters.PLACE_STRIDE);
            text.branchIf(text.emit(PREDICATE, "setp.lt.u32", output, registers.outputsEnd), loop);
        });
    }
}

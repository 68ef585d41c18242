package dev.banyan.cuda.internal.ptx;

import static dev.banyan.cuda.internal.ptx.PtxText.Register.PREDICATE;
import static dev.banyan.cuda.internal.ptx.PtxText.Register.WORD;

import java.util.List;
import java.util.stream.IntStream;

/** Writes the move of a slice of plain data that combines all inputs, in their order, and stores to all outputs. */
final class BulkReduction {
    private final PtxText text;
    private final ProgramRegisters registers;
    private final ElementCode code;
    private final BulkLoops loops;
    /** 16-byte words of each input that a thread takes at once, so that registers suffice. */
    private final int unrolled;

    BulkReduction(PtxText text, ProgramRegisters registers, Element element, ElementCode code) {
        this.text = text;
        this.registers = registers;
        this.code = code;
        loops = new BulkLoops(text, registers, element);
        unrolled = element.bytes() == 1 ? 1 : 2;
    }

    /** Emits the move, behind which it goes to a label. */
    void emit(String moved) {
        text.scope(() -> loops.eachRound(unrolled, this::combineWords));
        text.scope(() -> loops.eachElement(moved, this::combineElement));
    }

    /** Loads of the next input are on their way while an input is combined. */
    private void combineWords(BulkLoops.Round round) {
        String all = text.label("all_inputs");
        String pair = text.label("inputs");
        String input = text.emit(WORD, "mov.u32", registers.places);
        String more = text.register(PREDICATE);
        List<List<String>> even = words();
        List<List<String>> odd = words();
        List<List<String>> first = words();
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
        loops.eachOutput(round.offset(), to -> {
            for (int u = 0; u < unrolled; u++) {
                code.store(round.guards().get(u), to, BulkLoops.WORDS_APART * u, results.get(u));
            }
        });
    }

    private List<List<String>> words() {
        return IntStream.range(0, unrolled).mapToObj(u -> code.words()).toList();
    }

    /** Loads from the input whose place is at an address in shared memory, which then is that of the next place. */
    private void load(BulkLoops.Round round, String input, List<List<String>> words) {
        text.scope(() -> {
            String from = loops.address(input, round.offset());
            for (int u = 0; u < words.size(); u++) {
                code.load(round.guards().get(u), words.get(u), from, BulkLoops.WORDS_APART * u);
            }
        });
        text.emit("add.u32 " + input + ", " + input + ", " + ProgramRegisters.PLACE_STRIDE);
    }

    private void loadIfMore(BulkLoops.Round round, String input, String more, List<List<String>> words) {
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

    private void combineElement(String offset) {
        String loop = text.label("input");
        String all = text.label("combined");
        String input = text.emit(WORD, "mov.u32", registers.places);
        List<String> accumulators = code.loadElement(loops.address(input, offset));
        text.place(loop);
        text.emit("add.u32 " + input + ", " + input + ", " + ProgramRegisters.PLACE_STRIDE);
        text.branchIf(text.emit(PREDICATE, "setp.ge.u32", input, registers.firstOutput), all);
        text.scope(() -> code.combineElement(accumulators, code.loadElement(loops.address(input, offset))));
        text.emit("bra " + loop);
        text.place(all);
        List<String> result = code.packElement(accumulators);
        loops.eachOutput(offset, to -> code.storeElement(to, result));
    }
}

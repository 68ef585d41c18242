package dev.banyan.cuda.internal.ptx;

import static dev.banyan.cuda.internal.ptx.PtxText.Register.PREDICATE;
import static dev.banyan.cuda.internal.ptx.PtxText.Register.WORD;

import dev.banyan.schedule.type.ReduceOp;
import java.util.ArrayList;
import java.util.List;

/** Writes the move of a slice of plain data that combines all inputs, in their order, and stores to all outputs. */
final class BulkReduction {
    /** Numbers of inputs that have a loop of their own. */
    private static final int[] UNROLLED_INPUTS = {2, 3, 4, 8};
    /**
     * Words of 16 bytes of 4-byte elements that a thread loads at once there; registers suffice for half of the others.
     */
    private static final int WORDS_IN_FLIGHT = 8;

    private final PtxText text;
    private final ProgramRegisters registers;
    private final Kernel.Program kernel;
    private final String divisor;
    private final ElementCode code;
    private final BulkLoops loops;

    /** @param divisor a register with the divisor of the loop */
    BulkReduction(PtxText text, ProgramRegisters registers, Kernel.Program kernel, String divisor) {
        this.text = text;
        this.registers = registers;
        this.kernel = kernel;
        this.divisor = divisor;
        loops = new BulkLoops(text, registers, kernel.element());
        code = ElementCode.of(text, kernel.op(), kernel.element(), divisor);
    }

    /** Emits the move, behind which it goes to a label. */
    void emit(String moved) {
        String general = text.label("general");
        String rest = text.label("rest");
        if (kernel.op() == ReduceOp.SUM && kernel.element().isFloating()) {
            String less = text.emit(WORD, "sub.u32", divisor, 1);
            String common = text.emit(WORD, "and.b32", divisor, less);
            text.branchIf(text.emit(PREDICATE, "setp.ne.u32", common, 0), general);
        }
        for (int inputs : UNROLLED_INPUTS) {
            String other = text.label("other_inputs");
            String end = text.emit(WORD, "add.u32", registers.places, inputs * ProgramRegisters.PLACE_STRIDE);
            text.branchIf(text.emit(PREDICATE, "setp.ne.u32", registers.firstOutput, end), other);
            text.scope(() -> combineAllAtOnce(inputs));
            text.emit("bra " + rest);
            text.place(other);
        }
        text.place(general);
        text.scope(() -> loops.eachRound(1, this::combineWords));
        text.place(rest);
        text.scope(() -> loops.eachElement(moved, this::combineElement));
    }

    /** All inputs are on their way before the first ones are combined. The divisor is a power of two. */
    private void combineAllAtOnce(int inputs) {
        ElementCode scaling = ElementCode.scaling(text, kernel.op(), kernel.element(), divisor);
        int most = kernel.element().bytes() == 4 ? WORDS_IN_FLIGHT : WORDS_IN_FLIGHT / 2;
        int words = Math.clamp(most / inputs, 1, 2);
        loops.eachRound(words, round -> {
            List<List<List<String>>> loaded = new ArrayList<>();
            for (int input = 0; input < inputs; input++) {
                String from =
                        loops.address(registers.places + "+" + input * ProgramRegisters.PLACE_STRIDE, round.offset());
                List<List<String>> ofInput = new ArrayList<>();
                for (int u = 0; u < words; u++) {
                    List<String> word = scaling.words();
                    scaling.load(round.guards().get(u), word, from, BulkLoops.WORDS_APART * u);
                    ofInput.add(word);
                }
                loaded.add(ofInput);
            }
            List<List<String>> results = new ArrayList<>();
            for (int u = 0; u < words; u++) {
                List<String> accumulators = scaling.unpack(loaded.getFirst().get(u));
                for (List<List<String>> ofInput : loaded.subList(1, inputs)) {
                    scaling.combine(accumulators, ofInput.get(u));
                }
                results.add(scaling.pack(accumulators));
            }
            loops.eachOutput(round.offset(), to -> {
                for (int u = 0; u < words; u++) {
                    scaling.store(round.guards().get(u), to, BulkLoops.WORDS_APART * u, results.get(u));
                }
            });
        });
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
            for (int u = 0; u < results.size(); u++) {
                code.store(round.guards().get(u), to, BulkLoops.WORDS_APART * u, results.get(u));
            }
        });
    }

    private List<List<String>> words() {
        return List.of(code.words());
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

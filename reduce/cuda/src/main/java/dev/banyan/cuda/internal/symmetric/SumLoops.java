package dev.banyan.cuda.internal.symmetric;

import dev.banyan.cuda.internal.ptx.Element;
import dev.banyan.cuda.internal.ptx.ElementCode;
import dev.banyan.cuda.internal.ptx.PtxText;
import dev.banyan.cuda.internal.ptx.SumPtx;
import dev.banyan.reduce.internal.sum.ReproducibleSum;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import java.util.ArrayList;
import java.util.List;
import java.util.function.IntFunction;
import java.util.stream.IntStream;

/** Writes the loops over a share of reproducible sums, whose sources are those of all ranks. */
final class SumLoops {
    private final PtxText text;
    private final ShareLoops loops;
    private final SumKernel kernel;
    private final ElementCode code;
    private final SumPtx sums;

    SumLoops(ShareLoops loops, SumKernel kernel) {
        this.loops = loops;
        this.kernel = kernel;
        text = loops.text();
        String divisor = loops.divisor();
        code = ElementCode.of(text, ReduceOp.SUM, Element.of(kernel.type()), divisor);
        ReproducibleSum sum = new ReproducibleSum(kernel.type(), kernel.ranks(), false);
        String exponent = text.word("mov.b32", sum.exponentOfCodeZero());
        sums = new SumPtx(text, kernel.type(), sum.integers() == DataType.I64, exponent, divisor);
    }

    void emit() {
        String moved = text.label("moved");
        text.scope(() -> loops.eachRound(1, this::sumWords));
        text.scope(() -> loops.eachElement(moved, this::sumElement));
        text.place(moved);
    }

    private <T> List<T> ofEachSource(IntFunction<T> load) {
        return IntStream.range(0, kernel.ranks()).mapToObj(load).toList();
    }

    private void sumWords(ShareLoops.Round round) {
        List<List<String>> loaded = ofEachSource(source -> {
            List<String> words = code.words();
            code.load("", words, loops.address(source, round.offset()), 0);
            return words;
        });
        List<String> results = new ArrayList<>();
        for (int w = 0; w < loaded.getFirst().size(); w++) {
            int word = w;
            List<List<String>> numbers = ofEachSource(
                    source -> code.unpack(List.of(loaded.get(source).get(word))));
            List<String> bits = new ArrayList<>();
            for (int n = 0; n < numbers.getFirst().size(); n++) {
                int number = n;
                bits.add(sums.sum(numbers.stream().map(each -> each.get(number)).toList()));
            }
            results.add(packed(bits));
        }
        String type = kernel.type() == DataType.F64 ? "v2.b64" : "v4.b32";
        loops.eachTarget(
                round.offset(),
                to -> text.emit("st.global." + type + " [" + to + "], {" + String.join(", ", results) + "}"));
    }

    /** Returns a register of 32 bits with the bits of one number or two, or the one of 64 bits. */
    private String packed(List<String> bits) {
        if (kernel.type() == DataType.F64) {
            return bits.getFirst();
        }
        String first = text.word("cvt.u32.u64", bits.getFirst());
        return bits.size() == 1 ? first : text.word("bfi.b32", text.word("cvt.u32.u64", bits.getLast()), first, 16, 16);
    }

    private void sumElement(String offset) {
        String bits = sums.sum(ofEachSource(
                source -> code.loadElement(loops.address(source, offset)).getFirst()));
        loops.eachTarget(offset, to -> sums.store(to, bits));
    }
}

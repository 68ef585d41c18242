package dev.banyan.cuda.internal.symmetric;

import static dev.banyan.cuda.internal.ptx.PtxText.Register.WORD;

import dev.banyan.cuda.internal.ptx.Element;
import dev.banyan.cuda.internal.ptx.ElementCode;
import dev.banyan.cuda.internal.ptx.PtxText;
import dev.banyan.schedule.type.ReduceOp;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/** Writes loads and stores of 16 bytes by multicast addresses, and by others. */
final class MulticastLoops {
    private final PtxText text;
    private final ReduceOp op;
    private final Element element;
    private final ElementCode code;

    MulticastLoops(PtxText text, ExchangeKernel kernel, ElementCode code) {
        this.text = text;
        op = kernel.op();
        element = kernel.element();
        this.code = code;
    }

    /** Loads what the switch combines; returns the registers, divided where the result is a mean. */
    List<String> combine(String guard, String address, int offset) {
        List<String> words = code.words();
        String load = guard + "multimem.ld_reduce.weak.global.";
        String at = address + "+" + offset;
        switch (element) {
            case F32 -> text.emit(load + "add.v4.f32 " + vector(words) + ", [" + at + "]");
            case F16, BF16 ->
                text.emit(load + "add.acc::f32.v4." + element.label() + "x2 " + vector(words) + ", [" + at + "]");
            default -> {
                String type =
                        (op == ReduceOp.SUM ? "add.u" : op == ReduceOp.MIN ? "min.s" : "max.s") + 8 * element.bytes();
                for (int w = 0; w < words.size(); w++) {
                    text.emit(load + type + " " + words.get(w) + ", [" + address + "+" + (offset + element.bytes() * w)
                            + "]");
                }
            }
        }
        return element == Element.F32 ? code.pack(code.unpack(words)) : words;
    }

    /** Loads from one place. */
    List<String> load(String guard, String address, int offset) {
        List<String> words = Stream.generate(() -> text.register(WORD)).limit(4).toList();
        text.emit(guard + "ld.global.v4.u32 " + vector(words) + ", [" + address + "+" + offset + "]");
        return words;
    }

    /** Stores to the memory of all devices. */
    void storeToAll(String guard, String address, int offset, List<String> words) {
        if (words.size() == 4) {
            text.emit(guard + "multimem.st.weak.global.v4.f32 [" + address + "+" + offset + "], " + vector(words));
            return;
        }
        IntStream.range(0, words.size())
                .forEach(w -> text.emit(guard + "multimem.st.weak.global.b64 [" + address + "+" + (offset + 8 * w)
                        + "], " + words.get(w)));
    }

    private static String vector(List<String> words) {
        return "{" + String.join(", ", words) + "}";
    }
}

package dev.banyan.cuda.internal.ptx;

import static dev.banyan.cuda.internal.ptx.PtxText.Register.LONG;

import java.util.List;

/** Sums of 128 bits. An element is 16 bytes, and its accumulators are its two halves. */
final class WideElements implements ElementCode {
    private final PtxText text;

    WideElements(PtxText text) {
        this.text = text;
    }

    @Override
    public List<String> words() {
        return List.of(text.register(LONG), text.register(LONG));
    }

    @Override
    public void load(String guard, List<String> words, String address, int offset) {
        text.emit(guard + "ld.global.v2.b64 {" + String.join(", ", words) + "}, [" + address + "+" + offset + "]");
    }

    @Override
    public void store(String guard, String address, int offset, List<String> words) {
        text.emit(guard + "st.global.v2.b64 [" + address + "+" + offset + "], {" + String.join(", ", words) + "}");
    }

    @Override
    public List<String> unpack(List<String> words) {
        return words;
    }

    @Override
    public void set(List<String> accumulators, List<String> values) {
        for (int a = 0; a < accumulators.size(); a++) {
            text.emit("mov.b64 " + accumulators.get(a) + ", " + values.get(a));
        }
    }

    @Override
    public void combine(List<String> accumulators, List<String> words) {
        String low = accumulators.get(0);
        String high = accumulators.get(1);
        text.emit("add.cc.u64 " + low + ", " + low + ", " + words.get(0));
        text.emit("addc.u64 " + high + ", " + high + ", " + words.get(1));
    }

    @Override
    public List<String> pack(List<String> accumulators) {
        return accumulators;
    }

    @Override
    public List<String> loadElement(String address) {
        List<String> words = words();
        load("", words, address, 0);
        return words;
    }

    @Override
    public void combineElement(List<String> accumulators, List<String> element) {
        combine(accumulators, element);
    }

    @Override
    public List<String> packElement(List<String> accumulators) {
        return accumulators;
    }

    @Override
    public void storeElement(String address, List<String> packed) {
        store("", address, 0, packed);
    }

    @Override
    public List<String> wordsOf(List<String> bits) {
        return List.of(
                text.emit(LONG, "mov.b64", "{" + bits.get(0) + ", " + bits.get(1) + "}"),
                text.emit(LONG, "mov.b64", "{" + bits.get(2) + ", " + bits.get(3) + "}"));
    }

    @Override
    public void moveTo(List<String> bits, List<String> words) {
        text.emit("mov.b64 {" + bits.get(0) + ", " + bits.get(1) + "}, " + words.get(0));
        text.emit("mov.b64 {" + bits.get(2) + ", " + bits.get(3) + "}, " + words.get(1));
    }
}

package dev.banyan.cuda.internal.ptx;

import dev.banyan.schedule.type.ReduceOp;
import java.util.List;

/**
 * Instructions that load, combine and store elements of one type. Words are registers as they are loaded and stored, of
 * 16 bytes or a part of them; several elements may be packed into one. An element is combined in an accumulator, which
 * is wider for short types.
 */
public sealed interface ElementCode permits PackedElements, WideElements {
    /** Registers for 16 bytes. */
    List<String> words();

    /**
     * Loads 16 bytes.
     *
     * @param guard empty, or e.g. {@code "@%p1 "}
     * @param offset in bytes
     */
    void load(String guard, List<String> words, String address, int offset);

    /** Stores 16 bytes. */
    void store(String guard, String address, int offset, List<String> words);

    /** Accumulators of the elements in words, which may be the same registers. */
    List<String> unpack(List<String> words);

    /** Sets accumulators to the values of others. */
    void set(List<String> accumulators, List<String> values);

    /** Combines accumulators with the elements in words. */
    void combine(List<String> accumulators, List<String> words);

    /** Words of the results; divides accumulators where the result is a mean. */
    List<String> pack(List<String> accumulators);

    /** The accumulators of one element. */
    List<String> loadElement(String address);

    void combineElement(List<String> accumulators, List<String> element);

    /** Returns the registers that {@link #storeElement} takes; divides the accumulators if the result is a mean. */
    List<String> packElement(List<String> accumulators);

    void storeElement(String address, List<String> packed);

    /** New words with the bits of registers of 32 bits. */
    List<String> wordsOf(List<String> bits);

    /** Moves words to registers of 32 bits. */
    void moveTo(List<String> bits, List<String> words);

    /**
     * Returns the code of a type and operation.
     *
     * @param divisor a register of 32 bits; only floating sums use it
     */
    static ElementCode of(PtxText text, ReduceOp op, Element element, String divisor) {
        return element == Element.I128
                ? new WideElements(text)
                : new PackedElements(text, element, ElementArithmetic.dividing(text, op, element, divisor));
    }

    /** Returns code that multiplies by the inverse of a divisor, which is a power of two. */
    static ElementCode scaling(PtxText text, ReduceOp op, Element element, String divisor) {
        return element == Element.I128
                ? new WideElements(text)
                : new PackedElements(text, element, ElementArithmetic.scaling(text, op, element, divisor));
    }
}

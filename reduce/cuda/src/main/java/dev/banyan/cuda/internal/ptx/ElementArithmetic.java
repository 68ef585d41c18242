package dev.banyan.cuda.internal.ptx;

import static dev.banyan.cuda.internal.ptx.PtxText.Register.DOUBLE;
import static dev.banyan.cuda.internal.ptx.PtxText.Register.FLOAT;
import static dev.banyan.cuda.internal.ptx.PtxText.Register.LONG;
import static dev.banyan.cuda.internal.ptx.PtxText.Register.PREDICATE;
import static dev.banyan.cuda.internal.ptx.PtxText.Register.WORD;

import dev.banyan.cuda.internal.ptx.PtxText.Register;
import dev.banyan.schedule.type.ReduceOp;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.Function;

/** Combines accumulators, and divides them where the result is a mean. */
final class ElementArithmetic {
    private final PtxText text;
    private final ReduceOp op;
    private final Register register;
    private final String suffix;
    private final boolean floating;
    /** Divides accumulators if there is something to divide by. */
    private final Consumer<List<String>> finishing;

    private ElementArithmetic(
            PtxText text, ReduceOp op, Element element, Function<ElementArithmetic, Consumer<List<String>>> finishing) {
        this.text = text;
        this.op = op;
        floating = element.isFloating();
        register = switch (element) {
            case F32, F16, BF16 -> FLOAT;
            case F64 -> DOUBLE;
            case I8, U8, I32 -> WORD;
            case I64, I128 -> LONG;
        };
        suffix = switch (register) {
            case FLOAT -> "f32";
            case DOUBLE -> "f64";
            case LONG -> "s64";
            default -> "s32";
        };
        this.finishing = floating && op == ReduceOp.SUM ? finishing.apply(this) : _ -> {};
    }

    /**
     * Returns what combines elements and divides by a number.
     *
     * @param divisor a register of 32 bits; only floating sums use it
     */
    static ElementArithmetic dividing(PtxText text, ReduceOp op, Element element, String divisor) {
        return new ElementArithmetic(text, op, element, arithmetic -> arithmetic.division(divisor));
    }

    /** Returns arithmetic that multiplies by the inverse of a divisor, which is a power of two. */
    static ElementArithmetic scaling(PtxText text, ReduceOp op, Element element, String divisor) {
        return new ElementArithmetic(text, op, element, arithmetic -> arithmetic.scaling(divisor));
    }

    /** A predicate instead of the branch would always divide. */
    private Consumer<List<String>> division(String divisor) {
        String by = text.emit(register, "cvt.rn." + suffix + ".u32", divisor);
        String divides = text.emit(PREDICATE, "setp.ne.u32", divisor, 1);
        return accumulators -> {
            String whole = text.label("whole");
            text.branchUnless(divides, whole);
            accumulators.forEach(
                    accumulator -> text.emit("div.rn." + suffix + " " + accumulator + ", " + accumulator + ", " + by));
            text.place(whole);
        };
    }

    /** The product with the reciprocal of a power of two has the bits of the quotient. */
    private Consumer<List<String>> scaling(String divisor) {
        Register bits = register == FLOAT ? WORD : LONG;
        String type = register == FLOAT ? "32" : "64";
        String by = text.emit(register, "cvt.rn." + suffix + ".u32", divisor);
        // The exponents of a power of two and of its reciprocal add up to twice the bias.
        String twiceBias = register == FLOAT ? "0x7f000000" : "0x7fe0000000000000";
        String whole = text.emit(bits, "mov.b" + type, by);
        String reciprocal = text.emit(register, "mov.b" + type, text.emit(bits, "sub.s" + type, twiceBias, whole));
        return accumulators -> accumulators.forEach(accumulator ->
                text.emit("mul.rn." + suffix + " " + accumulator + ", " + accumulator + ", " + reciprocal));
    }

    Register register() {
        return register;
    }

    /** Combines a value into an accumulator. */
    void combine(String accumulator, String value) {
        text.scope(() -> {
            switch (op) {
                case SUM, AVG -> plain(floating ? "add.rn." : "add.", accumulator, value);
                case PROD -> plain(floating ? "mul.rn." : "mul.lo.", accumulator, value);
                case MIN -> extreme("min.", "lt", accumulator, value);
                case MAX -> extreme("max.", "gt", accumulator, value);
            }
        });
    }

    private void plain(String operation, String accumulator, String value) {
        text.emit(operation + suffix + " " + accumulator + ", " + accumulator + ", " + value);
    }

    /**
     * Takes the extreme of floats by the order of bit patterns, in which -0 is less than 0; if one is NaN, the NaN with
     * all bits set but the sign, which is also what a conversion to 16 bits gives.
     */
    private void extreme(String operation, String order, String accumulator, String value) {
        if (!floating) {
            plain(operation, accumulator, value);
            return;
        }
        String first = text.emit(
                PREDICATE, "setp." + order + (register == FLOAT ? ".s32" : ".s64"), key(accumulator), key(value));
        String chosen = text.emit(register, "selp." + suffix, accumulator, value, first);
        String unordered = text.emit(PREDICATE, "setp.nan." + suffix, accumulator, value);
        String nan = register == FLOAT
                ? text.emit(FLOAT, "mov.b32", text.emit(WORD, "mov.b32", "0x7fffffff"))
                : text.emit(DOUBLE, "mov.b64", text.emit(LONG, "mov.b64", "0x7fffffffffffffff"));
        text.emit("selp." + suffix + " " + accumulator + ", " + nan + ", " + chosen + ", " + unordered);
    }

    /** Divides accumulators where the result is a mean. */
    void finish(List<String> accumulators) {
        finishing.accept(accumulators);
    }

    private String key(String value) {
        Register bits = register == FLOAT ? WORD : LONG;
        String type = register == FLOAT ? "32" : "64";
        String raw = text.emit(bits, "mov.b" + type, value);
        String sign = text.emit(bits, "shr.s" + type, raw, register == FLOAT ? 31 : 63);
        String mask = text.emit(bits, "and.b" + type, sign, register == FLOAT ? "0x7fffffff" : "0x7fffffffffffffff");
        return text.emit(bits, "xor.b" + type, raw, mask);
    }
}

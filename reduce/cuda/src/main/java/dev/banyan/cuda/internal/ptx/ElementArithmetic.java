package dev.banyan.cuda.internal.ptx;

import static dev.banyan.cuda.internal.ptx.PtxText.Register.DOUBLE;
import static dev.banyan.cuda.internal.ptx.PtxText.Register.FLOAT;
import static dev.banyan.cuda.internal.ptx.PtxText.Register.LONG;
import static dev.banyan.cuda.internal.ptx.PtxText.Register.PREDICATE;
import static dev.banyan.cuda.internal.ptx.PtxText.Register.WORD;

import dev.banyan.cuda.internal.ptx.PtxText.Register;
import dev.banyan.schedule.type.ReduceOp;

/** Combines accumulators. */
final class ElementArithmetic {
    private final PtxText text;
    private final ReduceOp op;
    private final Register register;
    private final String suffix;
    private final boolean floating;
    private final String divisor;
    private final String divides;

    ElementArithmetic(PtxText text, ReduceOp op, Element element, String divisor) {
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
        boolean mean = floating && op == ReduceOp.SUM;
        this.divisor = mean ? text.emit(register, "cvt.rn." + suffix + ".u32", divisor) : "";
        divides = mean ? text.emit(PREDICATE, "setp.ne.u32", divisor, 1) : "";
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

    /** Takes the extreme of floats by the order of bit patterns, in which -0 is less than 0; NaN if one is NaN. */
    private void extreme(String operation, String order, String accumulator, String value) {
        if (!floating) {
            plain(operation, accumulator, value);
            return;
        }
        String first = text.emit(
                PREDICATE, "setp." + order + (register == FLOAT ? ".s32" : ".s64"), key(accumulator), key(value));
        String chosen = text.emit(register, "selp." + suffix, accumulator, value, first);
        String unordered = text.emit(PREDICATE, "setp.nan." + suffix, accumulator, value);
        String nan = text.emit(register, "add.rn." + suffix, accumulator, value);
        text.emit("selp." + suffix + " " + accumulator + ", " + nan + ", " + chosen + ", " + unordered);
    }

    /** Divides an accumulator where the result is a mean. */
    void finish(String accumulator) {
        if (!divisor.isEmpty()) {
            text.emit("@" + divides + " div.rn." + suffix + " " + accumulator + ", " + accumulator + ", " + divisor);
        }
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

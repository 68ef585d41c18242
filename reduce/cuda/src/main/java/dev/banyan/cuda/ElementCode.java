package dev.banyan.cuda;

import static dev.banyan.cuda.PtxText.Register.DOUBLE;
import static dev.banyan.cuda.PtxText.Register.FLOAT;
import static dev.banyan.cuda.PtxText.Register.HALF;
import static dev.banyan.cuda.PtxText.Register.LONG;
import static dev.banyan.cuda.PtxText.Register.PREDICATE;
import static dev.banyan.cuda.PtxText.Register.WORD;

import dev.banyan.cuda.PtxText.Register;
import dev.banyan.schedule.type.ReduceOp;
import java.util.ArrayList;
import java.util.List;

/**
 * Instructions that load, combine and store elements of one type. An element is combined in a register of the
 * accumulator's kind; several elements may be packed into one register of a vector.
 */
sealed interface ElementCode {
    /** One element of each source, by their addresses. */
    void single(String target, List<String> sources);

    /** 16 bytes of each source, by their addresses. */
    void vector(String target, List<String> sources);

    static ElementCode of(PtxText text, Kernel.Reduce kernel, String divisor) {
        if (kernel.element() == Element.I128) {
            return new Pairs(text);
        }
        return new Packed(text, kernel.element(), new Arithmetic(text, kernel, divisor));
    }

    /** Combines accumulators. */
    final class Arithmetic {
        private final PtxText text;
        private final ReduceOp op;
        private final Register register;
        private final String suffix;
        private final boolean floating;
        private final String divisor;
        private final String divides;

        Arithmetic(PtxText text, Kernel.Reduce kernel, String divisor) {
            this.text = text;
            op = kernel.op();
            floating = kernel.element().isFloating();
            register = switch (kernel.element()) {
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

        String combine(List<String> values) {
            String result = values.getFirst();
            for (String value : values.subList(1, values.size())) {
                result = switch (op) {
                    case SUM, AVG -> text.emit(register, (floating ? "add.rn." : "add.") + suffix, result, value);
                    case PROD -> text.emit(register, (floating ? "mul.rn." : "mul.lo.") + suffix, result, value);
                    case MIN -> floating ? extreme("lt", result, value) : whole("min.", result, value);
                    case MAX -> floating ? extreme("gt", result, value) : whole("max.", result, value);
                };
            }
            if (!divisor.isEmpty()) {
                String mean = text.emit(register, "mov." + suffix, result);
                text.emit("@" + divides + " div.rn." + suffix + " " + mean + ", " + result + ", " + divisor);
                return mean;
            }
            return result;
        }

        private String whole(String operation, String a, String b) {
            return text.emit(register, operation + suffix, a, b);
        }

        /** By the order of bit patterns, in which -0 is less than 0; NaN if one is NaN. */
        private String extreme(String order, String a, String b) {
            String first =
                    text.emit(PREDICATE, "setp." + order + (register == FLOAT ? ".s32" : ".s64"), key(a), key(b));
            String chosen = text.emit(register, "selp." + suffix, a, b, first);
            String unordered = text.emit(PREDICATE, "setp.nan." + suffix, a, b);
            String nan = text.emit(register, "add.rn." + suffix, a, b);
            return text.emit(register, "selp." + suffix, nan, chosen, unordered);
        }

        private String key(String value) {
            Register bits = register == FLOAT ? WORD : LONG;
            String type = register == FLOAT ? "32" : "64";
            String raw = text.emit(bits, "mov.b" + type, value);
            String sign = text.emit(bits, "shr.s" + type, raw, register == FLOAT ? 31 : 63);
            String mask =
                    text.emit(bits, "and.b" + type, sign, register == FLOAT ? "0x7fffffff" : "0x7fffffffffffffff");
            return text.emit(bits, "xor.b" + type, raw, mask);
        }
    }

    /** Elements of 1 to 8 bytes. */
    final class Packed implements ElementCode {
        private final PtxText text;
        private final Element element;
        private final Arithmetic arithmetic;
        private final int perRegister;
        private final Register packed;

        Packed(PtxText text, Element element, Arithmetic arithmetic) {
            this.text = text;
            this.element = element;
            this.arithmetic = arithmetic;
            perRegister = Math.max(1, 4 / element.bytes());
            packed = element.bytes() < 4 ? WORD : arithmetic.register();
        }

        @Override
        public void single(String target, List<String> sources) {
            List<String> values = new ArrayList<>();
            for (String source : sources) {
                String at = "[" + source + "]";
                values.add(
                        switch (element) {
                            case F16 -> text.emit(FLOAT, "cvt.f32.f16", text.emit(HALF, "ld.global.b16", at));
                            case BF16 -> {
                                String bits = text.emit(WORD, "ld.global.u16", at);
                                yield asFloat(text.emit(WORD, "shl.b32", bits, 16));
                            }
                            case I8 -> text.emit(WORD, "ld.global.s8", at);
                            case U8 -> text.emit(WORD, "ld.global.u8", at);
                            default -> text.emit(packed, "ld.global." + suffix(), at);
                        });
            }
            String result = arithmetic.combine(values);
            switch (element) {
                case F16 -> store(target, "b16", text.emit(HALF, "cvt.rn.f16.f32", result));
                case BF16 -> store(target, "u16", brain(result));
                case I8, U8 -> store(target, "u8", result);
                default -> store(target, suffix(), result);
            }
        }

        @Override
        public void vector(String target, List<String> sources) {
            int registers = 16 / (perRegister * element.bytes());
            List<List<String>> loaded = new ArrayList<>();
            for (String source : sources) {
                List<String> parts = new ArrayList<>();
                for (int r = 0; r < registers; r++) {
                    parts.add(text.register(packed));
                }
                text.emit("ld.global.v" + registers + "." + suffix() + " {" + String.join(", ", parts) + "}, [" + source
                        + "]");
                loaded.add(parts);
            }
            List<String> results = new ArrayList<>();
            for (int r = 0; r < registers; r++) {
                int register = r;
                results.add(combinePacked(
                        loaded.stream().map(parts -> parts.get(register)).toList()));
            }
            text.emit("st.global.v" + registers + "." + suffix() + " [" + target + "], {" + String.join(", ", results)
                    + "}");
        }

        private String combinePacked(List<String> values) {
            return switch (element) {
                case F16 -> halves(values);
                case BF16 -> {
                    String low = brain(arithmetic.combine(values.stream()
                            .map(value -> asFloat(text.emit(WORD, "shl.b32", value, 16)))
                            .toList()));
                    String high = brain(arithmetic.combine(values.stream()
                            .map(value -> asFloat(text.emit(WORD, "and.b32", value, "0xffff0000")))
                            .toList()));
                    yield text.emit(WORD, "bfi.b32", high, low, 16, 16);
                }
                case I8, U8 -> {
                    String result = "";
                    for (int lane = 0; lane < 4; lane++) {
                        int from = 8 * lane;
                        String part = arithmetic.combine(values.stream()
                                .map(value ->
                                        text.emit(WORD, element == Element.I8 ? "bfe.s32" : "bfe.u32", value, from, 8))
                                .toList());
                        result = result.isEmpty() ? part : text.emit(WORD, "bfi.b32", part, result, from, 8);
                    }
                    yield result;
                }
                default -> arithmetic.combine(values);
            };
        }

        private String halves(List<String> values) {
            List<String> low = new ArrayList<>();
            List<String> high = new ArrayList<>();
            for (String value : values) {
                String first = text.register(HALF);
                String second = text.register(HALF);
                text.emit("mov.b32 {" + first + ", " + second + "}, " + value);
                low.add(text.emit(FLOAT, "cvt.f32.f16", first));
                high.add(text.emit(FLOAT, "cvt.f32.f16", second));
            }
            String first = text.emit(HALF, "cvt.rn.f16.f32", arithmetic.combine(low));
            String second = text.emit(HALF, "cvt.rn.f16.f32", arithmetic.combine(high));
            return text.emit(WORD, "mov.b32", "{" + first + ", " + second + "}");
        }

        private String asFloat(String bits) {
            return text.emit(FLOAT, "mov.b32", bits);
        }

        /** To nearest, ties to even; a NaN stays a quiet NaN. sm_70 has no instruction for it. */
        private String brain(String value) {
            String bits = text.emit(WORD, "mov.b32", value);
            String odd = text.emit(WORD, "bfe.u32", bits, 16, 1);
            String half = text.emit(WORD, "add.u32", odd, "0x7fff");
            String sum = text.emit(WORD, "add.u32", bits, half);
            String rounded = text.emit(WORD, "shr.u32", sum, 16);
            String cut = text.emit(WORD, "shr.u32", bits, 16);
            String quiet = text.emit(WORD, "or.b32", cut, 0x40);
            String nan = text.emit(PREDICATE, "setp.nan.f32", value, value);
            return text.emit(WORD, "selp.b32", quiet, rounded, nan);
        }

        private void store(String target, String type, String value) {
            text.emit("st.global." + type + " [" + target + "], " + value);
        }

        private String suffix() {
            return switch (packed) {
                case FLOAT -> "f32";
                case DOUBLE -> "f64";
                case LONG -> "b64";
                default -> "b32";
            };
        }
    }

    /** Sums of 128 bits, each a vector of its own. */
    final class Pairs implements ElementCode {
        private final PtxText text;

        Pairs(PtxText text) {
            this.text = text;
        }

        @Override
        public void single(String target, List<String> sources) {
            String low = "";
            String high = "";
            for (String source : sources) {
                String nextLow = text.register(LONG);
                String nextHigh = text.register(LONG);
                text.emit("ld.global.v2.b64 {" + nextLow + ", " + nextHigh + "}, [" + source + "]");
                low = low.isEmpty() ? nextLow : text.emit(LONG, "add.cc.u64", low, nextLow);
                high = high.isEmpty() ? nextHigh : text.emit(LONG, "addc.u64", high, nextHigh);
            }
            text.emit("st.global.v2.b64 [" + target + "], {" + low + ", " + high + "}");
        }

        @Override
        public void vector(String target, List<String> sources) {
            single(target, sources);
        }
    }
}

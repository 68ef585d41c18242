package dev.banyan.cuda.internal.ptx;

import static dev.banyan.cuda.internal.ptx.PtxText.Register.DOUBLE;
import static dev.banyan.cuda.internal.ptx.PtxText.Register.FLOAT;
import static dev.banyan.cuda.internal.ptx.PtxText.Register.HALF;
import static dev.banyan.cuda.internal.ptx.PtxText.Register.LONG;
import static dev.banyan.cuda.internal.ptx.PtxText.Register.PREDICATE;
import static dev.banyan.cuda.internal.ptx.PtxText.Register.WORD;

import dev.banyan.cuda.internal.ptx.PtxText.Register;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/** Elements of 1 to 8 bytes. */
final class PackedElements implements ElementCode {
    private final PtxText text;
    private final Element element;
    private final ElementArithmetic arithmetic;
    private final int perRegister;
    private final Register packed;

    PackedElements(PtxText text, Element element, ElementArithmetic arithmetic) {
        this.text = text;
        this.element = element;
        this.arithmetic = arithmetic;
        perRegister = Math.max(1, 4 / element.bytes());
        packed = element.bytes() < 4 ? WORD : arithmetic.register();
    }

    @Override
    public List<String> words() {
        return Stream.generate(() -> text.register(packed))
                .limit(16 / (perRegister * element.bytes()))
                .toList();
    }

    @Override
    public void load(String guard, List<String> words, String address, int offset) {
        text.emit(guard + "ld.global.v" + words.size() + "." + suffix() + " {" + String.join(", ", words) + "}, ["
                + address + "+" + offset + "]");
    }

    @Override
    public void store(String guard, String address, int offset, List<String> words) {
        text.emit(guard + "st.global.v" + words.size() + "." + suffix() + " [" + address + "+" + offset + "], {"
                + String.join(", ", words) + "}");
    }

    @Override
    public List<String> unpack(List<String> words) {
        return words.stream().flatMap(word -> unpack(word).stream()).toList();
    }

    @Override
    public void set(List<String> accumulators, List<String> values) {
        String bits = arithmetic.register() == LONG || arithmetic.register() == DOUBLE ? "64" : "32";
        for (int a = 0; a < accumulators.size(); a++) {
            text.emit("mov.b" + bits + " " + accumulators.get(a) + ", " + values.get(a));
        }
    }

    @Override
    public void combine(List<String> accumulators, List<String> words) {
        for (int w = 0; w < words.size(); w++) {
            String word = words.get(w);
            List<String> into = accumulators.subList(perRegister * w, perRegister * (w + 1));
            text.scope(() -> {
                List<String> values = unpack(word);
                for (int i = 0; i < values.size(); i++) {
                    arithmetic.combine(into.get(i), values.get(i));
                }
            });
        }
    }

    @Override
    public List<String> pack(List<String> accumulators) {
        arithmetic.finish(accumulators);
        return IntStream.range(0, accumulators.size() / perRegister)
                .mapToObj(w -> packed(accumulators.subList(perRegister * w, perRegister * (w + 1))))
                .toList();
    }

    private List<String> unpack(String word) {
        return switch (element) {
            case F16 -> {
                String first = text.register(HALF);
                String second = text.register(HALF);
                text.emit("mov.b32 {" + first + ", " + second + "}, " + word);
                yield List.of(text.emit(FLOAT, "cvt.f32.f16", first), text.emit(FLOAT, "cvt.f32.f16", second));
            }
            case BF16 ->
                List.of(
                        asFloat(text.emit(WORD, "shl.b32", word, 16)),
                        asFloat(text.emit(WORD, "and.b32", word, "0xffff0000")));
            case I8, U8 ->
                IntStream.range(0, 4)
                        .mapToObj(lane ->
                                text.emit(WORD, element == Element.I8 ? "bfe.s32" : "bfe.u32", word, 8 * lane, 8))
                        .toList();
            default -> List.of(word);
        };
    }

    private String packed(List<String> accumulators) {
        return switch (element) {
            case F16 -> {
                String first = text.emit(HALF, "cvt.rn.f16.f32", accumulators.get(0));
                String second = text.emit(HALF, "cvt.rn.f16.f32", accumulators.get(1));
                yield text.emit(WORD, "mov.b32", "{" + first + ", " + second + "}");
            }
            case BF16 -> {
                String low = brain(accumulators.get(0));
                yield text.emit(WORD, "bfi.b32", brain(accumulators.get(1)), low, 16, 16);
            }
            case I8, U8 -> {
                String result = accumulators.getFirst();
                for (int lane = 1; lane < 4; lane++) {
                    result = text.emit(WORD, "bfi.b32", accumulators.get(lane), result, 8 * lane, 8);
                }
                yield result;
            }
            default -> accumulators.getFirst();
        };
    }

    @Override
    public List<String> loadElement(String address) {
        String at = "[" + address + "]";
        return List.of(
                switch (element) {
                    case F16 -> text.emit(FLOAT, "cvt.f32.f16", text.emit(HALF, "ld.global.b16", at));
                    case BF16 -> asFloat(text.emit(WORD, "shl.b32", text.emit(WORD, "ld.global.u16", at), 16));
                    case I8 -> text.emit(WORD, "ld.global.s8", at);
                    case U8 -> text.emit(WORD, "ld.global.u8", at);
                    default -> text.emit(packed, "ld.global." + suffix(), at);
                });
    }

    @Override
    public void combineElement(List<String> accumulators, List<String> element) {
        arithmetic.combine(accumulators.getFirst(), element.getFirst());
    }

    @Override
    public List<String> packElement(List<String> accumulators) {
        String result = accumulators.getFirst();
        arithmetic.finish(List.of(result));
        return List.of(
                switch (element) {
                    case F16 -> text.emit(HALF, "cvt.rn.f16.f32", result);
                    case BF16 -> brain(result);
                    default -> result;
                });
    }

    @Override
    public void storeElement(String address, List<String> packed) {
        String type = switch (element) {
            case F16 -> "b16";
            case BF16 -> "u16";
            case I8, U8 -> "u8";
            default -> suffix();
        };
        text.emit("st.global." + type + " [" + address + "], " + packed.getFirst());
    }

    @Override
    public List<String> wordsOf(List<String> bits) {
        List<String> words = new ArrayList<>();
        int each = element.bytes() == 8 ? 2 : 1;
        for (int b = 0; b < bits.size(); b += each) {
            words.add(text.emit(packed, "mov.b" + 32 * each, whole(bits.subList(b, b + each))));
        }
        return words;
    }

    @Override
    public void moveTo(List<String> bits, List<String> words) {
        int each = bits.size() / words.size();
        for (int w = 0; w < words.size(); w++) {
            text.emit("mov.b" + 32 * each + " " + whole(bits.subList(each * w, each * (w + 1))) + ", " + words.get(w));
        }
    }

    private static String whole(List<String> bits) {
        return bits.size() == 1 ? bits.getFirst() : "{" + String.join(", ", bits) + "}";
    }

    private String asFloat(String bits) {
        return text.emit(FLOAT, "mov.b32", bits);
    }

    /** To nearest, ties to even; a NaN stays a quiet NaN. sm_70 has no instruction for it. */
    private String brain(String value) {
        String result = text.register(WORD);
        text.scope(() -> {
            String bits = text.emit(WORD, "mov.b32", value);
            String odd = text.emit(WORD, "bfe.u32", bits, 16, 1);
            String half = text.emit(WORD, "add.u32", odd, "0x7fff");
            String sum = text.emit(WORD, "add.u32", bits, half);
            String rounded = text.emit(WORD, "shr.u32", sum, 16);
            String cut = text.emit(WORD, "shr.u32", bits, 16);
            String quiet = text.emit(WORD, "or.b32", cut, 0x40);
            String nan = text.emit(PREDICATE, "setp.nan.f32", value, value);
            text.emit("selp.b32 " + result + ", " + quiet + ", " + rounded + ", " + nan);
        });
        return result;
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

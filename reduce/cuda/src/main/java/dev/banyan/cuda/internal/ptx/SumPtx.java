package dev.banyan.cuda.internal.ptx;

import static dev.banyan.cuda.internal.ptx.PtxText.Register.DOUBLE;
import static dev.banyan.cuda.internal.ptx.PtxText.Register.LONG;
import static dev.banyan.cuda.internal.ptx.PtxText.Register.WORD;

import dev.banyan.reduce.internal.sum.ReproducibleSum;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import java.util.ArrayList;
import java.util.List;
import java.util.function.UnaryOperator;

/** Writes instructions that make {@linkplain ReproducibleSum reproducible sums}, with its arithmetic. */
public final class SumPtx {
    private static final int DOUBLE_BIAS = Double.MAX_EXPONENT;

    private final PtxText text;
    private final DataType type;
    private final boolean isDouble;
    /** Bits of the mantissa with the leading one, and the biased exponent of infinities. */
    private final int precision;

    private final int infinite;
    private final int countBits;
    private final String exponent;
    private final String divisor;

    /**
     * @param isWide whether integers have 64 bits
     * @param exponent a register with the power of two for code 0
     * @param divisor a register with the divisor of results
     */
    public SumPtx(PtxText text, DataType type, boolean isWide, String exponent, String divisor) {
        this.text = text;
        this.type = type;
        this.exponent = exponent;
        this.divisor = divisor;
        isDouble = type == DataType.F64;
        precision = switch (type) {
            case F64 -> 53;
            case F16 -> 11;
            case BF16 -> 8;
            default -> 24;
        };
        infinite = (1 << (type.bytes() * Byte.SIZE - precision)) - 1;
        countBits = ReproducibleSum.countBits(isWide);
    }

    /** Writes the kernel of a pass. A block takes a chunk of one array, which it finds by an {@link ElementTable}. */
    static String pass(Kernel.Sum kernel) {
        PtxText text = new PtxText();
        ElementTable table = new ElementTable(text);
        String values = table.array(0);
        String codes = table.array(1);
        String integers = table.array(2);
        String exponent = text.emit(WORD, "ld.param.u32", "[exponent]");
        String divisor = text.emit(WORD, "ld.param.u32", "[divisor]");
        SumPtx sums = new SumPtx(text, kernel.type(), kernel.isWide(), exponent, divisor);
        table.eachElement(index -> sums.pass(
                kernel,
                text.at(values, index, kernel.type().bytes()),
                text.at(codes, index, 1),
                text.at(integers, index, kernel.isWide() ? Long.BYTES : Integer.BYTES)));
        List<String> parameters = new ArrayList<>(ElementTable.PARAMETERS);
        parameters.add(".param .u32 exponent");
        parameters.add(".param .u32 divisor");
        return text.module(kernel.name(), Kernel.LIMITS, parameters);
    }

    private void pass(Kernel.Sum kernel, String valueAt, String codeAt, String integerAt) {
        ElementCode code = ElementCode.of(text, ReduceOp.PROD, Element.of(type), "");
        switch (kernel.stage()) {
            case CODES ->
                text.emit("st.global.u8 [" + codeAt + "], "
                        + codeOf(code.loadElement(valueAt).getFirst()));
            case INTEGERS -> {
                String greatest = text.word("ld.global.u8", "[" + codeAt + "]");
                String number = code.loadElement(valueAt).getFirst();
                String isSpecial = text.test("setp.eq.u32", greatest, ReproducibleSum.SPECIAL);
                String integer = text.wide("selp.b64", count(number), integer(number, greatest), isSpecial);
                text.emit(
                        kernel.isWide()
                                ? "st.global.u64 [" + integerAt + "], " + integer
                                : "st.global.u32 [" + integerAt + "], " + text.word("cvt.u32.u64", integer));
            }
            case RESULTS -> {
                String sum = kernel.isWide()
                        ? text.wide("ld.global.u64", "[" + integerAt + "]")
                        : text.wide("cvt.s64.s32", text.word("ld.global.u32", "[" + integerAt + "]"));
                String greatest = text.word("ld.global.u8", "[" + codeAt + "]");
                String isSpecial = text.test("setp.eq.u32", greatest, ReproducibleSum.SPECIAL);
                store(valueAt, text.wide("selp.b64", special(sum), finite(sum, greatest), isSpecial));
            }
        }
    }

    /**
     * Returns a register of 64 bits with the bits of the sum of numbers in their type.
     *
     * @param accumulators a number each, as {@link ElementCode} loads it
     */
    public String sum(List<String> accumulators) {
        String greatest = accumulators.stream()
                .map(this::codeOf)
                .reduce((code, next) -> text.word("max.u32", code, next))
                .orElseThrow();
        String isSpecial = text.test("setp.eq.u32", greatest, ReproducibleSum.SPECIAL);
        String bits = text.register(LONG);
        String special = text.label("special");
        String end = text.label("summed");
        text.branchIf(isSpecial, special);
        text.scope(() -> set(bits, finite(total(accumulators, number -> integer(number, greatest)), greatest)));
        text.emit("bra " + end);
        text.place(special);
        text.scope(() -> set(bits, special(total(accumulators, this::count))));
        text.place(end);
        return bits;
    }

    private String total(List<String> numbers, UnaryOperator<String> integer) {
        return numbers.stream()
                .map(integer)
                .reduce((sum, next) -> text.wide("add.u64", sum, next))
                .orElseThrow();
    }

    private void set(String target, String source) {
        text.emit("mov.b64 " + target + ", " + source);
    }

    /** Stores a number, whose bits are in a register of 64 bits. */
    public void store(String at, String bits) {
        String stored = switch (type.bytes()) {
            case 8 -> bits;
            case 4 -> text.word("cvt.u32.u64", bits);
            default -> text.emit(PtxText.Register.HALF, "cvt.u16.u64", bits);
        };
        text.emit("st.global.b" + type.bytes() * Byte.SIZE + " [" + at + "], " + stored);
    }

    /** Returns a number as a double, which is exact. */
    private String number(String accumulator) {
        return isDouble ? accumulator : text.emit(DOUBLE, "cvt.f64.f32", accumulator);
    }

    private String codeOf(String accumulator) {
        if (!isDouble) {
            return text.word("max.u32", text.word("bfe.u32", text.word("mov.b32", accumulator), 23, 8), 1);
        }
        String exponent = text.word("cvt.u32.u64", text.wide("bfe.u64", text.wide("mov.b64", accumulator), 52, 11));
        return text.word("shr.u32", text.word("max.s32", text.word("sub.s32", exponent, 7), 0), 3);
    }

    /** Returns the power by which numbers are multiplied where the greatest code is this one. */
    private String power(String greatest) {
        return text.word("sub.s32", exponent, isDouble ? text.word("shl.b32", greatest, 3) : greatest);
    }

    private String powerOfTwo(String exponent) {
        String biased = text.wide("cvt.u64.u32", text.word("add.s32", exponent, DOUBLE_BIAS));
        return text.emit(DOUBLE, "mov.b64", text.wide("shl.b64", biased, 52));
    }

    /** Returns a register of 64 bits with the integer of a number, if the greatest code is not special. */
    private String integer(String accumulator, String greatest) {
        String power = power(greatest);
        String half = text.word("shr.s32", power, 1);
        String scaled = text.emit(DOUBLE, "mul.rn.f64", number(accumulator), powerOfTwo(half));
        String whole = text.emit(DOUBLE, "mul.rn.f64", scaled, powerOfTwo(text.word("sub.s32", power, half)));
        return text.wide("cvt.rni.s64.f64", whole);
    }

    /** Returns what a number adds where some are not finite. */
    private String count(String accumulator) {
        String bits = text.wide("mov.b64", number(accumulator));
        String magnitude = text.wide("and.b64", bits, "0x7fffffffffffffff");
        String infinity = text.wide("mov.b64", "0x7ff0000000000000");
        String isNegative = text.test("setp.lt.s64", bits, 0);
        String one = text.wide("mov.b64", 1);
        String sign = text.wide("selp.b64", text.wide("shl.b64", one, countBits), one, isNegative);
        String isNan = text.test("setp.gt.u64", magnitude, infinity);
        String special = text.wide("selp.b64", text.wide("shl.b64", one, 2 * countBits), sign, isNan);
        String isFinite = text.test("setp.lt.u64", magnitude, infinity);
        return text.wide("selp.b64", text.wide("mov.b64", 0), special, isFinite);
    }

    /** Returns the bits of the number that is nearest to a sum of integers, or to its mean. */
    private String finite(String sum, String greatest) {
        String magnitude = text.wide("abs.s64", sum);
        String power = text.word("neg.s32", power(greatest));
        String isNegative = text.test("setp.lt.s64", sum, 0);
        String whole = text.label("whole");
        text.branchIf(text.test("setp.le.u32", divisor, 1), whole);
        divide(magnitude, power, text.wide("cvt.u64.u32", divisor));
        text.place(whole);
        String rounded = rounded(magnitude, power);
        String isZero = text.test("setp.eq.s64", sum, 0);
        return text.wide("selp.b64", text.wide("mov.b64", 0), signed(rounded, isNegative), isZero);
    }

    /** Divides a magnitude; the last of 62 bits stands for all that is cut off. */
    private void divide(String magnitude, String power, String divisor) {
        String shift = text.word("sub.s32", text.word("clz.b64", magnitude), 1);
        String scaled = text.wide("shl.b64", magnitude, shift);
        String quotient = text.wide("div.u64", scaled, divisor);
        String rest = text.wide("sub.u64", scaled, text.wide("mul.lo.u64", quotient, divisor));
        String more = text.word("sub.s32", text.word("clz.b64", quotient), 1);
        String longer = text.wide("shl.b64", rest, more);
        String low = text.wide("div.u64", longer, divisor);
        String left = text.wide("sub.u64", longer, text.wide("mul.lo.u64", low, divisor));
        String sum = text.wide("add.u64", text.wide("shl.b64", quotient, more), low);
        String isExact = text.test("setp.eq.u64", left, 0);
        text.emit("selp.b64 " + magnitude + ", " + sum + ", " + text.wide("or.b64", sum, 1) + ", " + isExact);
        text.emit("sub.s32 " + power + ", " + power + ", " + text.word("add.s32", shift, more));
    }

    /** Returns the bits of the number of the type that is nearest to magnitude 2^power. */
    private String rounded(String magnitude, String power) {
        String leading = text.word("sub.s32", text.word("mov.b32", Long.SIZE - 1), text.word("clz.b64", magnitude));
        String biased = text.word("add.s32", text.word("add.s32", leading, power), infinite >> 1);
        String below = text.word("max.s32", text.word("sub.s32", text.word("mov.b32", 1), biased), 0);
        String dropped = text.word("add.s32", text.word("sub.s32", leading, precision - 1), below);
        String right = text.word("max.s32", dropped, 0);
        String left = text.word("max.s32", text.word("neg.s32", dropped), 0);
        String one = text.wide("mov.b64", 1);
        String unit = text.wide("shl.b64", one, right);
        String half = text.wide("shr.u64", unit, 1);
        String rest = text.wide("and.b64", magnitude, text.wide("sub.u64", unit, 1));
        String mantissa = text.wide("shr.u64", magnitude, right);
        // Above half a unit, or at half of one with an odd mantissa: rest + (mantissa & 1) > half.
        String odd = text.wide("and.b64", mantissa, 1);
        String up = text.wide(
                "selp.b64",
                one,
                text.wide("mov.b64", 0),
                text.test("setp.gt.u64", text.wide("add.u64", rest, odd), half));
        String isCut = text.test("setp.gt.s32", dropped, 0);
        String rounded = text.wide("add.u64", mantissa, text.wide("selp.b64", up, text.wide("mov.b64", 0), isCut));
        String isNothing = text.test("setp.ge.s32", dropped, Long.SIZE);
        String kept = text.wide("selp.b64", text.wide("mov.b64", 0), text.wide("shl.b64", rounded, left), isNothing);
        String exponent = text.wide("cvt.u64.u32", text.word("max.s32", text.word("sub.s32", biased, 1), 0));
        String bits = text.wide("add.u64", text.wide("shl.b64", exponent, precision - 1), kept);
        String isTooLarge = text.test("setp.ge.s32", biased, infinite);
        return text.wide("selp.b64", infinity(), bits, isTooLarge);
    }

    private String infinity() {
        return text.wide("mov.b64", (long) infinite << (precision - 1));
    }

    private String signed(String bits, String isNegative) {
        String negative = text.wide("or.b64", bits, "0x" + Long.toHexString(1L << (type.bytes() * Byte.SIZE - 1)));
        return text.wide("selp.b64", negative, bits, isNegative);
    }

    private String special(String counts) {
        String mask = text.wide("mov.b64", (1L << countBits) - 1);
        String positive = text.test("setp.ne.u64", text.wide("and.b64", counts, mask), 0);
        String negative =
                text.test("setp.ne.u64", text.wide("and.b64", text.wide("shr.u64", counts, countBits), mask), 0);
        String nans = text.test("setp.ne.u64", text.wide("shr.u64", counts, 2 * countBits), 0);
        String isNan = text.test("or.pred", text.test("and.pred", positive, negative), nans);
        String nan = text.wide("mov.b64", ((long) infinite << (precision - 1)) | (1L << (precision - 2)));
        return text.wide("selp.b64", nan, signed(infinity(), negative), isNan);
    }
}

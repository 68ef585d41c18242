package dev.banyan.cuda.internal.ptx;

import static dev.banyan.cuda.internal.ptx.PtxText.Register.DOUBLE;
import static dev.banyan.cuda.internal.ptx.PtxText.Register.LONG;
import static dev.banyan.cuda.internal.ptx.PtxText.Register.PREDICATE;
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
                String greatest = word("ld.global.u8", "[" + codeAt + "]");
                String number = code.loadElement(valueAt).getFirst();
                String isSpecial = test("setp.eq.u32", greatest, ReproducibleSum.SPECIAL);
                String integer = wide("selp.b64", count(number), integer(number, greatest), isSpecial);
                text.emit(
                        kernel.isWide()
                                ? "st.global.u64 [" + integerAt + "], " + integer
                                : "st.global.u32 [" + integerAt + "], " + word("cvt.u32.u64", integer));
            }
            case RESULTS -> {
                String sum = kernel.isWide()
                        ? wide("ld.global.u64", "[" + integerAt + "]")
                        : wide("cvt.s64.s32", word("ld.global.u32", "[" + integerAt + "]"));
                String greatest = word("ld.global.u8", "[" + codeAt + "]");
                String isSpecial = test("setp.eq.u32", greatest, ReproducibleSum.SPECIAL);
                store(valueAt, wide("selp.b64", special(sum), finite(sum, greatest), isSpecial));
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
                .reduce((code, next) -> word("max.u32", code, next))
                .orElseThrow();
        String isSpecial = test("setp.eq.u32", greatest, ReproducibleSum.SPECIAL);
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
                .reduce((sum, next) -> wide("add.u64", sum, next))
                .orElseThrow();
    }

    private void set(String target, String source) {
        text.emit("mov.b64 " + target + ", " + source);
    }

    /** Stores a number, whose bits are in a register of 64 bits. */
    public void store(String at, String bits) {
        String stored = switch (type.bytes()) {
            case 8 -> bits;
            case 4 -> word("cvt.u32.u64", bits);
            default -> text.emit(PtxText.Register.HALF, "cvt.u16.u64", bits);
        };
        text.emit("st.global.b" + type.bytes() * Byte.SIZE + " [" + at + "], " + stored);
    }

    private String word(String operation, Object... operands) {
        return text.emit(WORD, operation, operands);
    }

    private String wide(String operation, Object... operands) {
        return text.emit(LONG, operation, operands);
    }

    private String test(String operation, Object... operands) {
        return text.emit(PREDICATE, operation, operands);
    }

    /** Returns a number as a double, which is exact. */
    private String number(String accumulator) {
        return isDouble ? accumulator : text.emit(DOUBLE, "cvt.f64.f32", accumulator);
    }

    private String codeOf(String accumulator) {
        if (!isDouble) {
            return word("max.u32", word("bfe.u32", word("mov.b32", accumulator), 23, 8), 1);
        }
        String exponent = word("cvt.u32.u64", wide("bfe.u64", wide("mov.b64", accumulator), 52, 11));
        return word("shr.u32", word("max.s32", word("sub.s32", exponent, 7), 0), 3);
    }

    /** Returns the power by which numbers are multiplied where the greatest code is this one. */
    private String power(String greatest) {
        return word("sub.s32", exponent, isDouble ? word("shl.b32", greatest, 3) : greatest);
    }

    private String powerOfTwo(String exponent) {
        String biased = wide("cvt.u64.u32", word("add.s32", exponent, DOUBLE_BIAS));
        return text.emit(DOUBLE, "mov.b64", wide("shl.b64", biased, 52));
    }

    /** Returns a register of 64 bits with the integer of a number, if the greatest code is not special. */
    private String integer(String accumulator, String greatest) {
        String power = power(greatest);
        String half = word("shr.s32", power, 1);
        String scaled = text.emit(DOUBLE, "mul.rn.f64", number(accumulator), powerOfTwo(half));
        String whole = text.emit(DOUBLE, "mul.rn.f64", scaled, powerOfTwo(word("sub.s32", power, half)));
        return wide("cvt.rni.s64.f64", whole);
    }

    /** Returns what a number adds where some are not finite. */
    private String count(String accumulator) {
        String bits = wide("mov.b64", number(accumulator));
        String magnitude = wide("and.b64", bits, "0x7fffffffffffffff");
        String infinity = wide("mov.b64", "0x7ff0000000000000");
        String isNegative = test("setp.lt.s64", bits, 0);
        String one = wide("mov.b64", 1);
        String sign = wide("selp.b64", wide("shl.b64", one, countBits), one, isNegative);
        String isNan = test("setp.gt.u64", magnitude, infinity);
        String special = wide("selp.b64", wide("shl.b64", one, 2 * countBits), sign, isNan);
        String isFinite = test("setp.lt.u64", magnitude, infinity);
        return wide("selp.b64", wide("mov.b64", 0), special, isFinite);
    }

    /** Returns the bits of the number that is nearest to a sum of integers, or to its mean. */
    private String finite(String sum, String greatest) {
        String magnitude = wide("abs.s64", sum);
        String power = word("neg.s32", power(greatest));
        String isNegative = test("setp.lt.s64", sum, 0);
        String whole = text.label("whole");
        text.branchIf(test("setp.le.u32", divisor, 1), whole);
        divide(magnitude, power, wide("cvt.u64.u32", divisor));
        text.place(whole);
        String rounded = rounded(magnitude, power);
        String isZero = test("setp.eq.s64", sum, 0);
        return wide("selp.b64", wide("mov.b64", 0), signed(rounded, isNegative), isZero);
    }

    /** Divides a magnitude; the last of 62 bits stands for all that is cut off. */
    private void divide(String magnitude, String power, String divisor) {
        String shift = word("sub.s32", word("clz.b64", magnitude), 1);
        String scaled = wide("shl.b64", magnitude, shift);
        String quotient = wide("div.u64", scaled, divisor);
        String rest = wide("sub.u64", scaled, wide("mul.lo.u64", quotient, divisor));
        String more = word("sub.s32", word("clz.b64", quotient), 1);
        String longer = wide("shl.b64", rest, more);
        String low = wide("div.u64", longer, divisor);
        String left = wide("sub.u64", longer, wide("mul.lo.u64", low, divisor));
        String sum = wide("add.u64", wide("shl.b64", quotient, more), low);
        String isExact = test("setp.eq.u64", left, 0);
        text.emit("selp.b64 " + magnitude + ", " + sum + ", " + wide("or.b64", sum, 1) + ", " + isExact);
        text.emit("sub.s32 " + power + ", " + power + ", " + word("add.s32", shift, more));
    }

    /** Returns the bits of the number of the type that is nearest to magnitude 2^power. */
    private String rounded(String magnitude, String power) {
        String leading = word("sub.s32", word("mov.b32", Long.SIZE - 1), word("clz.b64", magnitude));
        String biased = word("add.s32", word("add.s32", leading, power), infinite >> 1);
        String below = word("max.s32", word("sub.s32", word("mov.b32", 1), biased), 0);
        String dropped = word("add.s32", word("sub.s32", leading, precision - 1), below);
        String right = word("max.s32", dropped, 0);
        String left = word("max.s32", word("neg.s32", dropped), 0);
        String one = wide("mov.b64", 1);
        String unit = wide("shl.b64", one, right);
        String half = wide("shr.u64", unit, 1);
        String rest = wide("and.b64", magnitude, wide("sub.u64", unit, 1));
        String mantissa = wide("shr.u64", magnitude, right);
        // Above half a unit, or at half of one with an odd mantissa: rest + (mantissa & 1) > half.
        String odd = wide("and.b64", mantissa, 1);
        String up = wide("selp.b64", one, wide("mov.b64", 0), test("setp.gt.u64", wide("add.u64", rest, odd), half));
        String isCut = test("setp.gt.s32", dropped, 0);
        String rounded = wide("add.u64", mantissa, wide("selp.b64", up, wide("mov.b64", 0), isCut));
        String isNothing = test("setp.ge.s32", dropped, Long.SIZE);
        String kept = wide("selp.b64", wide("mov.b64", 0), wide("shl.b64", rounded, left), isNothing);
        String exponent = wide("cvt.u64.u32", word("max.s32", word("sub.s32", biased, 1), 0));
        String bits = wide("add.u64", wide("shl.b64", exponent, precision - 1), kept);
        String isTooLarge = test("setp.ge.s32", biased, infinite);
        return wide("selp.b64", infinity(), bits, isTooLarge);
    }

    private String infinity() {
        return wide("mov.b64", (long) infinite << (precision - 1));
    }

    private String signed(String bits, String isNegative) {
        String negative = wide("or.b64", bits, "0x" + Long.toHexString(1L << (type.bytes() * Byte.SIZE - 1)));
        return wide("selp.b64", negative, bits, isNegative);
    }

    private String special(String counts) {
        String mask = wide("mov.b64", (1L << countBits) - 1);
        String positive = test("setp.ne.u64", wide("and.b64", counts, mask), 0);
        String negative = test("setp.ne.u64", wide("and.b64", wide("shr.u64", counts, countBits), mask), 0);
        String nans = test("setp.ne.u64", wide("shr.u64", counts, 2 * countBits), 0);
        String isNan = test("or.pred", test("and.pred", positive, negative), nans);
        String nan = wide("mov.b64", ((long) infinite << (precision - 1)) | (1L << (precision - 2)));
        return wide("selp.b64", nan, signed(infinity(), negative), isNan);
    }
}

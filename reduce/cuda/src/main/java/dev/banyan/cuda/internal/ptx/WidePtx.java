package dev.banyan.cuda.internal.ptx;

import static dev.banyan.cuda.internal.ptx.PtxText.Register.LONG;
import static dev.banyan.cuda.internal.ptx.PtxText.Register.PREDICATE;
import static dev.banyan.cuda.internal.ptx.PtxText.Register.WORD;

import dev.banyan.schedule.type.DataType;
import java.util.ArrayList;
import java.util.List;

/** Writes the kernels that make wide sums of integers and means of wide sums, one element at a time. */
final class WidePtx {
    private static final List<String> POINTERS =
            List.of(".param .u64 target", ".param .u64 source", ".param .u64 count");

    private final PtxText text = new PtxText();
    private final DataType type;
    private final int wideBytes;
    private final String target = text.address("target");
    private final String source = text.address("source");
    private final String index;
    private final String loop = text.label("element");
    private final String end = text.label("elements_end");

    private WidePtx(DataType type) {
        this.type = type;
        wideBytes = Element.wide(type).bytes();
        index = text.thread();
    }

    static String widen(Kernel.Widen kernel) {
        WidePtx ptx = new WidePtx(kernel.type());
        ptx.begin();
        ptx.widenElement();
        return ptx.end(kernel, POINTERS);
    }

    static String mean(Kernel.Mean kernel) {
        WidePtx ptx = new WidePtx(kernel.type());
        String divisor = ptx.text.emit(WORD, "ld.param.u32", "[divisor]");
        String wide = ptx.text.emit(LONG, "cvt.u64.u32", divisor);
        ptx.begin();
        ptx.meanOfElement(wide);
        List<String> parameters = new ArrayList<>(POINTERS);
        parameters.add(".param .u32 divisor");
        return ptx.end(kernel, parameters);
    }

    private void begin() {
        String count = text.emit(LONG, "ld.param.u64", "[count]");
        text.place(loop);
        text.branchIfReached(index, count, end);
    }

    private String end(Kernel kernel, List<String> parameters) {
        String threads = text.threads();
        text.emit("add.u64 " + index + ", " + index + ", " + threads);
        text.emit("bra " + loop);
        text.place(end);
        return text.module(kernel.name(), Kernel.LIMITS, parameters);
    }

    private void widenElement() {
        String from = "[" + text.at(source, index, type.bytes()) + "]";
        String to = "[" + text.at(target, index, wideBytes) + "]";
        String value = text.emit(LONG, "ld.global." + (type == DataType.U8 ? "u" : "s") + 8 * type.bytes(), from);
        if (wideBytes == 16) {
            String high = text.emit(LONG, "shr.s64", value, 63);
            text.emit("st.global.v2.b64 " + to + ", {" + value + ", " + high + "}");
        } else {
            text.emit("st.global.b64 " + to + ", " + value);
        }
    }

    private void meanOfElement(String divisor) {
        String from = "[" + text.at(source, index, wideBytes) + "]";
        String to = "[" + text.at(target, index, type.bytes()) + "]";
        String mean;
        if (wideBytes == 16) {
            mean = longDivision(from, divisor);
        } else {
            String sum = text.emit(LONG, "ld.global.b64", from);
            mean = text.emit(LONG, "div.s64", sum, divisor);
        }
        text.emit("st.global.b" + 8 * type.bytes() + " " + to + ", " + mean);
    }

    /**
     * Divides a 128-bit sum of as many 64-bit integers as the divisor says, so that its high half is less than the
     * divisor.
     */
    private String longDivision(String from, String divisor) {
        String low = text.register(LONG);
        String high = text.register(LONG);
        text.emit("ld.global.v2.b64 {" + low + ", " + high + "}, " + from);
        String negative = text.emit(PREDICATE, "setp.lt.s64", high, 0);
        String minusLow = text.emit(LONG, "sub.cc.u64", 0, low);
        String minusHigh = text.emit(LONG, "subc.u64", 0, high);
        String bottom = text.emit(LONG, "selp.b64", minusLow, low, negative);
        String top = text.emit(LONG, "selp.b64", minusHigh, high, negative);
        String upper = joined(top, text.emit(LONG, "shr.u64", bottom, 32));
        String upperQuotient = text.emit(LONG, "div.u64", upper, divisor);
        String remainder = text.emit(LONG, "rem.u64", upper, divisor);
        String lower = joined(remainder, text.emit(LONG, "and.b64", bottom, "0xffffffff"));
        String lowerQuotient = text.emit(LONG, "div.u64", lower, divisor);
        String quotient = joined(upperQuotient, lowerQuotient);
        String minus = text.emit(LONG, "neg.s64", quotient);
        return text.emit(LONG, "selp.b64", minus, quotient, negative);
    }

    private String joined(String high, String low) {
        String shifted = text.emit(LONG, "shl.b64", high, 32);
        return text.emit(LONG, "or.b64", shifted, low);
    }
}

package dev.banyan.cuda.internal.ptx;

import static dev.banyan.cuda.internal.ptx.PtxText.Register.LONG;
import static dev.banyan.cuda.internal.ptx.PtxText.Register.PREDICATE;
import static dev.banyan.cuda.internal.ptx.PtxText.Register.WORD;

import java.util.List;
import java.util.function.IntFunction;
import java.util.stream.Stream;

/**
 * Writes the move of a slice by the workers where data travels in lines. A line is 16 bytes, two times 4 bytes of data
 * and the low half of the slice's flag. It is read and written as two 64-bit parts, each of which arrives whole, so
 * that data needs no fence. A thread takes 8 bytes of data at a time.
 *
 * <p>Plain data is loaded and stored by volatile accesses too. In place, a block may overwrite what another one has
 * read and sent: no fence orders the two, but what is written depends on what was read, and accesses that are strong
 * are no race.
 */
final class LineMove {
    private static final int DATA_BYTES = 8;
    private static final int LINE_BYTES = 16;

    private final PtxText text;
    private final ProgramRegisters registers;
    private final ProgramStop stop;
    private final Element element;
    private final ElementCode code;
    /** Data that a thread takes at a time: a line's or an element. */
    private final int unit;

    LineMove(PtxText text, ProgramRegisters registers, ProgramStop stop, Element element, ElementCode code) {
        this.text = text;
        this.registers = registers;
        this.stop = stop;
        this.element = element;
        this.code = code;
        unit = Math.max(DATA_BYTES, element.bytes());
    }

    /**
     * The place of a unit of a slice's data.
     *
     * @param offset in plain data
     * @param inLines in lines
     * @param left bytes from here to the end of the slice
     * @param bits registers for the data
     */
    private record Unit(String offset, String inLines, String left, List<String> bits) {}

    /** Emits the move, behind which it goes to a label. */
    void emit(String moved) {
        String loop = text.label("unit");
        String store = text.label("store");
        String bytes = text.emit(WORD, "mul.lo.u32", registers.count, element.bytes());
        String flag = text.emit(WORD, "cvt.u32.u64", registers.flag);
        String at = text.emit(WORD, "mul.lo.u32", registers.thread, unit);
        String step = text.emit(WORD, "mul.lo.u32", registers.workers, unit);
        text.place(loop);
        text.branchIf(text.emit(PREDICATE, "setp.ge.u32", at, bytes), moved);
        String offset = text.emit(LONG, "cvt.u64.u32", at);
        Unit data = new Unit(
                offset,
                text.emit(LONG, "mul.wide.u32", at, LINE_BYTES / DATA_BYTES),
                text.emit(WORD, "sub.u32", bytes, at),
                Stream.generate(() -> text.register(WORD)).limit(unit / 4).toList());
        text.scope(() -> combine(data, flag, store, moved));
        text.place(store);
        text.scope(() -> store(data, flag));
        text.emit("add.u32 " + at + ", " + at + ", " + step);
        text.emit("bra " + loop);
    }

    private void combine(Unit data, String flag, String store, String moved) {
        String each = text.label("input");
        String combined = text.label("combined");
        String input = text.emit(WORD, "mov.u32", registers.places);
        load(input, data, flag, moved);
        text.branchIf(registers.copies, store);
        List<String> accumulators = code.unpack(code.wordsOf(data.bits));
        text.place(each);
        text.emit("add.u32 " + input + ", " + input + ", " + ProgramRegisters.PLACE_STRIDE);
        text.branchUnless(text.emit(PREDICATE, "setp.lt.u32", input, registers.firstOutput), combined);
        // The accumulators live on while the next input is loaded: that takes other registers.
        load(input, data, flag, moved);
        text.scope(() -> code.combine(accumulators, code.wordsOf(data.bits)));
        text.emit("bra " + each);
        text.place(combined);
        code.moveTo(data.bits, code.pack(accumulators));
    }

    // ---- Loads ----

    private void load(String input, Unit data, String flag, String moved) {
        String lines = text.label("lines");
        String loaded = text.label("loaded");
        String address = branchByForm(input, data, lines);
        eachPart(
                address,
                data,
                part -> "ld.volatile.global.v2.u32 {" + pair(data, part) + "}, [" + address + "+" + DATA_BYTES * part
                        + "]",
                () -> loadBytes(address, data),
                loaded);
        text.place(lines);
        String line = text.emit(LONG, "add.u64", begin(input), data.inLines);
        for (int part = 0; part < unit / DATA_BYTES; part++) {
            poll(input, line, part, data, flag, moved);
        }
        text.place(loaded);
    }

    private void loadBytes(String address, Unit data) {
        data.bits.forEach(word -> text.emit("mov.u32 " + word + ", 0"));
        String value = text.register(WORD);
        for (int i = 0; i < unit; i++) {
            String word = data.bits.get(i / 4);
            String guard = guard(data, i);
            text.emit(guard + "ld.volatile.global.u8 " + value + ", [" + address + "+" + i + "]");
            text.emit(guard + "bfi.b32 " + word + ", " + value + ", " + word + ", " + 8 * (i % 4) + ", 8");
        }
    }

    private void poll(String input, String line, int part, Unit data, String flag, String moved) {
        String loop = text.label("line");
        String came = text.label("came");
        String polls = stop.begin(loop);
        String first = text.register(LONG);
        String second = text.register(LONG);
        String firstFlag = text.register(WORD);
        String secondFlag = text.register(WORD);
        text.emit(
                "ld.volatile.global.v2.u64 {" + first + ", " + second + "}, [" + line + "+" + LINE_BYTES * part + "]");
        text.emit("mov.b64 {" + data.bits.get(2 * part) + ", " + firstFlag + "}, " + first);
        text.emit("mov.b64 {" + data.bits.get(2 * part + 1) + ", " + secondFlag + "}, " + second);
        String here = text.emit(PREDICATE, "setp.eq.u32", firstFlag, flag);
        String there = text.emit(PREDICATE, "setp.eq.u32", secondFlag, flag);
        text.branchIf(text.emit(PREDICATE, "and.pred", here, there), came);
        stop.end(
                loop,
                polls,
                () -> text.emit(WORD, "ld.shared.u32", "[" + input + "+" + ProgramRegisters.CHANNEL_OFFSET + "]"),
                () -> text.emit(LONG, "mov.b64", "{" + firstFlag + ", " + secondFlag + "}"),
                registers.flag);
        text.emit("bra " + moved);
        text.place(came);
    }

    // ---- Stores ----

    private void store(Unit data, String flag) {
        String loop = text.label("line_output");
        String lines = text.label("store_lines");
        String stored = text.label("stored");
        String output = text.emit(WORD, "mov.u32", registers.firstOutput);
        text.place(loop);
        String address = branchByForm(output, data, lines);
        eachPart(
                address,
                data,
                part -> "st.volatile.global.v2.u32 [" + address + "+" + DATA_BYTES * part + "], {" + pair(data, part)
                        + "}",
                () -> storeBytes(address, data),
                stored);
        text.place(lines);
        String line = text.emit(LONG, "add.u64", begin(output), data.inLines);
        for (int part = 0; part < unit / DATA_BYTES; part++) {
            String first = text.emit(LONG, "mov.b64", "{" + data.bits.get(2 * part) + ", " + flag + "}");
            String second = text.emit(LONG, "mov.b64", "{" + data.bits.get(2 * part + 1) + ", " + flag + "}");
            text.emit("st.volatile.global.v2.u64 [" + line + "+" + LINE_BYTES * part + "], {" + first + ", " + second
                    + "}");
        }
        text.place(stored);
        text.emit("add.u32 " + output + ", " + output + ", " + ProgramRegisters.PLACE_STRIDE);
        text.branchIf(text.emit(PREDICATE, "setp.lt.u32", output, registers.outputsEnd), loop);
    }

    private void storeBytes(String address, Unit data) {
        String value = text.register(WORD);
        for (int i = 0; i < unit; i++) {
            text.emit("shr.u32 " + value + ", " + data.bits.get(i / 4) + ", " + 8 * (i % 4));
            text.emit(guard(data, i) + "st.volatile.global.u8 [" + address + "+" + i + "], " + value);
        }
    }

    // ---- Places ----

    private String begin(String place) {
        return text.emit(LONG, "ld.shared.u64", "[" + place + "]");
    }

    /** Goes to a label if a place has lines, and returns the address of plain data behind that. */
    private String branchByForm(String place, Unit data, String lines) {
        String form = text.emit(WORD, "ld.shared.u32", "[" + place + "+" + ProgramRegisters.FORM_OFFSET + "]");
        text.branchIf(text.emit(PREDICATE, "setp.ne.u32", form, ProgramLoop.Form.PLAIN.code()), lines);
        return text.emit(LONG, "add.u64", begin(place), data.offset);
    }

    /**
     * Emits an access per 8 bytes where a unit of plain data is whole and aligned, else another way; then it goes on.
     */
    private void eachPart(String address, Unit data, IntFunction<String> access, Runnable otherwise, String next) {
        String bytewise = text.label("bytewise");
        String low = text.emit(LONG, "and.b64", address, DATA_BYTES - 1);
        text.branchIf(text.emit(PREDICATE, "setp.ne.u64", low, 0), bytewise);
        text.branchIf(text.emit(PREDICATE, "setp.lt.u32", data.left, unit), bytewise);
        for (int part = 0; part < unit / DATA_BYTES; part++) {
            text.emit(access.apply(part));
        }
        text.emit("bra " + next);
        text.place(bytewise);
        text.scope(otherwise);
        text.emit("bra " + next);
    }

    private static String pair(Unit data, int part) {
        return data.bits.get(2 * part) + ", " + data.bits.get(2 * part + 1);
    }

    private String guard(Unit data, int index) {
        return "@" + text.emit(PREDICATE, "setp.gt.u32", data.left, index) + " ";
    }
}

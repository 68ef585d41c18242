package dev.banyan.cuda.internal.ptx;

import static dev.banyan.cuda.internal.ptx.PtxText.Register.LONG;
import static dev.banyan.cuda.internal.ptx.PtxText.Register.PREDICATE;
import static dev.banyan.cuda.internal.ptx.PtxText.Register.WORD;

import java.util.List;
import java.util.function.BiConsumer;
import java.util.function.IntFunction;
import java.util.stream.IntStream;
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
    /** Inputs whose loads are on their way together: each further round of loads costs their whole latency. */
    private static final int AT_ONCE = 3;

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
                registers(WORD, unit / 4));
        text.scope(() -> combine(data, flag, store, moved));
        text.place(store);
        text.scope(() -> store(data, flag));
        text.emit("add.u32 " + at + ", " + at + ", " + step);
        text.emit("bra " + loop);
    }

    private void combine(Unit data, String flag, String store, String moved) {
        String group = text.label("inputs");
        String further = text.label("further");
        String others = text.label("others");
        String combined = text.label("combined");
        String input = text.emit(WORD, "mov.u32", registers.places);
        List<Slot> slots = IntStream.range(0, AT_ONCE)
                .mapToObj(number -> new Slot(number, text.register(PREDICATE), registers(LONG, unit / 4)))
                .toList();
        // Registers that are not set on all ways to here would be kept from one slice to the next.
        data.bits.forEach(word -> text.emit("mov.u32 " + word + ", 0"));
        List<String> accumulators = code.unpack(code.wordsOf(data.bits));
        text.place(group);
        text.scope(() -> load(slots, input, data, flag, moved));
        text.scope(() -> slots.getFirst().moveTo(text, data.bits));
        text.branchUnless(text.emit(PREDICATE, "setp.eq.u32", input, registers.places), further);
        text.branchIf(registers.copies, store);
        text.scope(() -> code.set(accumulators, code.unpack(code.wordsOf(data.bits))));
        text.emit("bra " + others);
        text.place(further);
        text.scope(() -> code.combine(accumulators, code.wordsOf(data.bits)));
        text.place(others);
        for (Slot slot : slots.subList(1, AT_ONCE)) {
            text.branchUnless(isIn(slot, input), combined);
            text.scope(() -> {
                List<String> bits = registers(WORD, unit / 4);
                slot.moveTo(text, bits);
                code.combine(accumulators, code.wordsOf(bits));
            });
        }
        text.emit("add.u32 " + input + ", " + input + ", " + AT_ONCE * ProgramRegisters.PLACE_STRIDE);
        text.branchIf(text.emit(PREDICATE, "setp.lt.u32", input, registers.firstOutput), group);
        text.place(combined);
        code.moveTo(data.bits, code.pack(accumulators));
    }

    private List<String> registers(PtxText.Register kind, int number) {
        return Stream.generate(() -> text.register(kind)).limit(number).toList();
    }

    // ---- Loads ----

    /**
     * One of the inputs that are loaded together.
     *
     * @param awaits a predicate: it is there and has lines
     * @param halves registers for 4 bytes of data and a flag each, as in lines, whatever the form of the input is
     */
    private record Slot(int number, String awaits, List<String> halves) {
        private static final int STRIDE = ProgramRegisters.PLACE_STRIDE;

        /** Returns where shared memory has something of its place. */
        String at(String input, int offset) {
            return "[" + input + "+" + (number * STRIDE + offset) + "]";
        }

        /** Moves the data to registers of 32 bits. */
        void moveTo(PtxText text, List<String> bits) {
            for (int half = 0; half < halves.size(); half++) {
                text.emit("mov.b64 {" + bits.get(half) + ", " + text.register(WORD) + "}, " + halves.get(half));
            }
        }
    }

    /** Loads all inputs of a group, and waits until the lines of all of them have come. */
    private void load(List<Slot> slots, String input, Unit data, String flag, String moved) {
        for (Slot slot : slots) {
            // An input that is not there has come.
            slot.halves.forEach(half -> text.emit("mov.b64 " + half + ", {" + flag + ", " + flag + "}"));
            text.scope(() -> loadPlain(slot, input, data, flag));
        }
        String loop = text.label("lines");
        String came = text.label("came");
        String polls = stop.begin(loop);
        for (Slot slot : slots) {
            text.scope(() -> {
                // There are no registers for the addresses of all lines.
                String begin = text.emit(LONG, "ld.shared.u64", slot.at(input, 0));
                String line = text.emit(LONG, "add.u64", begin, data.inLines);
                for (int part = 0; part < unit / DATA_BYTES; part++) {
                    text.emit("@" + slot.awaits + " ld.volatile.global.v2.u64 {" + pair(slot.halves, part) + "}, ["
                            + line + "+" + LINE_BYTES * part + "]");
                }
            });
        }
        String missing = text.emit(WORD, "mov.u32", 0);
        slots.forEach(slot ->
                text.scope(() -> text.emit("or.b32 " + missing + ", " + missing + ", " + difference(slot, flag))));
        text.branchIf(text.emit(PREDICATE, "setp.eq.u32", missing, 0), came);
        String seen = text.emit(LONG, "mov.u64", 0);
        stop.end(loop, polls, () -> channelOfMissing(slots, input, flag, seen), () -> seen, registers.flag);
        text.emit("bra " + moved);
        text.place(came);
    }

    /** Returns whether there is such an input. */
    private String isIn(Slot slot, String input) {
        String place = text.emit(WORD, "add.u32", input, slot.number * Slot.STRIDE);
        return text.emit(PREDICATE, "setp.lt.u32", place, registers.firstOutput);
    }

    /** Returns a word that is 0 if all flags of a slot are there. */
    private String difference(Slot slot, String flag) {
        String all = text.emit(WORD, "mov.u32", 0);
        for (String half : slot.halves) {
            String seen = text.register(WORD);
            text.emit("mov.b64 {" + text.register(WORD) + ", " + seen + "}, " + half);
            text.emit("or.b32 " + all + ", " + all + ", " + text.emit(WORD, "xor.b32", seen, flag));
        }
        return all;
    }

    /** Returns the channel of the first slot that is missing; flags of its last line go to a register. */
    private String channelOfMissing(List<Slot> slots, String input, String flag, String seen) {
        String channel = text.emit(WORD, "mov.u32", 0);
        for (Slot slot : slots.reversed()) {
            text.scope(() -> {
                String isMissing = text.emit(PREDICATE, "setp.ne.u32", difference(slot, flag), 0);
                text.emit("@" + isMissing + " ld.shared.u32 " + channel + ", "
                        + slot.at(input, ProgramRegisters.CHANNEL_OFFSET));
                String first = text.emit(LONG, "shr.u64", slot.halves.get(slot.halves.size() - 2), 32);
                String second = text.emit(LONG, "and.b64", slot.halves.getLast(), "0xffffffff00000000");
                text.emit("@" + isMissing + " or.b64 " + seen + ", " + first + ", " + second);
            });
        }
        return channel;
    }

    /** Finds out whether an input is awaited, and loads it if its data is plain. */
    private void loadPlain(Slot slot, String input, Unit data, String flag) {
        String ready = text.label("ready");
        String loaded = text.label("loaded");
        String isIn = isIn(slot, input);
        String form = text.emit(WORD, "ld.shared.u32", slot.at(input, ProgramRegisters.FORM_OFFSET));
        String hasLines = text.emit(PREDICATE, "setp.ne.u32", form, ProgramLoop.Form.PLAIN.code());
        text.emit("and.pred " + slot.awaits + ", " + isIn + ", " + hasLines);
        text.branchIf(hasLines, ready);
        text.branchUnless(isIn, ready);
        String begin = text.emit(LONG, "ld.shared.u64", slot.at(input, 0));
        String address = text.emit(LONG, "add.u64", begin, data.offset);
        List<String> bits = registers(WORD, unit / 4);
        eachPart(
                address,
                data,
                part -> "ld.volatile.global.v2.u32 {" + pair(bits, part) + "}, [" + address + "+" + DATA_BYTES * part
                        + "]",
                () -> loadBytes(address, data, bits),
                loaded);
        text.place(loaded);
        for (int half = 0; half < bits.size(); half++) {
            text.emit("mov.b64 " + slot.halves.get(half) + ", {" + bits.get(half) + ", " + flag + "}");
        }
        text.place(ready);
    }

    private void loadBytes(String address, Unit data, List<String> bits) {
        for (int part = 0; part < unit / DATA_BYTES; part++) {
            String whole = text.emit(LONG, "mov.u64", 0);
            eachByte(address, data, part, (at, shift) -> {
                String value = text.register(LONG);
                text.emit("ld.volatile.global.u8 " + value + ", [" + at + "]");
                String shifted = text.emit(LONG, "shl.b64", value, shift);
                text.emit("or.b64 " + whole + ", " + whole + ", " + shifted);
            });
            text.emit("mov.b64 {" + pair(bits, part) + "}, " + whole);
        }
    }

    /** Emits a loop over the bytes of a part, whose body has a byte's address and its place in bits. */
    private void eachByte(String address, Unit data, int part, BiConsumer<String, String> body) {
        String loop = text.label("byte");
        String end = text.label("bytes_end");
        String left = text.emit(WORD, "min.u32", data.left, DATA_BYTES * (part + 1));
        String index = text.emit(WORD, "mov.u32", DATA_BYTES * part);
        String shift = text.emit(WORD, "mov.u32", 0);
        text.place(loop);
        text.emit(".pragma \"nounroll\"");
        text.branchIf(text.emit(PREDICATE, "setp.ge.u32", index, left), end);
        text.scope(() -> {
            String wide = text.emit(LONG, "cvt.u64.u32", index);
            body.accept(text.emit(LONG, "add.u64", address, wide), shift);
        });
        text.emit("add.u32 " + index + ", " + index + ", 1");
        text.emit("add.u32 " + shift + ", " + shift + ", 8");
        text.emit("bra " + loop);
        text.place(end);
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
                part -> "st.volatile.global.v2.u32 [" + address + "+" + DATA_BYTES * part + "], {"
                        + pair(data.bits, part) + "}",
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
        for (int part = 0; part < unit / DATA_BYTES; part++) {
            String whole = text.emit(LONG, "mov.b64", "{" + pair(data.bits, part) + "}");
            eachByte(address, data, part, (at, shift) -> {
                String value = text.emit(LONG, "shr.u64", whole, shift);
                text.emit("st.volatile.global.u8 [" + at + "], " + value);
            });
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

    private static String pair(List<String> bits, int part) {
        return bits.get(2 * part) + ", " + bits.get(2 * part + 1);
    }
}

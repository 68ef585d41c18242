package dev.banyan.cuda.internal.symmetric;

import static dev.banyan.cuda.internal.ptx.PtxText.Register.LONG;
import static dev.banyan.cuda.internal.ptx.PtxText.Register.WORD;

import dev.banyan.cuda.internal.ptx.Kernel;
import dev.banyan.cuda.internal.ptx.ProgramCall;
import dev.banyan.cuda.internal.ptx.PtxText;

/**
 * Registers and shared memory of a block of an exchange, for all that writes its kernel. Numbers that are the same in
 * all threads stay in shared memory, as registers are few.
 */
final class ExchangeBlock {
    /** Time in ns at which the block began. */
    static final int BEGIN = 0;
    /** Value of the flags of the next barrier. */
    static final int AWAITED = 8;
    /** Bytes of a share that lie before the slice of this block. */
    static final int MOVED = 16;

    private static final String RECORD = "call";
    private static final String STATE = "state";

    private final PtxText text;
    private final String thread;
    private final String first;
    private final String number;
    private final String table;
    private final String phase;

    ExchangeBlock(PtxText text) {
        this.text = text;
        text.shared(RECORD, ProgramCall.BYTES + 8);
        text.shared(STATE, 24);
        thread = text.word("mov.u32", "%tid.x");
        first = text.test("setp.eq.u32", thread, 0);
        number = text.register(WORD);
        table = text.register(LONG);
        phase = text.register(WORD);
    }

    PtxText text() {
        return text;
    }

    /** Returns a register with the number of the thread. */
    String thread() {
        return thread;
    }

    /** Returns a predicate: the thread is the first one. */
    String isFirst() {
        return first;
    }

    /** Returns a register with the number of the block among those of its rank. */
    String number() {
        return number;
    }

    /** Returns a register with the address of the rank's table. */
    String table() {
        return table;
    }

    /** Returns a register with the phase, 0 before the block has met the others. */
    String phase() {
        return phase;
    }

    /** Returns what is in the table. */
    String field(int offset) {
        return field(table, offset);
    }

    /** Returns what is behind an address. */
    static String field(String address, int offset) {
        return "[" + address + "+" + offset + "]";
    }

    /** Returns what is in the record of the call. */
    String record(int offset) {
        return field(RECORD, offset);
    }

    /** Loads the value of the flags of the call's first barrier. */
    String base() {
        return text.wide("ld.shared.u64", record(ProgramCall.BASE));
    }

    /** Loads a number of the block. */
    String state(int offset) {
        return text.wide("ld.shared.u64", field(STATE, offset));
    }

    /** Lets the first thread store a number of the block. */
    void setState(int offset, String value) {
        text.emit("@" + first + " st.shared.u64 " + field(STATE, offset) + ", " + value);
    }

    /** Lets the first thread keep the address of a buffer. */
    void setBuffer(int buffer, String address) {
        text.emit("@" + first + " st.shared.u64 " + record(ProgramCall.BUFFERS + 8 * buffer) + ", " + address);
    }

    /** Returns where the address of a buffer is kept. */
    String buffer(String index) {
        return text.word("add.u32", word(index), ProgramCall.BUFFERS);
    }

    /** Returns where a word of the record of the call is. */
    String word(String index) {
        return text.word("mad.lo.u32", index, 8, text.word("mov.u32", RECORD));
    }

    /** Returns the address of the flag of this block that a sender writes. */
    String flag(String flags, String sender) {
        String index = text.word("mad.lo.u32", number, Kernel.Program.MOST_RANKS, sender);
        return text.wide("mad.wide.u32", index, ExchangeTable.FLAG_BYTES, flags);
    }
}

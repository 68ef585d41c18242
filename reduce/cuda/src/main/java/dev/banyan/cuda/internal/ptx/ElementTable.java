package dev.banyan.cuda.internal.ptx;

import static dev.banyan.cuda.internal.ptx.PtxText.Register.LONG;
import static dev.banyan.cuda.internal.ptx.PtxText.Register.PREDICATE;
import static dev.banyan.cuda.internal.ptx.PtxText.Register.WORD;

import java.util.List;
import java.util.function.Consumer;

/**
 * Writes the part of a kernel that finds which elements a block takes: one chunk of the arrays of one entry of a table
 * among the parameters, so that the host copies nothing to a device. The block finds its entry by a binary search.
 */
public final class ElementTable {
    /** Elements of a chunk. */
    public static final int CHUNK = 8 * Kernel.BLOCK;

    /**
     * Bytes of an entry: u64 addresses of three arrays, u64 count of elements, u32 number of blocks of the entries
     * before it, u32 0.
     */
    public static final int ENTRY_BYTES = 40;

    /** Greatest number of entries: the parameters of a kernel may have 4096 bytes. */
    public static final int MOST_ENTRIES = 96;

    /** The first parameters of a kernel that has a table. */
    static final List<String> PARAMETERS =
            List.of(".param .align 8 .b8 table[" + ENTRY_BYTES * MOST_ENTRIES + "]", ".param .u32 entries");

    private final PtxText text;
    private final String block;
    private final String entry;
    private final String count;

    ElementTable(PtxText text) {
        this.text = text;
        block = text.emit(WORD, "mov.u32", "%ctaid.x");
        entry = entry();
        count = text.emit(LONG, "ld.param.u64", "[" + entry + "+24]");
    }

    /** Returns the address of the last entry before which there are no more blocks than this one's number. */
    private String entry() {
        String table = text.emit(LONG, "mov.b64", "table");
        String low = text.emit(WORD, "mov.b32", 0);
        String high = text.emit(WORD, "ld.param.u32", "[entries]");
        String loop = text.label("search");
        text.place(loop);
        String middle = text.emit(WORD, "shr.u32", text.emit(WORD, "add.u32", low, high), 1);
        String at = text.emit(LONG, "mad.wide.u32", middle, ENTRY_BYTES, table);
        String before = text.emit(WORD, "ld.param.u32", "[" + at + "+32]");
        String reached = text.emit(PREDICATE, "setp.ls.u32", before, block);
        text.emit("selp.b32 " + low + ", " + middle + ", " + low + ", " + reached);
        text.emit("selp.b32 " + high + ", " + high + ", " + middle + ", " + reached);
        String left = text.emit(WORD, "sub.u32", high, low);
        text.emit("@" + text.emit(PREDICATE, "setp.hi.u32", left, 1) + " bra " + loop);
        return text.emit(LONG, "mad.wide.u32", low, ENTRY_BYTES, table);
    }

    /** Returns the address of an array, 0..2. */
    String array(int number) {
        String generic = text.emit(LONG, "ld.param.u64", "[" + entry + "+" + number * Long.BYTES + "]");
        return text.emit(LONG, "cvta.to.global.u64", generic);
    }

    /** Returns the number of elements of an array. */
    String count() {
        return count;
    }

    /** Emits a loop over the thread's elements, by their indices. */
    void eachElement(Consumer<String> element) {
        String chunk = text.emit(WORD, "sub.u32", block, text.emit(WORD, "ld.param.u32", "[" + entry + "+32]"));
        String begin = text.emit(LONG, "mul.wide.u32", chunk, CHUNK);
        String end = text.emit(LONG, "min.u64", text.emit(LONG, "add.u64", begin, CHUNK), count);
        String thread = text.emit(LONG, "cvt.u64.u32", text.emit(WORD, "mov.u32", "%tid.x"));
        String index = text.emit(LONG, "add.u64", begin, thread);
        String loop = text.label("element");
        String done = text.label("elements_end");
        text.place(loop);
        text.branchIfReached(index, end, done);
        element.accept(index);
        text.emit("add.u64 " + index + ", " + index + ", " + Kernel.BLOCK);
        text.emit("bra " + loop);
        text.place(done);
    }
}

package dev.banyan.cuda.internal.ptx;

import static dev.banyan.cuda.internal.ptx.PtxText.Register.DOUBLE;
import static dev.banyan.cuda.internal.ptx.PtxText.Register.FLOAT;
import static dev.banyan.cuda.internal.ptx.PtxText.Register.LONG;
import static dev.banyan.cuda.internal.ptx.PtxText.Register.PREDICATE;
import static dev.banyan.cuda.internal.ptx.PtxText.Register.WORD;

import dev.banyan.cuda.internal.ptx.PtxText.Register;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import java.util.ArrayList;
import java.util.List;

/**
 * Writes a kernel that updates many values at once, with the arithmetic of {@link
 * dev.banyan.reduce.optimizer.Optimizer}. A block updates one chunk of one value. It finds the value by a binary search
 * in the table among the parameters, so that the host copies nothing to a device.
 */
public final class UpdatePtx {
    /** Elements of a chunk. */
    public static final int CHUNK = 8 * Kernel.BLOCK;

    /**
     * Bytes of an entry of the table: u64 addresses of value, gradient and state, u64 count, u32 number of blocks of
     * the entries before it, u32 0.
     */
    public static final int ENTRY_BYTES = 40;

    /** Greatest number of entries: the parameters of a kernel may have 4096 bytes. */
    public static final int MOST_ENTRIES = 96;

    private final PtxText text = new PtxText();
    private final Kernel.Update kernel;
    private final DataType type;
    private final Register register;
    private final String suffix;
    private final int stateBytes;
    /** Loads and stores values and gradients; nothing is combined. */
    private final ElementCode code;

    private final List<String> coefficients = new ArrayList<>();

    UpdatePtx(Kernel.Update kernel) {
        this.kernel = kernel;
        type = kernel.type();
        register = type == DataType.F64 ? DOUBLE : FLOAT;
        suffix = type == DataType.F64 ? "f64" : "f32";
        stateBytes = type == DataType.F64 ? Double.BYTES : Float.BYTES;
        code = ElementCode.of(text, ReduceOp.PROD, Element.of(type), "");
    }

    /** Returns the number of coefficients of a rule. */
    private static int coefficients(Kernel.Update.Rule rule) {
        return switch (rule) {
            case SGD, SGD_MOMENTUM -> 4;
            case ADAM, ADAM_W -> 9;
        };
    }

    String text() {
        List<String> parameters = new ArrayList<>();
        parameters.add(".param .align 8 .b8 table[" + ENTRY_BYTES * MOST_ENTRIES + "]");
        parameters.add(".param .u32 values");
        parameters.add(".param .u32 first");
        for (int c = 0; c < coefficients(kernel.rule()); c++) {
            parameters.add(".param ." + suffix + " coefficient" + c);
            coefficients.add(text.emit(register, "ld.param." + suffix, "[coefficient" + c + "]"));
        }
        String block = text.emit(WORD, "mov.u32", "%ctaid.x");
        String entry = entry(block);
        String value = address(entry, 0);
        String gradient = address(entry, 8);
        String state = address(entry, 16);
        String count = text.emit(LONG, "ld.param.u64", "[" + entry + "+24]");
        String chunk = text.emit(WORD, "sub.u32", block, text.emit(WORD, "ld.param.u32", "[" + entry + "+32]"));
        String begin = text.emit(LONG, "mul.wide.u32", chunk, CHUNK);
        String full = text.emit(LONG, "add.u64", begin, CHUNK);
        String end = text.emit(LONG, "min.u64", full, count);
        String thread = text.emit(LONG, "cvt.u64.u32", text.emit(WORD, "mov.u32", "%tid.x"));
        String index = text.emit(LONG, "add.u64", begin, thread);
        List<String> arrays = arrays(state, count);
        String first = text.emit(PREDICATE, "setp.ne.u32", text.emit(WORD, "ld.param.u32", "[first]"), 0);
        String loop = text.label("element");
        String done = text.label("elements_end");
        text.place(loop);
        text.branchIfReached(index, end, done);
        List<String> places =
                arrays.stream().map(array -> text.at(array, index, stateBytes)).toList();
        element(text.at(value, index, type.bytes()), text.at(gradient, index, type.bytes()), places, first);
        text.emit("add.u64 " + index + ", " + index + ", " + Kernel.BLOCK);
        text.emit("bra " + loop);
        text.place(done);
        return text.module(kernel.name(), Kernel.LIMITS, parameters);
    }

    /** Returns the address of the last entry before which there are no more blocks than this one's number. */
    private String entry(String block) {
        String table = text.emit(LONG, "mov.b64", "table");
        String low = text.emit(WORD, "mov.b32", 0);
        String high = text.emit(WORD, "ld.param.u32", "[values]");
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

    private String address(String entry, int offset) {
        String generic = text.emit(LONG, "ld.param.u64", "[" + entry + "+" + offset + "]");
        return text.emit(LONG, "cvta.to.global.u64", generic);
    }

    /** Returns the addresses of the state's arrays. */
    private List<String> arrays(String state, String count) {
        int moments = switch (kernel.rule()) {
            case SGD -> 0;
            case SGD_MOMENTUM -> 1;
            case ADAM, ADAM_W -> 2;
        };
        List<String> arrays = new ArrayList<>();
        for (int a = 0; a < moments + (hasMaster() ? 1 : 0); a++) {
            arrays.add(a == 0 ? state : text.at(arrays.getLast(), count, stateBytes));
        }
        return arrays;
    }

    /** Returns whether the state begins with a master value. */
    private boolean hasMaster() {
        return type.bytes() == Short.BYTES;
    }

    private void element(String valueAt, String gradientAt, List<String> places, String first) {
        String gradient = load(gradientAt);
        String value;
        List<String> moments = places;
        if (hasMaster()) {
            // Lanes that need no gradient load from memory that is read anyway.
            String given = load(text.emit(LONG, "selp.b64", valueAt, gradientAt, first));
            value = text.emit(FLOAT, "selp.f32", given, loadState(places.getFirst()), first);
            moments = places.subList(1, places.size());
        } else {
            value = load(valueAt);
        }
        String updated = switch (kernel.rule()) {
            case SGD -> add(value, sub(constant(0), step(gradient, value)));
            case SGD_MOMENTUM -> {
                String velocity = sub(mul(coefficients.get(3), loadState(moments.getFirst())), step(gradient, value));
                storeState(moments.getFirst(), velocity);
                yield add(value, velocity);
            }
            case ADAM, ADAM_W -> adapted(value, gradient, moments.get(0), moments.get(1));
        };
        if (hasMaster()) {
            storeState(places.getFirst(), updated);
        }
        store(valueAt, updated);
    }

    /** Returns the learning rate times the slope. */
    private String step(String gradient, String value) {
        return mul(coefficients.get(2), slope(gradient, value));
    }

    private String slope(String gradient, String value) {
        return add(mul(coefficients.get(0), gradient), mul(coefficients.get(1), value));
    }

    private String adapted(String value, String gradient, String meanAt, String squareAt) {
        boolean decoupled = kernel.rule() == Kernel.Update.Rule.ADAM_W;
        String slope = decoupled ? mul(coefficients.get(0), gradient) : slope(gradient, value);
        String kept = decoupled ? mul(coefficients.get(1), value) : value;
        String mean = add(mul(coefficients.get(2), loadState(meanAt)), mul(coefficients.get(3), slope));
        storeState(meanAt, mean);
        String square = add(mul(coefficients.get(4), loadState(squareAt)), mul(coefficients.get(5), mul(slope, slope)));
        storeState(squareAt, square);
        String root = text.emit(register, "sqrt.rn." + suffix, square);
        String bound = add(divide(root, coefficients.get(6)), coefficients.get(7));
        return sub(kept, mul(coefficients.get(8), divide(mean, bound)));
    }

    private String constant(int number) {
        return text.emit(register, "cvt.rn." + suffix + ".u32", text.emit(WORD, "mov.b32", number));
    }

    private String add(String a, String b) {
        return text.emit(register, "add.rn." + suffix, a, b);
    }

    private String sub(String a, String b) {
        return text.emit(register, "sub.rn." + suffix, a, b);
    }

    private String mul(String a, String b) {
        return text.emit(register, "mul.rn." + suffix, a, b);
    }

    private String divide(String a, String b) {
        return text.emit(register, "div.rn." + suffix, a, b);
    }

    private String loadState(String at) {
        return text.emit(register, "ld.global." + suffix, "[" + at + "]");
    }

    private void storeState(String at, String value) {
        text.emit("st.global." + suffix + " [" + at + "], " + value);
    }

    private String load(String at) {
        return code.loadElement(at).getFirst();
    }

    private void store(String at, String value) {
        code.storeElement(at, code.packElement(List.of(value)));
    }
}

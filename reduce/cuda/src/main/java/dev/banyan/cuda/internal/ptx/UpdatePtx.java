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
        parameters.addAll(ElementTable.PARAMETERS);
        parameters.add(".param .u32 first");
        for (int c = 0; c < coefficients(kernel.rule()); c++) {
            parameters.add(".param ." + suffix + " coefficient" + c);
            coefficients.add(text.emit(register, "ld.param." + suffix, "[coefficient" + c + "]"));
        }
        ElementTable table = new ElementTable(text);
        String value = table.array(0);
        String gradient = table.array(1);
        String state = table.array(2);
        String count = table.count();
        List<String> arrays = arrays(state, count);
        String first = text.emit(PREDICATE, "setp.ne.u32", text.emit(WORD, "ld.param.u32", "[first]"), 0);
        table.eachElement(index -> {
            List<String> places = arrays.stream()
                    .map(array -> text.at(array, index, stateBytes))
                    .toList();
            element(text.at(value, index, type.bytes()), text.at(gradient, index, type.bytes()), places, first);
        });
        return text.module(kernel.name(), Kernel.LIMITS, parameters);
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

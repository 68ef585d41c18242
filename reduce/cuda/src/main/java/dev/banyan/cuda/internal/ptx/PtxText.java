package dev.banyan.cuda.internal.ptx;

import java.util.EnumMap;
import java.util.List;
import java.util.Map;

/**
 * Text of a module with one kernel: numbers registers and labels, and declares what was used. PTX ISA 7.0
 * for sm_70, which every later GPU takes, unless it requires more.
 */
public final class PtxText {
    /** Kinds of registers. */
    public enum Register {
        PREDICATE("pred", "p"),
        HALF("b16", "h"),
        WORD("b32", "r"),
        LONG("b64", "rd"),
        FLOAT("f32", "f"),
        DOUBLE("f64", "fd");

        private final String type;
        private final String prefix;

        Register(String type, String prefix) {
            this.type = type;
            this.prefix = prefix;
        }
    }

    private final StringBuilder body = new StringBuilder();
    private final StringBuilder shared = new StringBuilder();
    private final Map<Register, Integer> declared = new EnumMap<>(Register.class);
    private Map<Register, Integer> used = new EnumMap<>(Register.class);
    private int labels;
    private String version = "7.0";
    private int architecture = 70;

    /** Makes the module one of a later version of PTX, for GPUs from an architecture on. */
    public void require(String newer, int least) {
        version = newer;
        architecture = least;
    }

    /** A register that is not in use. */
    public String register(Register kind) {
        int registers = used.merge(kind, 1, Integer::sum);
        declared.merge(kind, registers, Math::max);
        return "%" + kind.prefix + (registers - 1);
    }

    /** Runs what emits a section. The registers that it takes are free again behind the section. */
    public void scope(Runnable section) {
        Map<Register, Integer> before = new EnumMap<>(used);
        section.run();
        used = before;
    }

    /** Declares an array of shared memory, aligned to 16 bytes. */
    public void shared(String name, int bytes) {
        shared.append("\t.shared .align 16 .b8 ")
                .append(name)
                .append('[')
                .append(bytes)
                .append("];\n");
    }

    /** A label that was not used yet. */
    public String label(String what) {
        return "$" + what + labels++;
    }

    /** One instruction, without its semicolon. */
    public void emit(String instruction) {
        body.append('\t').append(instruction).append(";\n");
    }

    /** An instruction that writes a new register. */
    public String emit(Register kind, String operation, Object... operands) {
        String target = register(kind);
        StringBuilder instruction = new StringBuilder(operation).append(' ').append(target);
        for (Object operand : operands) {
            instruction.append(", ").append(operand);
        }
        emit(instruction.toString());
        return target;
    }

    /** An instruction that writes a new register of 32 bits. */
    public String word(String operation, Object... operands) {
        return emit(Register.WORD, operation, operands);
    }

    /** An instruction that writes a new register of 64 bits. */
    public String wide(String operation, Object... operands) {
        return emit(Register.LONG, operation, operands);
    }

    /** An instruction that writes a new predicate. */
    public String test(String operation, Object... operands) {
        return emit(Register.PREDICATE, operation, operands);
    }

    public void place(String label) {
        body.append(label).append(":\n");
    }

    /** Goes to a label where a predicate holds. */
    public void branchIf(String predicate, String label) {
        emit("@" + predicate + " bra " + label);
    }

    /** Goes to a label where a predicate does not hold. */
    public void branchUnless(String predicate, String label) {
        emit("@!" + predicate + " bra " + label);
    }

    /** Goes to a label where {@code left >= right}, both unsigned 64-bit. */
    void branchIfReached(String left, Object right, String label) {
        emit("@" + emit(Register.PREDICATE, "setp.ge.u64", left, right) + " bra " + label);
    }

    /** A parameter that is an address, as one of global memory. */
    String address(String parameter) {
        String generic = emit(Register.LONG, "ld.param.u64", "[" + parameter + "]");
        return emit(Register.LONG, "cvta.to.global.u64", generic);
    }

    /** Index of the thread in the grid. */
    String thread() {
        String block = emit(Register.WORD, "mov.u32", "%ctaid.x");
        String size = emit(Register.WORD, "mov.u32", "%ntid.x");
        String thread = emit(Register.WORD, "mov.u32", "%tid.x");
        String wide = emit(Register.LONG, "cvt.u64.u32", thread);
        return emit(Register.LONG, "mad.wide.u32", block, size, wide);
    }

    /** Number of threads of the grid. */
    String threads() {
        String blocks = emit(Register.WORD, "mov.u32", "%nctaid.x");
        String size = emit(Register.WORD, "mov.u32", "%ntid.x");
        return emit(Register.LONG, "mul.wide.u32", blocks, size);
    }

    /** The address of an element. */
    String at(String base, String index, int elementBytes) {
        return emit(Register.LONG, "mad.lo.u64", index, elementBytes, base);
    }

    /**
     * The whole module.
     *
     * @param limits of a launch, e.g. {@code .maxntid 512, 1, 1}
     * @param parameters e.g. {@code .param .u64 target}
     */
    public String module(String name, String limits, List<String> parameters) {
        StringBuilder text =
                new StringBuilder(".version " + version + "\n.target sm_" + architecture + "\n.address_size 64\n\n");
        text.append(".visible .entry ").append(name).append("(\n\t");
        text.append(String.join(",\n\t", parameters)).append("\n)\n");
        text.append(limits).append("\n{\n").append(shared);
        declared.forEach((kind, count) -> text.append("\t.reg .")
                .append(kind.type)
                .append(" %")
                .append(kind.prefix)
                .append('<')
                .append(count)
                .append(">;\n"));
        return text.append(body).append("\tret;\n}\n").toString();
    }
}

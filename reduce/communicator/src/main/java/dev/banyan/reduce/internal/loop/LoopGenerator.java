package dev.banyan.reduce.internal.loop;

import static java.lang.constant.ConstantDescs.CD_Class;
import static java.lang.constant.ConstantDescs.CD_MethodHandle;
import static java.lang.constant.ConstantDescs.CD_Object;
import static java.lang.constant.ConstantDescs.CD_int;
import static java.lang.constant.ConstantDescs.CD_long;
import static java.lang.constant.ConstantDescs.CD_void;

import dev.banyan.reduce.internal.kernel.VectorLanes;
import java.lang.classfile.ClassFile;
import java.lang.classfile.CodeBuilder;
import java.lang.classfile.Label;
import java.lang.classfile.TypeKind;
import java.lang.constant.ClassDesc;
import java.lang.constant.ConstantDescs;
import java.lang.constant.DynamicConstantDesc;
import java.lang.constant.MethodTypeDesc;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import jdk.incubator.vector.Vector;

/**
 * Makes a class for each shape of a fused loop, so that each gets its own compiled code: one in which the expression is
 * straight-line code on vectors. The loops stay; there are few shapes, since an expression has at most {@value
 * FusedLoop#MOST_OPERANDS} inputs.
 *
 * <p>The JIT stops inlining ordinary calls after some 18,000 nodes, which loops of wide lanes exceed, but goes on with
 * calls of the vectors' own methods and of constant method handles; so a loop has no other calls. It puts off most of
 * those calls, and meanwhile takes their results for vectors of the class that code of method handles, which all loops
 * share, has seen before. Where that is wrong, vectors stay in memory and a pass allocates. So every result is cast to
 * its class, which leaves nothing to guess.
 *
 * <p>Needs the module jdk.incubator.vector.
 */
public final class LoopGenerator {
    private static final Map<LoopShape, FusedLoop> LOOPS = new ConcurrentHashMap<>();

    private static final ClassDesc LOOP = ClassDesc.of(FusedLoop.class.getName());
    private static final ClassDesc VECTOR = ClassDesc.of("jdk.incubator.vector.Vector");
    private static final ClassDesc BINARY = ClassDesc.of("jdk.incubator.vector.VectorOperators$Binary");
    private static final ClassDesc ORDER = ClassDesc.of("java.nio.ByteOrder");
    private static final ClassDesc SEGMENT = ClassDesc.of("java.lang.foreign.MemorySegment");
    private static final ClassDesc ADDRESSES = CD_long.arrayType();
    private static final MethodTypeDesc CAST = MethodTypeDesc.of(CD_Object, CD_Object);

    /**
     * A constant of a generated class.
     *
     * @param index its place in {@link #classData}
     */
    private record Constant(int index, ClassDesc type) {}

    private static final Constant OPERATOR = new Constant(0, BINARY);
    private static final Constant MEMORY = new Constant(1, SEGMENT);
    private static final Constant BYTE_ORDER = new Constant(2, ORDER);
    private static final Constant LOAD = new Constant(3, CD_MethodHandle);
    private static final Constant LOAD_WIDE = new Constant(4, CD_MethodHandle);
    private static final Constant ROUND = new Constant(5, CD_MethodHandle);
    private static final Constant PACK = new Constant(6, CD_MethodHandle);
    private static final Constant LOWER = new Constant(7, CD_MethodHandle);
    private static final Constant UPPER = new Constant(8, CD_MethodHandle);
    private static final Constant JOIN = new Constant(9, CD_MethodHandle);
    private static final Constant BROADCAST = new Constant(10, CD_MethodHandle);
    private static final Constant ELEMENTS = new Constant(11, CD_Class);
    private static final Constant VALUES = new Constant(12, CD_Class);

    private static final int ADDRESSES_SLOT = 1;
    private static final int BYTES_SLOT = 2;
    private static final int DIVISOR_SLOT = 3;

    private final LoopShape shape;
    private final LoopLanes lanes;
    private final CodeBuilder code;
    private final int[] addresses;
    /** The elements of each input, where there are two parts. */
    private final int[] elements;

    private final int index;
    /** The vector that means are divided by, or multiplied with. */
    private final int divisors;

    private LoopGenerator(LoopShape shape, CodeBuilder code) {
        this.shape = shape;
        this.code = code;
        lanes = LoopLanes.of(shape.type(), shape.op());
        addresses = new int[shape.inputs() + shape.outputs()];
        elements = new int[shape.inputs()];
        index = code.allocateLocal(TypeKind.INT);
        divisors = code.allocateLocal(TypeKind.REFERENCE);
    }

    /** Returns the loop of a shape. */
    public static FusedLoop loop(LoopShape shape) {
        return LOOPS.computeIfAbsent(shape, LoopGenerator::newLoop);
    }

    /** Returns a new loop of a shape, with compiled code of its own. */
    public static FusedLoop newLoop(LoopShape shape) {
        byte[] file = ClassFile.of()
                .build(
                        ClassDesc.of(FusedLoop.class.getPackageName() + ".GeneratedLoop"),
                        builder -> builder.withSuperclass(LOOP)
                                .withFlags(ClassFile.ACC_FINAL)
                                .withMethodBody(
                                        ConstantDescs.INIT_NAME,
                                        ConstantDescs.MTD_void,
                                        0,
                                        constructor -> constructor
                                                .aload(0)
                                                .invokespecial(LOOP, ConstantDescs.INIT_NAME, ConstantDescs.MTD_void)
                                                .return_())
                                .withMethodBody(
                                        "run",
                                        MethodTypeDesc.of(CD_void, ADDRESSES, CD_int, CD_int),
                                        ClassFile.ACC_PUBLIC,
                                        body -> new LoopGenerator(shape, body).run()));
        try {
            MethodHandles.Lookup loop =
                    MethodHandles.lookup().defineHiddenClassWithClassData(file, classData(shape), true);
            return (FusedLoop) loop.findConstructor(loop.lookupClass(), MethodType.methodType(void.class))
                    .asType(MethodType.methodType(FusedLoop.class))
                    .invokeExact();
        } catch (Throwable e) {
            throw new LinkageError("no loop for " + shape, e);
        }
    }

    /** Returns the values of the constants. */
    private static List<Object> classData(LoopShape shape) throws ReflectiveOperationException {
        LoopLanes lanes = LoopLanes.of(shape.type(), shape.op());
        return List.of(
                VectorLanes.operator(shape.type(), shape.op()),
                VectorLanes.MEMORY,
                VectorLanes.ORDER,
                method(lanes, "load", long.class),
                method(new PlainLanes(lanes.species()), "load", long.class),
                method(lanes, "round", Vector.class),
                method(lanes, "pack", Vector.class),
                method(lanes, "lower", Vector.class),
                method(lanes, "upper", Vector.class),
                method(lanes, "join", Vector.class, Vector.class),
                method(new PlainLanes(lanes.species()), "broadcast", long.class),
                lanes.elements().vectorType(),
                lanes.species().vectorType());
    }

    private static MethodHandle method(LoopLanes lanes, String name, Class<?>... parameters)
            throws ReflectiveOperationException {
        return MethodHandles.lookup()
                .findVirtual(lanes.getClass(), name, MethodType.methodType(Vector.class, parameters))
                .bindTo(lanes);
    }

    private void run() {
        for (int a = 0; a < addresses.length; a++) {
            addresses[a] = code.allocateLocal(TypeKind.LONG);
            code.aload(ADDRESSES_SLOT)
                    .loadConstant(FusedLoop.MARGIN + a)
                    .laload()
                    .lstore(addresses[a]);
        }
        if (shape.code().indexOf(LoopShape.MEAN) >= 0 || shape.code().indexOf(LoopShape.SCALED) >= 0) {
            loadDivisors();
        }
        Label end = code.newLabel();
        Label next = code.newLabel();
        code.iconst_0().istore(index).labelBinding(next);
        code.iload(index).iload(BYTES_SLOT).if_icmpge(end);
        if (lanes.widening() == 1) {
            evaluate(0);
            int values = code.allocateLocal(TypeKind.REFERENCE);
            code.astore(values);
            constant(PACK);
            round(values);
            invoke(ELEMENTS, VECTOR);
            store(0);
        } else {
            runParts();
        }
        code.iinc(index, lanes.species().vectorByteSize()).goto_(next);
        code.labelBinding(end).return_();
    }

    /** Makes a vector of the divisor, or of its reciprocal. */
    private void loadDivisors() {
        constant(BROADCAST);
        code.iload(DIVISOR_SLOT).i2l();
        invoke(VALUES, CD_long);
        code.astore(divisors);
        if (shape.code().indexOf(LoopShape.SCALED) >= 0) {
            constant(BROADCAST);
            code.lconst_1();
            invoke(VALUES, CD_long);
            divisors("div");
            code.astore(divisors);
        }
    }

    /** Evaluates both parts, one after the other. */
    private void runParts() {
        int lower = code.allocateLocal(TypeKind.REFERENCE);
        int upper = code.allocateLocal(TypeKind.REFERENCE);
        evaluate(0);
        code.astore(lower);
        evaluate(1);
        code.astore(upper);
        if (shape.wideOutput()) {
            code.aload(lower);
            store(0);
            code.aload(upper);
            store(1);
        } else {
            constant(JOIN);
            round(lower);
            round(upper);
            invoke(ELEMENTS, VECTOR, VECTOR);
            store(0);
        }
    }

    private void load(int input) {
        constant(LOAD);
        address(input, false, 0);
        invoke(ELEMENTS, CD_long);
    }

    /** Reads an input for the first part only: of all that a loop does, reads become most nodes in the JIT. */
    private void loadPart(int input, int part) {
        if (part == 0) {
            constant(LOWER);
            load(input);
            elements[input] = code.allocateLocal(TypeKind.REFERENCE);
            code.dup().astore(elements[input]);
        } else {
            constant(UPPER);
            code.aload(elements[input]);
        }
        invoke(VALUES, VECTOR);
    }

    /**
     * Leaves what the expression makes on the stack.
     *
     * @param part which part of it, 0 or 1
     */
    private void evaluate(int part) {
        String expression = shape.code();
        int vector = code.allocateLocal(TypeKind.REFERENCE);
        int input = 0;
        for (int i = 0; i < expression.length(); i++) {
            switch (expression.charAt(i)) {
                case LoopShape.INPUT -> {
                    if (lanes.widening() == 1) {
                        load(input);
                    } else {
                        loadPart(input, part);
                    }
                    input++;
                }
                case LoopShape.WIDE -> {
                    constant(LOAD_WIDE);
                    address(input++, true, part);
                    invoke(VALUES, CD_long);
                }
                case LoopShape.FOLD -> {
                    code.astore(vector);
                    constant(OPERATOR);
                    code.aload(vector).invokevirtual(VECTOR, "lanewise", MethodTypeDesc.of(VECTOR, BINARY, VECTOR));
                    cast(VALUES);
                }
                case LoopShape.MEAN -> divisors("div");
                case LoopShape.SCALED -> divisors("mul");
                case LoopShape.ROUNDED -> {
                    code.astore(vector);
                    round(vector);
                }
                default -> throw new IllegalArgumentException("no operation " + expression.charAt(i) + " in " + shape);
            }
        }
    }

    private void divisors(String operation) {
        code.aload(divisors).invokevirtual(VECTOR, operation, MethodTypeDesc.of(VECTOR, VECTOR));
        cast(VALUES);
    }

    private void round(int values) {
        constant(ROUND);
        code.aload(values);
        invoke(VALUES, VECTOR);
    }

    /** Stores the vector on the stack, a part of a value, to all outputs. */
    private void store(int part) {
        int result = code.allocateLocal(TypeKind.REFERENCE);
        code.astore(result);
        for (int a = shape.inPlace() ? 0 : shape.inputs(); a < addresses.length; a++) {
            code.aload(result);
            constant(MEMORY);
            address(a, shape.wideOutput(), part);
            constant(BYTE_ORDER);
            code.invokevirtual(VECTOR, "intoMemorySegment", MethodTypeDesc.of(CD_void, SEGMENT, CD_long, ORDER));
        }
    }

    /**
     * @param wide whether the operand is in lanes as wide as in the loop
     * @param part which part of its value, whose vectors alternate
     */
    private void address(int operand, boolean wide, int part) {
        code.lload(addresses[operand]).iload(index);
        if (wide && lanes.widening() > 1) {
            code.loadConstant(lanes.widening()).imul();
        }
        if (part > 0) {
            code.loadConstant(part * lanes.species().vectorByteSize()).iadd();
        }
        code.i2l().ladd();
    }

    /**
     * Calls the method handle on the stack.
     *
     * @param result the class of the vector that it returns
     */
    private void invoke(Constant result, ClassDesc... parameters) {
        code.invokevirtual(CD_MethodHandle, "invokeExact", MethodTypeDesc.of(VECTOR, parameters));
        cast(result);
    }

    /** Casts the vector on the stack to its class, for the JIT. */
    private void cast(Constant vectors) {
        constant(vectors);
        code.swap().invokevirtual(CD_Class, "cast", CAST).checkcast(VECTOR);
    }

    private void constant(Constant constant) {
        code.loadConstant(DynamicConstantDesc.ofNamed(
                ConstantDescs.BSM_CLASS_DATA_AT, ConstantDescs.DEFAULT_NAME, constant.type, constant.index));
    }
}

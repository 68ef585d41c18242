package dev.banyan.reduce.host;

import static java.lang.constant.ConstantDescs.CD_Class;
import static java.lang.constant.ConstantDescs.CD_MethodHandle;
import static java.lang.constant.ConstantDescs.CD_Object;
import static java.lang.constant.ConstantDescs.CD_boolean;
import static java.lang.constant.ConstantDescs.CD_int;
import static java.lang.constant.ConstantDescs.CD_long;
import static java.lang.constant.ConstantDescs.CD_void;

import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
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
final class LoopGenerator {
    private static final Map<LoopShape, FusedLoop> LOOPS = new ConcurrentHashMap<>();

    private static final ClassDesc LOOP = ClassDesc.of(FusedLoop.class.getName());
    private static final ClassDesc VECTOR = ClassDesc.of("jdk.incubator.vector.Vector");
    private static final ClassDesc MASK = ClassDesc.of("jdk.incubator.vector.VectorMask");
    private static final ClassDesc BINARY = ClassDesc.of("jdk.incubator.vector.VectorOperators$Binary");
    private static final ClassDesc ORDER = ClassDesc.of("java.nio.ByteOrder");
    private static final ClassDesc SEGMENT = ClassDesc.of("java.lang.foreign.MemorySegment");
    private static final ClassDesc ADDRESSES = CD_long.arrayType();
    private static final MethodTypeDesc CAST = MethodTypeDesc.of(CD_Object, CD_Object);
    private static final ClassDesc HALF_BLOCK = ClassDesc.of(HalfBlock.class.getName());

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
    private static final Constant DIVISORS = new Constant(5, CD_MethodHandle);
    private static final Constant MEAN = new Constant(6, CD_MethodHandle);
    private static final Constant ROUND = new Constant(7, CD_MethodHandle);
    private static final Constant PACK = new Constant(8, CD_MethodHandle);
    private static final Constant LOWER = new Constant(9, CD_MethodHandle);
    private static final Constant UPPER = new Constant(10, CD_MethodHandle);
    private static final Constant MEAN_OF_TWO = new Constant(11, CD_MethodHandle);
    private static final Constant JOIN = new Constant(12, CD_MethodHandle);
    private static final Constant FACTORS = new Constant(13, CD_MethodHandle);
    private static final Constant ELEMENTS = new Constant(14, CD_Class);
    private static final Constant VALUES = new Constant(15, CD_Class);
    private static final Constant MAGNITUDES = new Constant(16, CD_Class);
    private static final Constant PACK_SCALED = new Constant(17, CD_MethodHandle);
    private static final Constant UNUSUAL = new Constant(18, VECTOR);
    private static final Constant TOO_GREAT = new Constant(19, VECTOR);
    private static final Constant FIRST_MAGNITUDES = new Constant(20, CD_MethodHandle);
    private static final Constant GREATER_MAGNITUDES = new Constant(21, CD_MethodHandle);
    private static final Constant FIRST_SIZES = new Constant(22, CD_MethodHandle);
    private static final Constant GREATER_SIZES = new Constant(23, CD_MethodHandle);
    private static final Constant DIVISOR_VECTORS = new Constant(24, CD_Class);
    private static final Constant FACTOR_VECTORS = new Constant(25, CD_Class);
    private static final Constant OF_PRIVATE = new Constant(26, CD_MethodHandle);

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
    /** The vector that means are divided by. */
    private final int divisors;
    /** The vector that means are multiplied with. */
    private final int factors;
    /** Of all inputs, where lanes are guarded. */
    private final Greatest magnitudes = new Greatest(MAGNITUDES, FIRST_MAGNITUDES, GREATER_MAGNITUDES, UNUSUAL);
    /** Of what is rounded or read from private memory, and of some results, where lanes are guarded. */
    private final Greatest sizes = new Greatest(ELEMENTS, FIRST_SIZES, GREATER_SIZES, TOO_GREAT);

    /** The greatest of some vectors in each lane, in a local variable of the loop. */
    private final class Greatest {
        private final Constant vectors;
        private final Constant first;
        private final Constant greater;
        private final Constant limit;
        private int slot = -1;

        /**
         * @param vectors their class
         * @param first makes the first one
         * @param greater adds another one
         * @param limit the loop ends unless all are below it
         */
        Greatest(Constant vectors, Constant first, Constant greater, Constant limit) {
            this.vectors = vectors;
            this.first = first;
            this.greater = greater;
            this.limit = limit;
        }

        void add(int vector) {
            if (slot < 0) {
                slot = code.allocateLocal(TypeKind.REFERENCE);
                constant(first);
                code.aload(vector);
                invoke(vectors, VECTOR);
            } else {
                constant(greater);
                code.aload(slot).aload(vector);
                invoke(vectors, VECTOR, VECTOR);
            }
            code.astore(slot);
        }

        /** Leaves the loop unless all that were added are below the limit. */
        void endUnlessBelow(Label end) {
            if (slot >= 0) {
                code.aload(slot);
                constant(limit);
                code.invokevirtual(VECTOR, "lt", MethodTypeDesc.of(MASK, VECTOR))
                        .invokevirtual(MASK, "allTrue", MethodTypeDesc.of(CD_boolean))
                        .ifeq(end);
            }
        }
    }

    private LoopGenerator(LoopShape shape, CodeBuilder code) {
        this.shape = shape;
        this.code = code;
        lanes = LoopLanes.of(shape.type(), shape.op(), shape.integerMean());
        addresses = new int[shape.inputs() + shape.outputs()];
        elements = new int[shape.inputs()];
        index = code.allocateLocal(TypeKind.INT);
        divisors = code.allocateLocal(TypeKind.REFERENCE);
        factors = code.allocateLocal(TypeKind.REFERENCE);
    }

    /** Returns the loop of a shape. */
    static FusedLoop loop(LoopShape shape) {
        return LOOPS.computeIfAbsent(shape, LoopGenerator::newLoop);
    }

    /** Returns a new loop of a shape, with compiled code of its own. */
    static FusedLoop newLoop(LoopShape shape) {
        return HalfLoop.computes(shape.type(), shape.op()) ? halfLoop(shape) : generate(shape);
    }

    private static FusedLoop halfLoop(LoopShape shape) {
        HalfLoop all = HalfLoopGenerator.loop(shape);
        return HalfLanes.serve(shape) ? new GuardedLoop(generate(shape), all) : all;
    }

    /**
     * Returns how many times as long values in private memory are as the elements.
     *
     * @param op how values are combined; not AVG
     */
    static int widening(DataType type, ReduceOp op, boolean integerMean) {
        return LoopLanes.of(type, op, integerMean).widening();
    }

    private static FusedLoop generate(LoopShape shape) {
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
                                        MethodTypeDesc.of(CD_int, ADDRESSES, CD_int, CD_int, HALF_BLOCK),
                                        0,
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
        LoopLanes lanes = LoopLanes.of(shape.type(), shape.op(), shape.integerMean());
        return List.of(
                VectorLanes.operator(shape.type(), shape.op()),
                VectorLanes.MEMORY,
                VectorLanes.ORDER,
                method(lanes, "load", long.class),
                method(new PlainLanes(lanes.species()), "load", long.class),
                method(lanes, "divisors", int.class),
                method(lanes, "mean", Vector.class, Vector.class),
                method(lanes, "round", Vector.class),
                method(lanes, "pack", Vector.class),
                method(lanes, "lower", Vector.class),
                method(lanes, "upper", Vector.class),
                method(lanes, "mean", Vector.class, Vector.class, Vector.class),
                method(lanes, "join", Vector.class, Vector.class),
                method(lanes, "factors", int.class),
                lanes.elements().vectorType(),
                lanes.species().vectorType(),
                VectorLanes.SHORTS.vectorType(),
                method(lanes, "pack", Vector.class, Vector.class),
                lanes.guarded() ? lanes.unusual() : lanes.species().zero(),
                lanes.guarded() ? lanes.tooGreat() : lanes.species().zero(),
                method(lanes, "magnitudes", Vector.class),
                method(lanes, "greaterMagnitudes", Vector.class, Vector.class),
                method(lanes, "sizes", Vector.class),
                method(lanes, "greaterSizes", Vector.class, Vector.class),
                lanes.divisors(1).getClass(),
                lanes.factors(1).getClass(),
                method(lanes, "ofPrivate", Vector.class));
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
        boolean scaled = shape.code().indexOf(Expression.SCALED) >= 0;
        if (shape.code().indexOf(Expression.MEAN) >= 0) {
            loadDivisors(DIVISORS, DIVISOR_VECTORS, true);
            code.astore(divisors);
        }
        if (scaled || lanes.scaleWhenPacked()) {
            loadDivisors(FACTORS, FACTOR_VECTORS, scaled);
            code.astore(factors);
        }
        Label end = code.newLabel();
        Label next = code.newLabel();
        code.iconst_0().istore(index).labelBinding(next);
        code.iload(index).iload(BYTES_SLOT).if_icmpge(end);
        if (lanes.parts() == 1) {
            evaluate(shape.code(), 0);
            if (!shape.wideOutput()) {
                int values = code.allocateLocal(TypeKind.REFERENCE);
                code.astore(values);
                pack(values);
            }
            store(0);
        } else {
            runParts(end);
        }
        code.iinc(index, lanes.species().vectorByteSize() * lanes.parts() / lanes.widening())
                .goto_(next);
        code.labelBinding(end).iload(index).ireturn();
    }

    /**
     * Leaves what a method makes of the divisor on the stack.
     *
     * @param vectors the class of that
     * @param divided whether there is one; 1 takes its place otherwise
     */
    private void loadDivisors(Constant method, Constant vectors, boolean divided) {
        constant(method);
        if (divided) {
            code.iload(DIVISOR_SLOT);
        } else {
            code.iconst_1();
        }
        invoke(vectors, CD_int);
    }

    /**
     * Evaluates both parts, one after the other. Where both make one mean, that comes last.
     *
     * @param end where the loop ends, before it writes what is not usual
     */
    private void runParts(Label end) {
        boolean meet = lanes.partsMeet() && !shape.wideOutput();
        String separate = meet ? shape.code().substring(0, shape.code().length() - 1) : shape.code();
        int lower = code.allocateLocal(TypeKind.REFERENCE);
        int upper = code.allocateLocal(TypeKind.REFERENCE);
        evaluate(separate, 0);
        code.astore(lower);
        evaluate(separate, 1);
        code.astore(upper);
        if (lanes.guarded()) {
            if (lanes.smallResults() && !shape.wideOutput()) {
                sizes.add(lower);
                sizes.add(upper);
            }
            magnitudes.endUnlessBelow(end);
            sizes.endUnlessBelow(end);
        }
        if (meet) {
            constant(MEAN_OF_TWO);
            code.aload(lower).aload(upper).aload(divisors);
            invoke(ELEMENTS, VECTOR, VECTOR, VECTOR);
            store(0);
        } else if (shape.wideOutput()) {
            code.aload(lower);
            store(0);
            code.aload(upper);
            store(1);
        } else {
            constant(JOIN);
            pack(lower);
            pack(upper);
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
            if (lanes.guarded()) {
                magnitudes.add(elements[input]);
            }
        } else {
            constant(UPPER);
            code.aload(elements[input]);
        }
        invoke(VALUES, VECTOR);
    }

    /**
     * Adds the values from private memory on the stack to the sizes, where lanes are guarded.
     *
     * @param vector a free slot
     */
    private void guardPrivate(int vector) {
        if (lanes.guarded()) {
            code.dup().astore(vector);
            constant(OF_PRIVATE);
            code.aload(vector);
            invoke(VALUES, VECTOR);
            code.astore(vector);
            sizes.add(vector);
        }
    }

    /**
     * Adds the values on the stack to the sizes, where lanes are guarded.
     *
     * @param vector a free slot
     */
    private void guardSizes(int vector) {
        if (lanes.guarded()) {
            code.astore(vector);
            sizes.add(vector);
            code.aload(vector);
        }
    }

    /**
     * Leaves what an expression makes on the stack.
     *
     * @param part which part of it, 0 or 1
     */
    private void evaluate(String expression, int part) {
        int vector = code.allocateLocal(TypeKind.REFERENCE);
        int input = 0;
        for (int i = 0; i < expression.length(); i++) {
            switch (expression.charAt(i)) {
                case Expression.INPUT -> {
                    if (lanes.parts() == 1) {
                        load(input);
                    } else {
                        loadPart(input, part);
                    }
                    input++;
                }
                case Expression.WIDE -> {
                    constant(LOAD_WIDE);
                    address(input++, true, part);
                    invoke(VALUES, CD_long);
                    guardPrivate(vector);
                }
                case Expression.FOLD -> {
                    code.astore(vector);
                    constant(OPERATOR);
                    code.aload(vector).invokevirtual(VECTOR, "lanewise", MethodTypeDesc.of(VECTOR, BINARY, VECTOR));
                    cast(VALUES);
                }
                case Expression.MEAN -> {
                    code.astore(vector);
                    constant(MEAN);
                    code.aload(vector).aload(divisors);
                    invoke(VALUES, VECTOR, VECTOR);
                }
                case Expression.SCALED -> {
                    if (!lanes.scaleWhenPacked()) {
                        code.aload(factors).invokevirtual(VECTOR, "mul", MethodTypeDesc.of(VECTOR, VECTOR));
                        cast(VALUES);
                    }
                }
                case Expression.ROUNDED -> {
                    code.astore(vector);
                    round(vector);
                    guardSizes(vector);
                }
                default -> throw new IllegalArgumentException("no operation " + expression.charAt(i) + " in " + shape);
            }
        }
    }

    /** Leaves the packed elements of values, rounded, on the stack. */
    private void pack(int values) {
        if (lanes.scaleWhenPacked()) {
            constant(PACK_SCALED);
            code.aload(values).aload(factors);
            invoke(ELEMENTS, VECTOR, VECTOR);
        } else {
            constant(PACK);
            round(values);
            invoke(VALUES, VECTOR);
        }
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

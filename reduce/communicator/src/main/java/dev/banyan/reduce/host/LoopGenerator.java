package dev.banyan.reduce.host;

import static java.lang.constant.ConstantDescs.CD_int;
import static java.lang.constant.ConstantDescs.CD_long;
import static java.lang.constant.ConstantDescs.CD_void;

import java.lang.classfile.ClassFile;
import java.lang.classfile.CodeBuilder;
import java.lang.classfile.Label;
import java.lang.classfile.TypeKind;
import java.lang.constant.ClassDesc;
import java.lang.constant.ConstantDescs;
import java.lang.constant.DynamicConstantDesc;
import java.lang.constant.MethodTypeDesc;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Makes a class for each shape of a fused loop, so that each gets its own compiled code: one in which the expression is
 * straight-line code on vectors. The loops stay; there are few shapes, since an expression has at most {@value
 * FusedLoop#MOST_OPERANDS} inputs.
 *
 * <p>Needs the module jdk.incubator.vector.
 */
final class LoopGenerator {
    private static final Map<LoopShape, FusedLoop> LOOPS = new ConcurrentHashMap<>();

    private static final ClassDesc LOOP = ClassDesc.of(FusedLoop.class.getName());
    private static final ClassDesc LANES = ClassDesc.of("dev.banyan.reduce.host.VectorLanes");
    private static final ClassDesc VECTOR = ClassDesc.of("jdk.incubator.vector.Vector");
    private static final ClassDesc SPECIES = ClassDesc.of("jdk.incubator.vector.VectorSpecies");
    private static final ClassDesc OPERATOR = ClassDesc.of("jdk.incubator.vector.VectorOperators$Associative");
    private static final ClassDesc ADDRESSES = CD_long.arrayType();

    private static final MethodTypeDesc LOAD = MethodTypeDesc.of(VECTOR, SPECIES, CD_long);
    private static final MethodTypeDesc TWO = MethodTypeDesc.of(VECTOR, VECTOR, VECTOR);

    private static final int ADDRESSES_SLOT = 1;
    private static final int BYTES_SLOT = 2;
    private static final int DIVISOR_SLOT = 3;

    private final LoopShape shape;
    private final CodeBuilder code;
    private final int[] addresses;
    private final int index;
    private final int divisors;

    private LoopGenerator(LoopShape shape, CodeBuilder code) {
        this.shape = shape;
        this.code = code;
        addresses = new int[shape.inputs() + shape.outputs()];
        index = code.allocateLocal(TypeKind.INT);
        divisors = code.allocateLocal(TypeKind.REFERENCE);
    }

    /** Returns the loop of a shape. */
    static FusedLoop loop(LoopShape shape) {
        return LOOPS.computeIfAbsent(shape, LoopGenerator::generate);
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
                                        MethodTypeDesc.of(CD_void, ADDRESSES, CD_int, CD_int),
                                        0,
                                        body -> new LoopGenerator(shape, body).run()));
        try {
            MethodHandles.Lookup loop = MethodHandles.lookup()
                    .defineHiddenClassWithClassData(
                            file,
                            List.of(VectorLanes.species(shape.type()), VectorLanes.operator(shape.type(), shape.op())),
                            true);
            return (FusedLoop) loop.findConstructor(loop.lookupClass(), MethodType.methodType(void.class))
                    .asType(MethodType.methodType(FusedLoop.class))
                    .invokeExact();
        } catch (Throwable e) {
            throw new LinkageError("no loop for " + shape, e);
        }
    }

    private void run() {
        for (int a = 0; a < addresses.length; a++) {
            addresses[a] = code.allocateLocal(TypeKind.LONG);
            code.aload(ADDRESSES_SLOT).loadConstant(a).laload().lstore(addresses[a]);
        }
        if (shape.code().indexOf(Expression.MEAN) >= 0) {
            species();
            code.iload(DIVISOR_SLOT)
                    .invokestatic(LANES, "broadcast", MethodTypeDesc.of(VECTOR, SPECIES, CD_int))
                    .astore(divisors);
        }
        Label end = code.newLabel();
        Label next = code.newLabel();
        code.iconst_0().istore(index).labelBinding(next);
        code.iload(index).iload(BYTES_SLOT).if_icmpge(end);
        evaluate();
        store();
        code.iinc(index, VectorLanes.species(shape.type()).vectorByteSize()).goto_(next);
        code.labelBinding(end).return_();
    }

    /** Leaves the value of the expression on the stack. */
    private void evaluate() {
        int input = 0;
        for (char each : shape.code().toCharArray()) {
            switch (each) {
                case Expression.INPUT -> {
                    species();
                    address(input++);
                    code.invokestatic(LANES, "load", LOAD);
                }
                case Expression.FOLD -> {
                    constant(1, OPERATOR);
                    code.invokestatic(LANES, "fold", MethodTypeDesc.of(VECTOR, VECTOR, VECTOR, OPERATOR));
                }
                case Expression.MEAN -> code.aload(divisors).invokestatic(LANES, "divide", TWO);
                default -> throw new IllegalArgumentException("no operation " + each + " in " + shape);
            }
        }
    }

    /** Stores the vector on the stack to all outputs. */
    private void store() {
        int result = code.allocateLocal(TypeKind.REFERENCE);
        code.astore(result);
        for (int a = shape.inPlace() ? 0 : shape.inputs(); a < addresses.length; a++) {
            code.aload(result);
            address(a);
            code.invokestatic(LANES, "store", MethodTypeDesc.of(CD_void, VECTOR, CD_long));
        }
    }

    private void address(int operand) {
        code.lload(addresses[operand]).iload(index).i2l().ladd();
    }

    private void species() {
        constant(0, SPECIES);
    }

    private void constant(int at, ClassDesc type) {
        code.loadConstant(
                DynamicConstantDesc.ofNamed(ConstantDescs.BSM_CLASS_DATA_AT, ConstantDescs.DEFAULT_NAME, type, at));
    }
}

package dev.banyan.reduce.host;

import static java.lang.constant.ConstantDescs.CD_float;
import static java.lang.constant.ConstantDescs.CD_int;
import static java.lang.constant.ConstantDescs.CD_short;
import static java.lang.constant.ConstantDescs.CD_void;

import dev.banyan.schedule.type.ReduceOp;
import java.lang.classfile.ClassFile;
import java.lang.classfile.CodeBuilder;
import java.lang.classfile.Label;
import java.lang.classfile.TypeKind;
import java.lang.constant.ClassDesc;
import java.lang.constant.ConstantDescs;
import java.lang.constant.MethodTypeDesc;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;

/** Makes a class for each expression of a {@link HalfLoop}. */
final class HalfLoopGenerator {
    private static final ClassDesc EXPRESSION = ClassDesc.of(HalfExpression.class.getName());
    private static final ClassDesc BLOCK = ClassDesc.of(HalfBlock.class.getName());
    private static final MethodTypeDesc EVALUATE = MethodTypeDesc.of(CD_void, CD_int, CD_int, BLOCK);
    private static final ClassDesc FLOAT = ClassDesc.of("java.lang.Float");

    private static final int COUNT_SLOT = 1;
    private static final int DIVISOR_SLOT = 2;
    private static final int BLOCK_SLOT = 3;

    private final LoopShape shape;
    private final CodeBuilder code;
    private final int[] inputs;

    private HalfLoopGenerator(LoopShape shape, CodeBuilder code) {
        this.shape = shape;
        this.code = code;
        inputs = new int[shape.inputs()];
    }

    /** Returns a new loop of a shape. */
    static HalfLoop loop(LoopShape shape) {
        byte[] file = ClassFile.of()
                .build(
                        ClassDesc.of(HalfLoop.class.getPackageName() + ".GeneratedExpression"),
                        builder -> builder.withSuperclass(EXPRESSION)
                                .withFlags(ClassFile.ACC_FINAL)
                                .withMethodBody(
                                        ConstantDescs.INIT_NAME,
                                        ConstantDescs.MTD_void,
                                        0,
                                        constructor -> constructor
                                                .aload(0)
                                                .invokespecial(
                                                        EXPRESSION, ConstantDescs.INIT_NAME, ConstantDescs.MTD_void)
                                                .return_())
                                .withMethodBody(
                                        "evaluate",
                                        EVALUATE,
                                        0,
                                        body -> new HalfLoopGenerator(shape, body).evaluate()));
        try {
            MethodHandles.Lookup expression = MethodHandles.lookup().defineHiddenClass(file, true);
            return new HalfLoop(shape, (HalfExpression) expression
                    .findConstructor(expression.lookupClass(), MethodType.methodType(void.class))
                    .asType(MethodType.methodType(HalfExpression.class))
                    .invokeExact());
        } catch (Throwable e) {
            throw new LinkageError("no loop for " + shape, e);
        }
    }

    private void evaluate() {
        int input = 0;
        for (int i = 0; i < shape.code().length(); i++) {
            char each = shape.code().charAt(i);
            if (each == Expression.INPUT || each == Expression.WIDE) {
                inputs[input] = code.allocateLocal(TypeKind.REFERENCE);
                code.aload(BLOCK_SLOT);
                if (each == Expression.WIDE) {
                    code.getfield(BLOCK, "wideInputs", CD_float.arrayType(2));
                } else {
                    code.getfield(BLOCK, "inputs", CD_short.arrayType(2));
                }
                code.loadConstant(input).aaload().astore(inputs[input++]);
            }
        }
        int result = code.allocateLocal(TypeKind.REFERENCE);
        code.aload(BLOCK_SLOT);
        if (shape.wideOutput()) {
            code.getfield(BLOCK, "wide", CD_float.arrayType());
        } else {
            code.getfield(BLOCK, "elements", CD_short.arrayType());
        }
        code.astore(result);
        int index = code.allocateLocal(TypeKind.INT);
        Label end = code.newLabel();
        Label next = code.newLabel();
        code.iconst_0().istore(index).labelBinding(next);
        code.iload(index).iload(COUNT_SLOT).if_icmpge(end);
        code.aload(result).iload(index);
        value(index);
        if (shape.wideOutput()) {
            code.fastore();
        } else {
            code.invokestatic(FLOAT, "floatToFloat16", MethodTypeDesc.of(CD_short, CD_float))
                    .sastore();
        }
        code.iinc(index, 1).goto_(next);
        code.labelBinding(end).return_();
    }

    /** Leaves the value of the expression on the stack. */
    private void value(int index) {
        int input = 0;
        for (int i = 0; i < shape.code().length(); i++) {
            switch (shape.code().charAt(i)) {
                case Expression.INPUT ->
                    code.aload(inputs[input++])
                            .iload(index)
                            .saload()
                            .invokestatic(FLOAT, "float16ToFloat", MethodTypeDesc.of(CD_float, CD_short));
                case Expression.WIDE -> code.aload(inputs[input++]).iload(index).faload();
                case Expression.FOLD -> {
                    if (shape.op() == ReduceOp.PROD) {
                        code.fmul();
                    } else {
                        code.fadd();
                    }
                }
                case Expression.MEAN -> code.iload(DIVISOR_SLOT).i2f().fdiv();
                case Expression.SCALED ->
                    code.fconst_1().iload(DIVISOR_SLOT).i2f().fdiv().fmul();
                case Expression.ROUNDED ->
                    code.invokestatic(EXPRESSION, "round", MethodTypeDesc.of(CD_float, CD_float));
                default ->
                    throw new IllegalArgumentException(
                            "no operation " + shape.code().charAt(i) + " in " + shape);
            }
        }
    }
}

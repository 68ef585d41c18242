package dev.banyan.reduce.host;

import dev.banyan.reduce.type.DataType;
import jdk.incubator.vector.VectorOperators;

/**
 * Vector kernels. This class and those named {@code Vector...} are the only ones that need the module
 * jdk.incubator.vector; they must not be touched where it is missing.
 */
final class VectorKernels {
    private VectorKernels() {}

    static Kernel create(KernelSpec spec, int blockElements) {
        return KernelTemplates.create(
                switch (spec.type()) {
                    case F32 -> VectorF32.class;
                    case F64 -> VectorF64.class;
                    case F16, BF16 -> PlainF16.class;
                    case I8, U8 -> VectorI8.class;
                    case I32 -> VectorI32.class;
                    case I64 -> VectorI64.class;
                },
                spec,
                blockElements);
    }

    /** The operation on lanes. */
    static VectorOperators.Associative lanewise(KernelSpec spec) {
        boolean unsigned = spec.type() == DataType.U8;
        return switch (spec.op()) {
            case SUM, AVG -> VectorOperators.ADD;
            case PROD -> VectorOperators.MUL;
            case MIN -> unsigned ? VectorOperators.UMIN : VectorOperators.MIN;
            case MAX -> unsigned ? VectorOperators.UMAX : VectorOperators.MAX;
        };
    }
}

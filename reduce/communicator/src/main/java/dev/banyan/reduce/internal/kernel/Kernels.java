package dev.banyan.reduce.internal.kernel;

/** The implementations of kernels. */
public enum Kernels {
    /** Plain loops over blocks on the heap. */
    PLAIN {
        @Override
        public Kernel create(KernelSpec spec, int blockElements) {
            return KernelTemplates.create(
                    switch (spec.type()) {
                        case F32 -> PlainF32.class;
                        case F64 -> PlainF64.class;
                        case F16, BF16 -> PlainF16.class;
                        case I8, U8 -> PlainI8.class;
                        case I32 -> PlainI32.class;
                        case I64 -> PlainI64.class;
                    },
                    spec,
                    blockElements);
        }
    },
    /** Vectors of jdk.incubator.vector, straight on the buffers. */
    VECTOR {
        @Override
        public Kernel create(KernelSpec spec, int blockElements) {
            return switch (spec.type()) {
                // Vectors have no conversion of 16-bit floats, but the JIT makes some of plain loops.
                case F16 -> PLAIN.create(spec, blockElements);
                case BF16 -> KernelTemplates.create(BrainKernel.class, spec, blockElements);
                case F32, F64, I8, U8, I32, I64 -> KernelTemplates.create(VectorKernel.class, spec, blockElements);
            };
        }
    };

    /** Returns the fastest implementation that this JVM can run. */
    public static Kernels best() {
        return ModuleLayer.boot().findModule("jdk.incubator.vector").isPresent() ? VECTOR : PLAIN;
    }

    /**
     * Returns a new kernel.
     *
     * @param blockElements greatest number of elements of one call
     */
    public abstract Kernel create(KernelSpec spec, int blockElements);
}

package dev.banyan.reduce.internal.kernel;

import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;

/** The type and the operation of a kernel; never {@link ReduceOp#AVG}, which is a sum and a divisor. */
public record KernelSpec(DataType type, ReduceOp op) {
    public KernelSpec {
        if (op == ReduceOp.AVG) {
            throw new IllegalArgumentException("a kernel for AVG; take that for SUM and a divisor");
        }
    }
}

package dev.banyan.reduce.host;

import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;

/**
 * All that the code of a {@link FusedLoop} depends on.
 *
 * @param type the type of the elements
 * @param op how two values are combined; never {@link ReduceOp#AVG}
 * @param code the expression, as {@link Expression#code} has it
 * @param inputs number of inputs
 * @param inPlace whether the inputs are the first outputs, too; they are not repeated among the addresses then
 * @param outputs number of outputs beyond those
 * @param wideOutput whether the output is private memory of {@link LoopLanes} as they are in the loop
 */
record LoopShape(
        DataType type, ReduceOp op, String code, int inputs, boolean inPlace, int outputs, boolean wideOutput) {}

package dev.banyan.reduce.internal.loop;

import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;

/**
 * All that the code of a {@link FusedLoop} depends on.
 *
 * @param type the type of the elements
 * @param op how two values are combined; never {@link ReduceOp#AVG}
 * @param code the expression in postfix notation, of the codes below
 * @param inputs number of inputs
 * @param inPlace whether the inputs are the first outputs, too; they are not repeated among the addresses then
 * @param outputs number of outputs beyond those
 * @param wideOutput whether the output is private memory of {@link LoopLanes} as they are in the loop
 */
public record LoopShape(
        DataType type, ReduceOp op, String code, int inputs, boolean inPlace, int outputs, boolean wideOutput) {
    /** The code of an input. */
    public static final char INPUT = 'x';
    /** The code of a combination of two values, after both. */
    public static final char FOLD = '+';
    /** The code of a division, after its value. */
    public static final char MEAN = '/';
    /** The code of a division where a product with the divisor's reciprocal is the quotient, after its value. */
    public static final char SCALED = '*';
    /** The code of a rounding to the type of the elements, after its value. */
    public static final char ROUNDED = '~';
    /** The code of an input in private memory, in lanes as wide as in the loop. */
    public static final char WIDE = 'w';
}

package dev.banyan.reduce;

import dev.banyan.schedule.type.Collective;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Objects;

/**
 * One collective on given buffers, as data: what {@link Communicator#run} takes. The communicator's named
 * methods (such as {@link Communicator#allReduce(List, long, DataType, ReduceOp)}) make it themselves.
 * {@link Collective} says how many elements each buffer holds.
 *
 * @param collective what is to be done
 * @param root the root, or -1 where the collective has none
 * @param count elements, as {@link Collective} counts them
 * @param type their type
 * @param op how they are combined; ignored by broadcast and all_gather
 * @param inPlace whether inputs and outputs are the same buffers
 * @param inputs each rank's input; where only the root has one, that one alone
 * @param outputs each rank's output; where only the root has one, that one alone; in place equal to the
 *     inputs
 */
public record CollectiveCall(
        Collective collective,
        int root,
        long count,
        DataType type,
        ReduceOp op,
        boolean inPlace,
        List<MemorySegment> inputs,
        List<MemorySegment> outputs) {
    public CollectiveCall {
        Objects.requireNonNull(collective, "collective");
        Objects.requireNonNull(type, "type");
        Objects.requireNonNull(op, "op");
        inputs = List.copyOf(inputs);
        outputs = inPlace ? inputs : List.copyOf(outputs);
        if (count < 0) {
            throw new IllegalArgumentException(collective.label() + " of " + count + " elements; give 0 or more");
        }
        if (!collective.hasRoot() && root != -1) {
            throw new IllegalArgumentException(collective.label() + " has no root; give -1 instead of " + root);
        }
    }

    /** A call whose buffers are inputs and outputs; each rank gives one. */
    public static CollectiveCall inPlace(
            Collective collective, int root, long count, DataType type, ReduceOp op, List<MemorySegment> buffers) {
        return new CollectiveCall(collective, root, count, type, op, true, buffers, buffers);
    }

    /** A call that leaves the inputs as they are. */
    public static CollectiveCall outOfPlace(
            Collective collective,
            int root,
            long count,
            DataType type,
            ReduceOp op,
            List<MemorySegment> inputs,
            List<MemorySegment> outputs) {
        return new CollectiveCall(collective, root, count, type, op, false, inputs, outputs);
    }
}

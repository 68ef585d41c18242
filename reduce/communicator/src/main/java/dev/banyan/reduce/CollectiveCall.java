package dev.banyan.reduce;

import dev.banyan.schedule.type.Collective;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Objects;

/**
 * One collective on given buffers, as data: {@link Communicator#run(CollectiveCall)}, {@link Communicator#runAsync} and
 * {@link Communicator#enqueue} take it. It may be used again for the same buffers. The factories {@link
 * #allReduce(List, long, DataType, ReduceOp) allReduce}, {@link #reduce(List, long, DataType, ReduceOp, int) reduce},
 * {@link #broadcast(List, long, DataType, int) broadcast}, {@link #reduceScatter(List, long, DataType, ReduceOp)
 * reduceScatter} and {@link #allGather(List, long, DataType) allGather} make one; the forms with inputs and outputs
 * leave the inputs as they were. {@link Collective} says how many elements each buffer holds.
 *
 * @param collective the kind
 * @param root rank of the root, 0..n-1, or -1 where the collective has none
 * @param count elements, as {@link Collective} counts them, at least 0
 * @param type their type
 * @param op how they are combined; ignored by broadcast and all_gather
 * @param inPlace whether inputs and outputs are the same buffers
 * @param inputs one per rank in the order of ranks; out of place, the root's alone for broadcast
 * @param outputs one per rank in the order of ranks; out of place, the root's alone for reduce; in place equal to the
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
    /**
     * Checks what needs no communicator; {@link Communicator#check} checks the rest.
     *
     * @throws IllegalArgumentException if the count is negative, or a root is given where the collective has none
     */
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

    /**
     * Returns an allreduce in place: every buffer becomes the reduction of all.
     *
     * @param buffers one per rank, each of at least {@code count} elements
     * @param count elements to reduce, at least 0
     * @param type their type
     * @param op the operation
     */
    public static CollectiveCall allReduce(List<MemorySegment> buffers, long count, DataType type, ReduceOp op) {
        return inPlace(Collective.ALL_REDUCE, -1, count, type, op, buffers);
    }

    /**
     * Returns an allreduce: every rank's output becomes the reduction of all inputs.
     *
     * @param inputs one per rank, each of at least {@code count} elements
     * @param outputs one per rank, each of at least {@code count} elements
     * @param count elements to reduce, at least 0
     * @param type their type
     * @param op the operation
     */
    public static CollectiveCall allReduce(
            List<MemorySegment> inputs, List<MemorySegment> outputs, long count, DataType type, ReduceOp op) {
        return outOfPlace(Collective.ALL_REDUCE, -1, count, type, op, inputs, outputs);
    }

    /**
     * Returns a reduce in place: the root's buffer becomes the reduction of all; the others stay as they were.
     *
     * @param buffers one per rank, each of at least {@code count} elements
     * @param count elements to reduce, at least 0
     * @param type their type
     * @param op the operation
     * @param root 0..n-1
     */
    public static CollectiveCall reduce(List<MemorySegment> buffers, long count, DataType type, ReduceOp op, int root) {
        return inPlace(Collective.REDUCE, root, count, type, op, buffers);
    }

    /**
     * Returns a reduce: the root's output becomes the reduction of all inputs.
     *
     * @param inputs one per rank, each of at least {@code count} elements
     * @param output the root's, of at least {@code count} elements
     * @param count elements to reduce, at least 0
     * @param type their type
     * @param op the operation
     * @param root 0..n-1
     */
    public static CollectiveCall reduce(
            List<MemorySegment> inputs, MemorySegment output, long count, DataType type, ReduceOp op, int root) {
        return outOfPlace(Collective.REDUCE, root, count, type, op, inputs, List.of(output));
    }

    /**
     * Returns a broadcast in place: every buffer becomes a copy of the root's.
     *
     * @param buffers one per rank, each of at least {@code count} elements
     * @param count elements to copy, at least 0
     * @param type their type
     * @param root 0..n-1
     */
    public static CollectiveCall broadcast(List<MemorySegment> buffers, long count, DataType type, int root) {
        return inPlace(Collective.BROADCAST, root, count, type, ReduceOp.SUM, buffers);
    }

    /**
     * Returns a broadcast: every rank's output becomes a copy of the root's input.
     *
     * @param input the root's, of at least {@code count} elements
     * @param outputs one per rank, each of at least {@code count} elements
     * @param count elements to copy, at least 0
     * @param type their type
     * @param root 0..n-1
     */
    public static CollectiveCall broadcast(
            MemorySegment input, List<MemorySegment> outputs, long count, DataType type, int root) {
        return outOfPlace(Collective.BROADCAST, root, count, type, ReduceOp.SUM, List.of(input), outputs);
    }

    /**
     * Returns a reduce-scatter in place: block r of rank r's buffer becomes the reduction of block r of all buffers.
     *
     * @param buffers one per rank, each of at least n blocks
     * @param count elements of one block, at least 0
     * @param type their type
     * @param op the operation
     */
    public static CollectiveCall reduceScatter(List<MemorySegment> buffers, long count, DataType type, ReduceOp op) {
        return inPlace(Collective.REDUCE_SCATTER, -1, count, type, op, buffers);
    }

    /**
     * Returns a reduce-scatter: the output of rank r becomes the reduction of block r of all inputs.
     *
     * @param inputs one per rank, each of at least n blocks
     * @param outputs one per rank, each of at least one block
     * @param count elements of one block, at least 0
     * @param type their type
     * @param op the operation
     */
    public static CollectiveCall reduceScatter(
            List<MemorySegment> inputs, List<MemorySegment> outputs, long count, DataType type, ReduceOp op) {
        return outOfPlace(Collective.REDUCE_SCATTER, -1, count, type, op, inputs, outputs);
    }

    /**
     * Returns an all-gather in place: block r of every buffer becomes a copy of block r of rank r's.
     *
     * @param buffers one per rank, each of at least n blocks
     * @param count elements of one block, at least 0
     * @param type their type
     */
    public static CollectiveCall allGather(List<MemorySegment> buffers, long count, DataType type) {
        return inPlace(Collective.ALL_GATHER, -1, count, type, ReduceOp.SUM, buffers);
    }

    /**
     * Returns an all-gather: block r of every output becomes a copy of rank r's input.
     *
     * @param inputs one per rank, each of at least one block
     * @param outputs one per rank, each of at least n blocks
     * @param count elements of one block, at least 0
     * @param type their type
     */
    public static CollectiveCall allGather(
            List<MemorySegment> inputs, List<MemorySegment> outputs, long count, DataType type) {
        return outOfPlace(Collective.ALL_GATHER, -1, count, type, ReduceOp.SUM, inputs, outputs);
    }

    /**
     * Returns a call in place, for code that treats all collectives alike.
     *
     * @param collective the kind
     * @param root 0..n-1, or -1 where the collective has none
     * @param count elements, as {@link Collective} counts them, at least 0
     * @param type their type
     * @param op the operation; ignored by broadcast and all_gather
     * @param buffers one per rank
     * @throws IllegalArgumentException if the count is negative, or a root is given where the collective has none
     */
    public static CollectiveCall inPlace(
            Collective collective, int root, long count, DataType type, ReduceOp op, List<MemorySegment> buffers) {
        return new CollectiveCall(collective, root, count, type, op, true, buffers, buffers);
    }

    /**
     * Returns a call out of place, for code that treats all collectives alike.
     *
     * @param collective the kind
     * @param root 0..n-1, or -1 where the collective has none
     * @param count elements, as {@link Collective} counts them, at least 0
     * @param type their type
     * @param op the operation; ignored by broadcast and all_gather
     * @param inputs one per rank; the root's alone for broadcast
     * @param outputs one per rank; the root's alone for reduce
     * @throws IllegalArgumentException if the count is negative, or a root is given where the collective has none
     */
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

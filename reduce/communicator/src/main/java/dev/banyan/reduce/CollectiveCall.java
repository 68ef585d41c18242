package dev.banyan.reduce;

import dev.banyan.schedule.plan.AlgorithmHint;
import dev.banyan.schedule.type.Collective;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Objects;

/**
 * One collective on given buffers, as data: {@link Communicator#run}, {@link Communicator#runAsync} and {@link
 * Communicator#enqueue} take it. Immutable; it may be used again for the same buffers. A factory makes a call in place
 * with root 0, by the algorithm that the configuration chooses; {@link #root(int)}, {@link #into} and {@link
 * #by} return a call that differs in one of these:
 *
 * <pre>{@code
 * communicator.run(CollectiveCall.reduce(inputs, count, DataType.F32, ReduceOp.SUM).root(2).into(List.of(output)));
 * }</pre>
 *
 * <p>{@link Collective} says how many elements each buffer holds. Out of place, inputs stay as they were.
 */
public final class CollectiveCall {
    private final Collective collective;
    private final int root;
    private final long count;
    private final DataType type;
    private final ReduceOp op;
    private final boolean inPlace;
    private final List<MemorySegment> inputs;
    private final List<MemorySegment> outputs;
    private final AlgorithmHint hint;

    private CollectiveCall(
            Collective collective,
            int root,
            long count,
            DataType type,
            ReduceOp op,
            boolean inPlace,
            List<MemorySegment> inputs,
            List<MemorySegment> outputs,
            AlgorithmHint hint) {
        this.collective = Objects.requireNonNull(collective, "collective");
        this.type = Objects.requireNonNull(type, "type");
        this.op = Objects.requireNonNull(op, "op");
        this.hint = Objects.requireNonNull(hint, "hint");
        if (count < 0) {
            throw new IllegalArgumentException(collective.label() + " of " + count + " elements; give 0 or more");
        }
        if (!collective.hasRoot() && root != -1) {
            throw new IllegalArgumentException(collective.label() + " has no root; give -1 instead of " + root);
        }
        this.root = root;
        this.count = count;
        this.inPlace = inPlace;
        this.inputs = buffers(inputs);
        this.outputs = inPlace ? this.inputs : buffers(outputs);
    }

    private static List<MemorySegment> buffers(List<MemorySegment> buffers) {
        for (int rank = 0; rank < buffers.size(); rank++) {
            if (buffers.get(rank) == null) {
                throw new IllegalArgumentException(
                        "buffer " + rank + " of " + buffers.size() + " is null; give a memory segment for each rank");
            }
        }
        return List.copyOf(buffers);
    }

    /**
     * Returns an allreduce: every buffer becomes the reduction of all.
     *
     * @param buffers one per rank, each of at least {@code count} elements
     * @param count elements to reduce, at least 0
     * @param type their type
     * @param op the operation
     */
    public static CollectiveCall allReduce(List<MemorySegment> buffers, long count, DataType type, ReduceOp op) {
        return of(Collective.ALL_REDUCE, -1, count, type, op, buffers);
    }

    /**
     * Returns a reduce: the root's buffer becomes the reduction of all; the others stay as they were.
     *
     * @param buffers one per rank, each of at least {@code count} elements
     * @param count elements to reduce, at least 0
     * @param type their type
     * @param op the operation
     */
    public static CollectiveCall reduce(List<MemorySegment> buffers, long count, DataType type, ReduceOp op) {
        return of(Collective.REDUCE, 0, count, type, op, buffers);
    }

    /**
     * Returns a broadcast: every buffer becomes a copy of the root's.
     *
     * @param buffers one per rank, each of at least {@code count} elements; the root's alone if the call gets outputs
     * @param count elements to copy, at least 0
     * @param type their type
     */
    public static CollectiveCall broadcast(List<MemorySegment> buffers, long count, DataType type) {
        return of(Collective.BROADCAST, 0, count, type, ReduceOp.SUM, buffers);
    }

    /**
     * Returns a reduce-scatter: block r of rank r's buffer becomes the reduction of block r of all buffers.
     *
     * @param buffers one per rank, each of at least n blocks
     * @param count elements of one block, at least 0
     * @param type their type
     * @param op the operation
     */
    public static CollectiveCall reduceScatter(List<MemorySegment> buffers, long count, DataType type, ReduceOp op) {
        return of(Collective.REDUCE_SCATTER, -1, count, type, op, buffers);
    }

    /**
     * Returns an all-gather: block r of every buffer becomes a copy of block r of rank r's.
     *
     * @param buffers one per rank, each of at least n blocks; of at least one block if the call gets outputs
     * @param count elements of one block, at least 0
     * @param type their type
     */
    public static CollectiveCall allGather(List<MemorySegment> buffers, long count, DataType type) {
        return of(Collective.ALL_GATHER, -1, count, type, ReduceOp.SUM, buffers);
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
     * @throws IllegalArgumentException if the count is negative, a buffer is null, or a root is given where the
     *     collective has none
     */
    public static CollectiveCall of(
            Collective collective, int root, long count, DataType type, ReduceOp op, List<MemorySegment> buffers) {
        return new CollectiveCall(collective, root, count, type, op, true, buffers, buffers, AlgorithmHint.CONFIGURED);
    }

    /**
     * Returns this call with another root.
     *
     * @param newRoot 0..n-1
     * @throws IllegalArgumentException if the collective has no root
     */
    public CollectiveCall root(int newRoot) {
        return new CollectiveCall(collective, newRoot, count, type, op, inPlace, inputs, outputs, hint);
    }

    /**
     * Returns this call out of place: it reads the buffers that it has and writes others.
     *
     * @param newOutputs one per rank in the order of ranks, for reduce the root's alone; none overlaps another buffer.
     *     For reduce-scatter each has at least one block
     */
    public CollectiveCall into(List<MemorySegment> newOutputs) {
        return new CollectiveCall(collective, root, count, type, op, false, inputs, newOutputs, hint);
    }

    /**
     * Returns this call by a given algorithm instead of the configured one.
     *
     * @param newHint the algorithm; its hub, if any, is one of the ranks
     */
    public CollectiveCall by(AlgorithmHint newHint) {
        return new CollectiveCall(collective, root, count, type, op, inPlace, inputs, outputs, newHint);
    }

    /** Returns the kind. */
    public Collective collective() {
        return collective;
    }

    /** Returns the rank of the root, or -1 where the collective has none. */
    public int root() {
        return root;
    }

    /** Returns the number of elements, as {@link Collective} counts them. */
    public long count() {
        return count;
    }

    /** Returns the type of the elements. */
    public DataType type() {
        return type;
    }

    /** Returns the operation that combines elements; broadcast and all_gather ignore it. */
    public ReduceOp op() {
        return op;
    }

    /** Returns whether inputs and outputs are the same buffers. */
    public boolean inPlace() {
        return inPlace;
    }

    /** Returns one input per rank in the order of ranks; out of place, the root's alone for broadcast. */
    public List<MemorySegment> inputs() {
        return inputs;
    }

    /** Returns one output per rank in the order of ranks; out of place, the root's alone for reduce. */
    public List<MemorySegment> outputs() {
        return outputs;
    }

    /** Returns the algorithm that the call asks for. */
    public AlgorithmHint hint() {
        return hint;
    }
}

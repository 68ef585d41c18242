package dev.banyan.reduce;

import dev.banyan.reduce.backend.Backend;
import dev.banyan.reduce.backend.RankRange;
import dev.banyan.reduce.optimizer.ParameterUpdate;
import dev.banyan.schedule.type.Collective;
import dev.banyan.schedule.type.DataType;
import java.lang.foreign.MemorySegment;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Rejects calls whose buffers do not fit, before anything is written. */
final class BufferCheck {
    private final CollectiveCall call;
    private final int ranks;
    private final RankRange held;
    private final Backend backend;

    private BufferCheck(CollectiveCall call, int ranks, RankRange held, Backend backend) {
        this.call = call;
        this.ranks = ranks;
        this.held = held;
        this.backend = backend;
    }

    /**
     * @param held the ranks of this process, whose buffers the call has
     * @throws IllegalArgumentException if the root or a buffer does not fit; the message says which and why
     */
    static void check(CollectiveCall call, int ranks, RankRange held, Backend backend) {
        Collective collective = call.collective();
        if (collective.hasRoot() && (call.root() < 0 || call.root() >= ranks)) {
            throw new IllegalArgumentException("root " + call.root() + " for " + collective.label() + " over " + ranks
                    + " ranks; roots are 0.." + (ranks - 1));
        }
        new BufferCheck(call, ranks, held, backend).check();
    }

    /** @throws IllegalArgumentException if the rank or memory of an update does not fit */
    static void check(ParameterUpdate update, int ranks, Backend backend) {
        if (update.rank() < 0 || update.rank() >= ranks) {
            throw new IllegalArgumentException(
                    "an update on rank " + update.rank() + " of " + ranks + "; ranks are 0.." + (ranks - 1));
        }
        check("value", update.value(), update.type(), true, backend);
        check("gradient", update.gradient(), update.type(), false, backend);
        // States of 16-bit types hold F32.
        check("state", update.state(), update.type() == DataType.F64 ? DataType.F64 : DataType.F32, true, backend);
    }

    private static void check(String what, MemorySegment memory, DataType type, boolean written, Backend backend) {
        String problem = problem(memory, 0, type, written, backend);
        if (problem != null) {
            throw new IllegalArgumentException("an update whose " + what + " " + problem);
        }
    }

    private void check() {
        Collective collective = call.collective();
        if (call.count() > Long.MAX_VALUE / call.type().bytes() / ranks) {
            throw new IllegalArgumentException(collective.label() + " of " + call.count() + " elements of "
                    + call.type() + " over " + ranks + " ranks; these are more bytes than 64 bits count");
        }
        long inputBytes =
                collective.inputElements(call.count(), ranks) * call.type().bytes();
        long outputBytes =
                collective.outputElements(call.count(), ranks) * call.type().bytes();
        int inputs = expected(call.inPlace() || collective != Collective.BROADCAST);
        int outputs = expected(call.inPlace() || collective != Collective.REDUCE);
        if (call.inPlace()) {
            checkEach("buffer", call.outputs(), outputs, Math.max(inputBytes, outputBytes), true);
            checkOverlaps(List.of(), 0, call.outputs(), Math.max(inputBytes, outputBytes));
        } else {
            checkEach("input", call.inputs(), inputs, inputBytes, false);
            checkEach("output", call.outputs(), outputs, outputBytes, true);
            checkOverlaps(call.inputs(), inputBytes, call.outputs(), outputBytes);
        }
    }

    /** @param ofAll whether every rank has such a buffer; else the root alone */
    private int expected(boolean ofAll) {
        return ofAll ? held.count() : held.contains(call.root()) ? 1 : 0;
    }

    private void checkEach(String what, List<MemorySegment> buffers, int expected, long bytes, boolean written) {
        if (buffers.size() != expected) {
            throw new IllegalArgumentException(call.collective().label() + " got " + buffers.size() + " " + what
                    + "s, but needs " + expected
                    + (expected != held.count()
                            ? ", the root's"
                            : held.count() == ranks
                                    ? ", one for each rank of the communicator"
                                    : ", one for each rank of this process"));
        }
        for (int r = 0; r < expected; r++) {
            MemorySegment buffer = buffers.get(r);
            String problem = problem(buffer, bytes, call.type(), written, backend);
            if (problem != null) {
                throw new IllegalArgumentException(
                        call.collective().label() + ": the " + what + " of rank " + rank(r, expected) + " " + problem);
            }
        }
    }

    /** Returns the rank of a buffer; a single buffer is the root's. */
    private int rank(int index, int buffers) {
        return buffers == held.count() && (buffers > 1 || call.root() < 0) ? held.first() + index : rankOfOne();
    }

    private int rankOfOne() {
        return held.contains(call.root()) ? call.root() : held.first();
    }

    private static @Nullable String problem(
            MemorySegment buffer, long bytes, DataType type, boolean written, Backend backend) {
        if (buffer.byteSize() < bytes) {
            return "has " + buffer.byteSize() + " bytes, but " + bytes + " are needed";
        }
        if (!buffer.isNative()) {
            return "is on the Java heap; take one from Communicator.allocate or a shared Arena";
        }
        if (!buffer.scope().isAlive()) {
            return "is closed; keep its Arena open until the collective has ended";
        }
        if (written && buffer.isReadOnly()) {
            return "is read-only, but is written";
        }
        return backend.refusal(buffer, type);
    }

    /**
     * Rejects outputs that overlap another buffer. It passes over the ranges in the order of their addresses: a range
     * overlaps an earlier range that ends after its start.
     */
    private void checkOverlaps(
            List<MemorySegment> inputs, long inputBytes, List<MemorySegment> outputs, long outputBytes) {
        int all = inputs.size() + outputs.size();
        long[] starts = new long[all];
        int[] order = new int[all];
        for (int i = 0; i < all; i++) {
            starts[i] = (i < inputs.size() ? inputs.get(i) : outputs.get(i - inputs.size())).address();
            int place = i;
            for (; place > 0 && Long.compareUnsigned(starts[order[place - 1]], starts[i]) > 0; place--) {
                order[place] = order[place - 1];
            }
            order[place] = i;
        }
        long anyEnd = 0;
        long outputEnd = 0;
        for (int i : order) {
            boolean output = i >= inputs.size();
            long bytes = output ? outputBytes : inputBytes;
            if (bytes == 0) {
                continue;
            }
            if (Long.compareUnsigned(output ? anyEnd : outputEnd, starts[i]) > 0) {
                throw new IllegalArgumentException(call.collective().label() + ": the "
                        + (output ? (call.inPlace() ? "buffer" : "output") : "input") + " of rank "
                        + (output ? rank(i - inputs.size(), outputs.size()) : rank(i, inputs.size()))
                        + " overlaps another one; "
                        + (call.inPlace()
                                ? "give every rank memory of its own"
                                : "give outputs memory of their own, or call the in-place form"));
            }
            anyEnd = later(anyEnd, starts[i] + bytes);
            if (output) {
                outputEnd = later(outputEnd, starts[i] + bytes);
            }
        }
    }

    private static long later(long a, long b) {
        return Long.compareUnsigned(a, b) > 0 ? a : b;
    }
}

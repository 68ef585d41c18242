package dev.banyan.cli.bench;

import dev.banyan.reduce.AlgorithmChoice;
import dev.banyan.reduce.Communicator;
import dev.banyan.reduce.type.Collective;
import dev.banyan.reduce.type.ReduceOp;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;

/** All kinds of calls on one communicator. Counts cases that passed, and describes the others. */
final class Selftest {
    /** Nothing, less than a rank each, odd, no multiple of anything, and enough for several blocks of a kernel. */
    private static final long[] COUNTS = {0, 1, 3, 17, 1000, 4099, 100_003};

    private static final long LARGEST = Arrays.stream(COUNTS).max().orElseThrow();
    private static final int WIDEST = 8;
    private static final long SEED = 77;
    /** Every bit set: no number of a floating-point type, so that an element that is left out is seen. */
    private static final byte POISON = -1;

    private final Communicator communicator;
    private final AlgorithmChoice algorithm;
    private final int ranks;
    private final List<String> failures = new ArrayList<>();
    private long passed;
    private long phase;

    Selftest(Communicator communicator, AlgorithmChoice algorithm) {
        this.communicator = communicator;
        this.algorithm = algorithm;
        ranks = communicator.size();
    }

    /** One sentence for each case that failed. */
    List<String> failures() {
        return failures;
    }

    /** Number of cases that passed. */
    long passed() {
        return passed;
    }

    void run() {
        long bytes = (LARGEST * ranks + 1) * WIDEST;
        try (Arena arena = Arena.ofShared()) {
            Memory.require(4 * bytes * ranks, "test fewer ranks with --devices");
            Mirrored first = new Mirrored(arena, bytes);
            Mirrored second = new Mirrored(arena, bytes);
            for (ElementType type : ElementType.values()) {
                for (ReduceOp op : ReduceOp.values()) {
                    ReferenceCheck check = new ReferenceCheck(type.type(), op, ranks, LARGEST * ranks, SEED);
                    for (Collective collective : Collective.values()) {
                        if (collective.reduces() || op == ReduceOp.SUM) {
                            test(collective, type, op, check, first, second);
                        }
                    }
                }
            }
        }
    }

    private void test(
            Collective collective,
            ElementType type,
            ReduceOp op,
            ReferenceCheck check,
            Mirrored first,
            Mirrored second) {
        for (long count : COUNTS) {
            int root = collective.hasRoot() ? (int) (count % ranks) : -1;
            Call call = new Call(collective, type, op, root, ranks);
            // Where vectors of 16 bytes begin, and one element behind.
            for (int shift : new int[] {0, type.type().bytes()}) {
                record(call, count, shift, "out of place", () -> apart(call, count, shift, check, first, second));
                record(call, count, shift, "in place", () -> together(call, count, shift, check, second));
            }
        }
    }

    /** Counts wrong elements. */
    @FunctionalInterface
    private interface Case {
        long wrong();
    }

    private void record(Call call, long count, int shift, String placement, Case test) {
        long wrong = test.wrong();
        if (wrong == 0) {
            passed++;
        } else {
            failures.add(call.collective().label() + " " + placement + " of " + count + " " + call.element().label()
                    + " by " + call.opLabel() + " over " + algorithm.label() + ", buffers shifted by " + shift
                    + " bytes: " + wrong + " wrong elements");
        }
    }

    private long apart(Call call, long count, int shift, ReferenceCheck check, Mirrored first, Mirrored second) {
        phase += 7_919;
        for (int rank = 0; rank < ranks; rank++) {
            check.fill(first.host(rank, shift, call.inputBytes(count)), rank, 0, phase);
            second.host(rank, shift, call.outputBytes(count)).fill(POISON);
        }
        first.write(shift, call.inputBytes(count));
        second.write(shift, call.outputBytes(count));
        communicator.run(call.outOfPlace(
                count,
                first.devices(shift, call.inputBytes(count)),
                second.devices(shift, call.outputBytes(count))));
        first.read(shift, call.inputBytes(count));
        second.read(shift, call.outputBytes(count));
        return IntStream.range(0, ranks)
                .mapToLong(rank -> check.changed(first.host(rank, shift, call.inputBytes(count)), rank, 0, phase)
                        + wrong(call, check, second.host(rank, shift, call.outputBytes(count)), rank, count))
                .sum();
    }

    private long together(Call call, long count, int shift, ReferenceCheck check, Mirrored buffers) {
        phase += 7_919;
        long bytes = call.size(count);
        long inputBytes = call.inputBytes(count);
        long outputBytes = call.outputBytes(count);
        for (int rank = 0; rank < ranks; rank++) {
            MemorySegment buffer = buffers.host(rank, shift, bytes);
            buffer.fill(POISON);
            if (call.hasInput(rank)) {
                long at = call.collective() == Collective.ALL_GATHER ? rank * inputBytes : 0;
                check.fill(buffer.asSlice(at, inputBytes), rank, 0, phase);
            }
        }
        buffers.write(shift, bytes);
        communicator.run(call.inPlace(count, buffers.devices(shift, bytes)));
        buffers.read(shift, bytes);
        return IntStream.range(0, ranks)
                .mapToLong(rank -> {
                    long at = call.collective() == Collective.REDUCE_SCATTER ? rank * outputBytes : 0;
                    return wrong(call, check, buffers.host(rank, shift, bytes).asSlice(at, outputBytes), rank, count);
                })
                .sum();
    }

    private long wrong(Call call, ReferenceCheck check, MemorySegment output, int rank, long count) {
        return call.hasOutput(rank) ? check.wrong(call.collective(), output, rank, call.root(), count, phase) : 0;
    }

    /** A buffer per rank, and the host's copy of it. */
    private final class Mirrored {
        private final List<MemorySegment> host = new ArrayList<>();
        private final List<MemorySegment> device = new ArrayList<>();

        Mirrored(Arena arena, long bytes) {
            for (int rank = 0; rank < ranks; rank++) {
                host.add(arena.allocate(bytes, 64));
                device.add(communicator.allocate(rank, bytes));
            }
        }

        MemorySegment host(int rank, long shift, long bytes) {
            return host.get(rank).asSlice(shift, bytes);
        }

        MemorySegment[] devices(long shift, long bytes) {
            return device.stream().map(buffer -> buffer.asSlice(shift, bytes)).toArray(MemorySegment[]::new);
        }

        void write(long shift, long bytes) {
            for (int rank = 0; rank < ranks; rank++) {
                communicator.write(device.get(rank).asSlice(shift, bytes), host(rank, shift, bytes));
            }
        }

        void read(long shift, long bytes) {
            for (int rank = 0; rank < ranks; rank++) {
                communicator.read(device.get(rank).asSlice(shift, bytes), host(rank, shift, bytes));
            }
        }
    }
}

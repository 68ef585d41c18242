package dev.banyan.cli.bench;

import dev.banyan.reduce.AlgorithmChoice;
import dev.banyan.reduce.Communicator;
import dev.banyan.reduce.type.Collective;
import dev.banyan.reduce.type.ReduceOp;
import java.lang.foreign.Arena;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** All kinds of calls on one communicator. Counts cases that passed, and describes the others. */
final class Selftest {
    /** Nothing, less than a rank each, odd, no multiple of anything, and enough for several blocks of a kernel. */
    private static final long[] COUNTS = {0, 1, 3, 17, 1000, 4099, 100_003};

    private static final long LARGEST = Arrays.stream(COUNTS).max().orElseThrow();
    private static final int WIDEST = 8;
    private static final long SEED = 77;

    private final Communicator communicator;
    private final AlgorithmChoice algorithm;
    private final int ranks;
    private final List<String> failures = new ArrayList<>();
    private long passed;

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
            DeviceCalls calls = new DeviceCalls(communicator, arena, bytes);
            for (ElementType type : ElementType.values()) {
                for (ReduceOp op : ReduceOp.values()) {
                    ReferenceCheck check = new ReferenceCheck(type.type(), op, ranks, LARGEST * ranks, SEED);
                    for (Collective collective : Collective.values()) {
                        if (collective.reduces() || op == ReduceOp.SUM) {
                            test(collective, type, op, check, calls);
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
            DeviceCalls calls) {
        for (long count : COUNTS) {
            int root = collective.hasRoot() ? (int) (count % ranks) : -1;
            Call call = new Call(collective, type, op, root, ranks);
            // Where vectors of 16 bytes begin, and one element behind.
            for (int shift : new int[] {0, type.type().bytes()}) {
                record(call, count, shift, "out of place", () -> calls.checkApart(call, count, shift, check));
                record(call, count, shift, "in place", () -> calls.checkTogether(call, count, shift, check));
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
}

package dev.banyan.cli.bench;

import dev.banyan.cli.bench.call.Call;
import dev.banyan.cli.bench.call.DeviceCalls;
import dev.banyan.cli.bench.call.ElementTypes;
import dev.banyan.reduce.Communicator;
import dev.banyan.schedule.plan.AlgorithmConfig;
import dev.banyan.schedule.type.Collective;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import dev.banyan.study.reference.ReferenceCheck;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.LongSupplier;
import java.util.function.Predicate;

/** Calls of all kinds on one communicator. Counts cases that passed, and describes the others. */
final class Selftest {
    /** Nothing, less than a rank each, odd, no multiple of anything, and enough for several blocks of a kernel. */
    private static final long[] COUNTS = {0, 1, 3, 17, 1000, 4099, 100_003};

    /** Counts of the short test: odd, and as floats more than 64 KiB, which take slots or an exchange. */
    private static final long[] SHORT_COUNTS = {1, 17, 16_411};

    private static final int WIDEST = 8;
    /** Neither bytes nor elements can be counted in 32 bits. */
    private static final long BEYOND_32_BITS = (1L << 32) + 4099;

    private static final long SEED = 77;

    private final Communicator communicator;
    private final AlgorithmConfig algorithm;
    private final DeviceCalls calls;
    private final Predicate<Call> isPossible;
    private final int ranks;
    private final List<String> failures = new ArrayList<>();
    private long passed;

    /**
     * @param calls on as much memory of each rank as the test takes
     * @param isPossible whether the algorithm can run a kind of call; others are left out
     */
    Selftest(Communicator communicator, AlgorithmConfig algorithm, DeviceCalls calls, Predicate<Call> isPossible) {
        this.isPossible = isPossible;
        this.communicator = communicator;
        this.algorithm = algorithm;
        this.calls = calls;
        ranks = communicator.size();
    }

    private static long largest(long... counts) {
        return Arrays.stream(counts).max().orElseThrow();
    }

    /** Bytes of each of a rank's two buffers for {@link #run}. */
    static long bytes(int ranks) {
        return bytes(ranks, COUNTS);
    }

    /** Bytes of each of a rank's two buffers for {@link #runShort}. */
    static long shortBytes(int ranks) {
        return bytes(ranks, SHORT_COUNTS);
    }

    private static long bytes(int ranks, long... counts) {
        return (largest(counts) * ranks + 1) * WIDEST;
    }

    /** Bytes of a rank's second buffer, the only one, for {@link #runLarge}. */
    static long largeBytes(int ranks) {
        return Math.ceilDiv(BEYOND_32_BITS, (long) ranks) * ranks;
    }

    /** One sentence for each case that failed. */
    List<String> failures() {
        return failures;
    }

    /** Number of cases that passed. */
    long passed() {
        return passed;
    }

    /** Every collective, type and operation at awkward sizes. */
    void run() {
        run(ElementTypes.ALL.types(), List.of(ReduceOp.values()), COUNTS);
    }

    /** Every collective, sums and means of two types, at few sizes. */
    void runShort() {
        run(List.of(DataType.F32, DataType.F16), List.of(ReduceOp.SUM, ReduceOp.AVG), SHORT_COUNTS);
    }

    private void run(List<DataType> types, List<ReduceOp> ops, long[] counts) {
        for (DataType type : types) {
            for (ReduceOp op : ops) {
                ReferenceCheck check = new ReferenceCheck(type, op, ranks, largest(counts) * ranks, SEED);
                for (Collective collective : Collective.values()) {
                    if (collective.reduces() || op == ReduceOp.SUM) {
                        test(collective, type, op, check, counts);
                    }
                }
            }
        }
    }

    /** Every collective in place on arrays of single bytes above 4 GiB. */
    void runLarge() {
        long bytes = largeBytes(ranks);
        ReferenceCheck check = new ReferenceCheck(DataType.I8, ReduceOp.SUM, ranks, bytes, SEED);
        for (Collective collective : Collective.values()) {
            int root = collective.hasRoot() ? ranks - 1 : -1;
            Call call = new Call(collective, DataType.I8, ReduceOp.SUM, root, ranks);
            long count = call.countFor(bytes);
            record(call, count, 0, "in place", () -> calls.checkTogether(communicator, call, count, 0, check));
        }
    }

    private void test(Collective collective, DataType type, ReduceOp op, ReferenceCheck check, long[] counts) {
        for (long count : counts) {
            int root = collective.hasRoot() ? (int) (count % ranks) : -1;
            Call call = new Call(collective, type, op, root, ranks);
            if (!isPossible.test(call)) {
                continue;
            }
            // Offsets at which vectors of 16 bytes begin, and one element behind.
            for (int shift : new int[] {0, type.bytes()}) {
                record(
                        call,
                        count,
                        shift,
                        "out of place",
                        () -> calls.checkApart(communicator, call, count, shift, check));
                record(
                        call,
                        count,
                        shift,
                        "in place",
                        () -> calls.checkTogether(communicator, call, count, shift, check));
            }
        }
    }

    /** @param test counts wrong elements */
    private void record(Call call, long count, int shift, String placement, LongSupplier test) {
        long wrong = test.getAsLong();
        if (wrong == 0) {
            passed++;
        } else {
            failures.add(call.collective().label() + " " + placement + " of " + count + " "
                    + call.typeLabel()
                    + " by " + call.opLabel() + " over " + algorithm + ", buffers shifted by " + shift
                    + " bytes: " + wrong + " wrong elements");
        }
    }
}

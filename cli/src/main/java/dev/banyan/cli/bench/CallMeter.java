package dev.banyan.cli.bench;

import dev.banyan.cli.bench.call.Call;
import dev.banyan.cli.bench.call.DeviceCalls;
import dev.banyan.cli.bench.call.Measurement;
import dev.banyan.cli.bench.report.Row;
import dev.banyan.reduce.CollectiveCall;
import dev.banyan.reduce.Communicator;
import dev.banyan.schedule.plan.AlgorithmConfig;
import dev.banyan.study.reference.ReferenceCheck;
import java.util.function.Function;
import java.util.function.LongUnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * Measures calls of one kind on the memory of ranks, and checks their results.
 *
 * @param check the right results, or null if results are not checked
 * @param ofAll turns the number of wrong elements in this process into that of all processes
 */
record CallMeter(Call call, DeviceCalls calls, @Nullable ReferenceCheck check, LongUnaryOperator ofAll) {
    private static final long SEED = 2024;

    /**
     * Returns the right results of a kind of call, or null if results are not checked.
     *
     * @param bytes size of the largest call
     */
    static @Nullable ReferenceCheck reference(Call call, long bytes, boolean checked) {
        return checked
                ? new ReferenceCheck(
                        call.type(),
                        call.op(),
                        call.ranks(),
                        bytes / call.type().bytes(),
                        SEED)
                : null;
    }

    /** Runs a call out of place, and returns the number of wrong elements, or null if results are not checked. */
    @Nullable
    Long wrongApart(Communicator communicator, long count) {
        return check == null ? null : (Long) ofAll.applyAsLong(calls.checkApart(communicator, call, count, 0, check));
    }

    /** Runs a call in place, and returns the number of wrong elements, or null if results are not checked. */
    @Nullable
    Long wrongTogether(Communicator communicator, long count) {
        return check == null
                ? null
                : (Long) ofAll.applyAsLong(calls.checkTogether(communicator, call, count, 0, check));
    }

    /**
     * Checks and measures one size, out of place and in place.
     *
     * @param timer runs a call again and again, and returns the times in ns
     */
    Row row(AlgorithmConfig algorithm, Communicator communicator, long count, Function<Runnable, long[]> timer) {
        Long wrongApart = wrongApart(communicator, count);
        long[] apart = times(communicator, calls.apart(call, count, 0), timer);
        Long wrongTogether = wrongTogether(communicator, count);
        long[] together = times(communicator, calls.together(call, count, 0), timer);
        return new Row(
                algorithm,
                call,
                count,
                Measurement.of(call, count, apart, wrongApart),
                Measurement.of(call, count, together, wrongTogether),
                null);
    }

    private static long[] times(Communicator communicator, CollectiveCall timed, Function<Runnable, long[]> timer) {
        communicator.prepare(timed);
        return timer.apply(() -> communicator.run(timed));
    }
}

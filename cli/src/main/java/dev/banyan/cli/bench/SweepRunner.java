package dev.banyan.cli.bench;

import dev.banyan.reduce.CollectiveCall;
import dev.banyan.reduce.Communicator;
import dev.banyan.schedule.plan.AlgorithmChoice;
import org.jspecify.annotations.Nullable;

/**
 * Measures and checks one call after another, out of place and in place, over the same memory.
 *
 * @param check the reference, or null for no checks
 * @param calls on memory as long as the largest size
 */
record SweepRunner(Call call, Repeats repeats, @Nullable ReferenceCheck check, DeviceCalls calls) {
    /** One row. */
    Row measure(AlgorithmChoice algorithm, Communicator communicator, long count) {
        Long wrongApart = check == null ? null : (Long) calls.checkApart(communicator, call, count, 0, check);
        Measurement apart = measure(communicator, calls.apart(call, count, 0), count, wrongApart);
        Long wrongTogether = check == null ? null : (Long) calls.checkTogether(communicator, call, count, 0, check);
        Measurement together = measure(communicator, calls.together(call, count, 0), count, wrongTogether);
        return new Row(algorithm, call, count, apart, together);
    }

    private Measurement measure(Communicator communicator, CollectiveCall measured, long count, @Nullable Long wrong) {
        return Measurement.of(call, count, repeats.time(() -> communicator.run(measured)), wrong);
    }
}

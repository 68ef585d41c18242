package dev.banyan.cli.bench;

import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * What was measured or predicted of one call.
 *
 * @param timeUs average time in us
 * @param algbwGBs size over time in GB/s (1e9 bytes/s)
 * @param busbwGBs algbw times nccl-tests' factor of the collective
 * @param wrong wrong elements of all ranks, inputs that changed out of place included; null if not checked
 * @param medianUs median time in us
 * @param runs timed runs
 */
record Measurement(
        double timeUs,
        double algbwGBs,
        double busbwGBs,
        @Nullable Long wrong,
        double medianUs,
        int runs) {
    static Measurement of(Call call, long count, long[] nanos, @Nullable Long wrong) {
        double average = Arrays.stream(nanos).average().orElseThrow() / 1e3;
        double algbw = call.size(count) / average / 1e3;
        return new Measurement(
                average,
                algbw,
                algbw * call.collective().busFactor(call.ranks()),
                wrong,
                median(nanos) / 1e3,
                nanos.length);
    }

    /** What is predicted, not measured. */
    static Measurement predicted(Call call, long count, double us) {
        double algbw = call.size(count) / us / 1e3;
        return new Measurement(us, algbw, algbw * call.collective().busFactor(call.ranks()), null, us, 1);
    }

    /** Median; of an even number the upper one. */
    static long median(long[] values) {
        long[] sorted = values.clone();
        Arrays.sort(sorted);
        return sorted[sorted.length / 2];
    }
}

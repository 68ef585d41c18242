package dev.banyan.cli.bench.call;

import dev.banyan.simulate.RangedCosts.TimeRange;
import dev.banyan.study.workload.PredictedCall;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The measured or predicted figures of one call.
 *
 * @param timeUs average time in us
 * @param algbwGBs size over time in GB/s (1e9 bytes/s)
 * @param busbwGBs algbw times nccl-tests' factor of the collective
 * @param wrong wrong elements of all ranks, inputs that changed out of place included; null if not checked
 * @param medianUs median time in us
 * @param runs timed runs
 * @param choice of a prediction: the algorithm and its settings; null if the call was measured
 * @param range if measured, from the 5th to the 95th percentile; if predicted, by constants of which some are assumed,
 *     or null for none
 */
public record Measurement(
        double timeUs,
        double algbwGBs,
        double busbwGBs,
        @Nullable Long wrong,
        double medianUs,
        int runs,
        @Nullable String choice,
        @Nullable TimeRange range) {
    public static Measurement of(Call call, long count, long[] nanos, @Nullable Long wrong) {
        double average = Arrays.stream(nanos).average().orElseThrow() / 1e3;
        long[] sorted = nanos.clone();
        Arrays.sort(sorted);
        TimeRange range = new TimeRange(
                sorted[(sorted.length - 1) * 5 / 100] / 1e3, sorted[(sorted.length - 1) * 95 / 100] / 1e3);
        return of(call, count, average, wrong, median(nanos) / 1e3, nanos.length, null, range);
    }

    /** Returns predicted figures. */
    public static Measurement predicted(Call call, long count, PredictedCall predicted) {
        double us = predicted.us();
        return of(call, count, us, null, us, 1, predicted.choice(), predicted.range());
    }

    private static Measurement of(
            Call call,
            long count,
            double us,
            @Nullable Long wrong,
            double medianUs,
            int runs,
            @Nullable String choice,
            @Nullable TimeRange range) {
        double algbw = call.size(count) / us / 1e3;
        double busbw = algbw * call.collective().busFactor(call.ranks());
        return new Measurement(us, algbw, busbw, wrong, medianUs, runs, choice, range);
    }

    /** The figures as JSON has them. */
    public Map<String, @Nullable Object> json() {
        Map<String, @Nullable Object> json = new LinkedHashMap<>();
        json.put("timeUs", timeUs);
        json.put("algbwGBs", algbwGBs);
        json.put("busbwGBs", busbwGBs);
        if (choice == null) {
            json.put("wrong", wrong);
            json.put("medianUs", medianUs);
            json.put("runs", runs);
        } else {
            json.put("choice", choice);
            if (range != null) {
                json.put("leastUs", range.leastUs());
                json.put("mostUs", range.mostUs());
            }
        }
        return json;
    }

    /** Median; of an even number the upper one. */
    public static long median(long[] values) {
        long[] sorted = values.clone();
        Arrays.sort(sorted);
        return sorted[sorted.length / 2];
    }
}

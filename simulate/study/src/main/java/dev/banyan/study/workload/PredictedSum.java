package dev.banyan.study.workload;

import dev.banyan.schedule.internal.algorithm.SumParts;
import dev.banyan.schedule.plan.PlannedSchedule;
import dev.banyan.simulate.Constant;
import dev.banyan.simulate.Profile;
import dev.banyan.simulate.RangedCosts;
import dev.banyan.simulate.RangedCosts.TimeRange;
import dev.banyan.simulate.SimulatedCosts;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;

/**
 * A reproducible sum on GPUs: one exchange, or collectives that follow each other on the devices and three passes. Each
 * pass is a kernel, which takes its latency and then moves its bytes through the memory of its device, as kernels that
 * reduce do.
 *
 * @param parts the collectives and passes
 * @param isExchange whether it is one exchange in their place
 * @param plans the plan of the exchange, or of each collective
 */
public record PredictedSum(SumParts parts, boolean isExchange, List<PlannedSchedule> plans) {
    private static final int PASSES = 3;

    /** Returns the time of the sum alone, in us. */
    public double us(SimulatedCosts costs) {
        if (isExchange) {
            return costs.sumUs(plans.getFirst()).orElseThrow();
        }
        Profile profile = costs.profile();
        return new CallTimes(costs, plans).rowUs()
                + PASSES * profile.get(Constant.KERNEL_US)
                + parts.passBytes() / (profile.get(Constant.REDUCE_GBS) * 1e3);
    }

    /** Returns the times that it could have; empty where copies carry it out. */
    private Optional<TimeRange> range(RangedCosts costs) {
        return new CallTimes(costs.usual(), plans).areKernels() ? Optional.of(costs.range(this::us)) : Optional.empty();
    }

    /** Returns the sum as a call. */
    public PredictedCall call(RangedCosts costs) {
        return new PredictedCall(us(costs.usual()), choice(), range(costs).orElse(null));
    }

    /** Returns the choices of its collectives in their order. */
    private String choice() {
        return plans.stream().map(plan -> plan.choice().toString()).collect(Collectors.joining("+"));
    }

    /**
     * Returns when the last of several sums ends, in us.
     *
     * @param depth sums in flight, at least 1; all launches but the first overlap with kernels
     */
    public static double endUs(SimulatedCosts costs, List<PredictedSum> sums, int depth) {
        double launchUs = costs.programSimulator(List.of()).launchUs();
        Map<SumParts, Double> alone = new HashMap<>();
        double us = 0;
        for (int call = 0; call < sums.size(); call++) {
            PredictedSum sum = sums.get(call);
            boolean overlaps = call % depth > 0 && new CallTimes(costs, sum.plans).areKernels();
            us += alone.computeIfAbsent(sum.parts, _ -> sum.us(costs)) - (overlaps ? launchUs : 0);
        }
        return us;
    }
}

package dev.banyan.study.workload;

import dev.banyan.config.Config;
import dev.banyan.schedule.internal.algorithm.CollectiveRequest;
import dev.banyan.schedule.internal.algorithm.SumParts;
import dev.banyan.schedule.plan.AlgorithmConfig;
import dev.banyan.schedule.plan.AlgorithmHint;
import dev.banyan.schedule.plan.PlannedSchedule;
import dev.banyan.schedule.plan.Planner;
import dev.banyan.schedule.plan.SizeRules;
import dev.banyan.schedule.type.Collective;
import dev.banyan.schedule.type.DataType;
import dev.banyan.simulate.RangedCosts;
import dev.banyan.simulate.SimulatedCosts;
import dev.banyan.topology.Machine;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;

/** Predicted times of calls under one configuration on a machine. Not safe for use from several threads at once. */
public final class Predictions {
    private final SimulatedCosts costs;
    private final Config config;
    private final Planner planner;
    private final int ranks;

    /**
     * @param machine of at least two devices
     * @param config what chooses algorithms and chunk lengths, together with the simulator
     * @param costs the simulator of that machine
     */
    public Predictions(Machine machine, Config config, SimulatedCosts costs) {
        this.costs = costs;
        this.config = config;
        ranks = machine.size();
        planner = new Planner(machine, config, costs, costs.platform());
    }

    /** Returns predictions of one algorithm, by the settings but for that. */
    public static Predictions of(Machine machine, AlgorithmConfig algorithm, SimulatedCosts costs) {
        Config config = Config.builder()
                .set(Planner.ALGORITHM, SizeRules.always(algorithm))
                .load();
        return new Predictions(machine, config, costs);
    }

    /**
     * Returns a request of floats.
     *
     * @param root the root, or -1 where the collective has none
     * @param bytes size of the call as nccl-tests print it; rounded down to what all ranks can share, at least 1
     *     element
     */
    public static CollectiveRequest request(Collective collective, int root, int ranks, long bytes, boolean inPlace) {
        int element = DataType.F32.bytes();
        long one = new CollectiveRequest(collective, root, 1, element, inPlace, Long.MAX_VALUE).bytes(ranks);
        return new CollectiveRequest(collective, root, Math.max(1, bytes / one), element, inPlace, Long.MAX_VALUE);
    }

    /** Returns whether the automatic choice goes by rules of the tuning file for a collective. */
    public boolean isTuned(Collective collective) {
        return planner.isTuned(collective);
    }

    /** Returns the plan of a request, with the chunk length of the setting or else of the simulator. */
    public PlannedSchedule plan(CollectiveRequest request) {
        CollectiveRequest set = asSet(request);
        return planner.plan(planner.cut(planner.chooseSchedule(set), set), set);
    }

    private CollectiveRequest asSet(CollectiveRequest request) {
        return new CollectiveRequest(
                request.collective(),
                request.root(),
                request.count(),
                request.elementBytes(),
                request.inPlace(),
                config.get(Planner.CHUNK_BYTES));
    }

    /** Returns the plans of a workload's keys, all-reduced in place; keys of one size have one plan. */
    public List<PlannedSchedule> plan(Workload workload) {
        return each(workload, this::plan);
    }

    /** Returns the reproducible sums of a workload's keys, all-reduced in place; keys of one size have one. */
    public List<PredictedSum> sums(Workload workload) {
        return each(workload, request -> sum(request, DataType.F32));
    }

    private static <T> List<T> each(Workload workload, Function<CollectiveRequest, T> call) {
        Map<Long, T> bySize = new HashMap<>();
        return workload.elements().stream()
                .map(elements -> bySize.computeIfAbsent(
                        elements,
                        count -> call.apply(new CollectiveRequest(
                                Collective.ALL_REDUCE, -1, count, DataType.F32.bytes(), true, Long.MAX_VALUE))))
                .toList();
    }

    /** Returns how a request for reproducible sums would be carried out, and the plan of each part. */
    public PredictedSum sum(CollectiveRequest request, DataType type) {
        SumParts parts = SumParts.of(request, type, ranks);
        return planner.planDirect(asSet(request), AlgorithmHint.CONFIGURED)
                .filter(direct -> costs.sumUs(direct).isPresent())
                .map(direct -> new PredictedSum(parts, true, List.of(direct)))
                .orElseGet(() -> new PredictedSum(
                        parts,
                        false,
                        parts.collectives().stream().map(this::plan).toList()));
    }

    /**
     * Predicts a call alone.
     *
     * @param ranged the simulator of this object with the ranges of its constants
     */
    public PredictedCall call(CollectiveRequest request, RangedCosts ranged) {
        return call(plan(request), request, ranged);
    }

    /**
     * Predicts a call alone.
     *
     * @param planned the {@linkplain #plan plan} of the request
     * @param ranged as for {@link #call(CollectiveRequest, RangedCosts)}, but maybe of other buffers, on which the
     *     choice does not depend
     */
    public PredictedCall call(PlannedSchedule planned, CollectiveRequest request, RangedCosts ranged) {
        return new PredictedCall(
                ranged.usual().exchanges(planned)
                        ? ranged.usual().predictedUs(planned.schedule(), planned.links())
                        : us(planned, request),
                planned.choice().toString(),
                ranged.range(planned).orElse(null));
    }

    /** Returns the predicted time in us of a call alone, by its whole schedule. */
    public double us(PlannedSchedule planned) {
        return costs.predictedUs(planned.schedule(), planned.links());
    }

    /**
     * Returns the predicted time in us of a call alone, extrapolated where {@link Planner#predictedUs} does so.
     *
     * @param planned the {@linkplain #plan plan} of the request
     */
    public double us(PlannedSchedule planned, CollectiveRequest request) {
        return planner.predictedUs(planned.choice(), asSet(request));
    }
}

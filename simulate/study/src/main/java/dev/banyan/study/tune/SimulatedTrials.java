package dev.banyan.study.tune;

import dev.banyan.config.Config;
import dev.banyan.schedule.internal.algorithm.CollectiveRequest;
import dev.banyan.schedule.plan.AlgorithmChoice;
import dev.banyan.schedule.plan.AlgorithmConfig;
import dev.banyan.schedule.plan.PlannedSchedule;
import dev.banyan.schedule.plan.Planner;
import dev.banyan.schedule.type.Collective;
import dev.banyan.simulate.RangedCosts;
import dev.banyan.simulate.RangedCosts.TimeRange;
import dev.banyan.study.measured.SimulatedNccl;
import dev.banyan.study.workload.Predictions;
import dev.banyan.topology.Machine;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;

/** Tries in the simulator, in place, with floats. */
public final class SimulatedTrials implements Trials {
    private static final long LEAST_CHUNK = 4 << 10;
    /** Fewer than plans may have. */
    private static final long MOST_CHUNKS = 1 << 16;

    private static final long TYPICAL = 1 << 20;

    private final Planner planner;
    private final RangedCosts costs;
    private final Collective collective;
    private final int root;
    private final int ranks;
    /** Null if there is no model of NCCL on this machine. */
    private final @Nullable SimulatedNccl nccl;

    private final String remark;

    /**
     * Tries on a machine and, beside the algorithms, the model of NCCL if there is one.
     *
     * @param config what plans calls
     * @param root the root, or -1 where the collective has none
     */
    public SimulatedTrials(Machine machine, Config config, RangedCosts costs, Collective collective, int root) {
        this.costs = costs;
        this.collective = collective;
        this.root = root;
        ranks = machine.size();
        planner = new Planner(machine, config, costs.usual(), costs.usual().platform());
        SimulatedNccl model = null;
        String known;
        try {
            model = SimulatedNccl.compared(machine, costs.usual().profile());
            known = model.remark(collective);
        } catch (IllegalArgumentException e) {
            known = "nccl: " + e.getMessage();
        }
        nccl = model;
        remark = known;
    }

    @Override
    public List<String> remarks() {
        return List.of(remark);
    }

    @Override
    public List<AlgorithmChoice> algorithms() {
        return AlgorithmChoice.scheduled();
    }

    /** A simulated NCCL is shown. Whether a real one is there, and how fast it is, no simulator knows. */
    @Override
    public List<AlgorithmChoice> beside() {
        return nccl == null ? List.of() : List.of(AlgorithmChoice.NCCL);
    }

    /**
     * Powers of two, from one that holds all data down to 4 KiB, or to the shortest that plans allow; the length stays
     * open where it does not matter.
     */
    @Override
    public List<Long> chunkBytes(AlgorithmConfig whole, long bytes) {
        if (whole.algorithm() == AlgorithmChoice.NCCL || !dependsOnChunks(whole, bytes)) {
            return List.of(Long.MAX_VALUE);
        }
        long longest = Math.max(LEAST_CHUNK, 2 * Long.highestOneBit(bytes));
        long shortest = Math.max(LEAST_CHUNK, Math.ceilDiv(bytes, MOST_CHUNKS));
        return LongStream.iterate(longest, length -> length >= shortest, length -> length / 2)
                .boxed()
                .toList();
    }

    @Override
    public Optional<AlgorithmConfig> planned(AlgorithmConfig whole, long bytes) {
        return whole.algorithm() == AlgorithmChoice.NCCL || !dependsOnChunks(whole, bytes)
                ? Optional.empty()
                : Optional.of(planner.cut(whole, request(bytes)));
    }

    private boolean dependsOnChunks(AlgorithmConfig whole, long bytes) {
        PlannedSchedule planned = planner.plan(whole, request(bytes));
        return costs.usual().dependsOnChunks(planned.schedule(), planned.links());
    }

    /** As many as are best, and powers of two below that. */
    @Override
    public List<Integer> maxTrees() {
        int all = planner.plan(AlgorithmConfig.of(AlgorithmChoice.PACKING), request(TYPICAL))
                .schedule()
                .chunks()
                .size();
        List<Integer> numbers = new ArrayList<>(List.of(Integer.MAX_VALUE));
        IntStream.iterate(Integer.highestOneBit(Math.max(1, all - 1)), trees -> trees > 0, trees -> trees / 2)
                .filter(trees -> trees < all)
                .forEach(numbers::add);
        return numbers;
    }

    @Override
    public double us(AlgorithmConfig choice, long bytes) {
        return choice.algorithm() == AlgorithmChoice.NCCL
                ? Objects.requireNonNull(nccl).time(collective, bytes).us()
                : planner.predictedUs(choice, request(bytes));
    }

    @Override
    public TimeRange range(AlgorithmConfig choice, long bytes) {
        Optional<TimeRange> known;
        if (choice.algorithm() == AlgorithmChoice.NCCL) {
            known = Objects.requireNonNull(nccl).range(collective, bytes);
        } else {
            // Nothing is known of chunks, of which there may be too many to plan.
            known = dependsOnChunks(choice.withChunkBytes(Long.MAX_VALUE), bytes)
                    ? Optional.empty()
                    : costs.range(planner.plan(choice, request(bytes)));
        }
        return known.orElse(new TimeRange(0, Double.POSITIVE_INFINITY));
    }

    private CollectiveRequest request(long bytes) {
        return Predictions.request(collective, root, ranks, bytes, true);
    }

    @Override
    public void close() {}
}

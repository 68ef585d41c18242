package dev.banyan.cli.calibrate;

import dev.banyan.config.Config;
import dev.banyan.schedule.internal.algorithm.CollectiveRequest;
import dev.banyan.schedule.plan.Execution;
import dev.banyan.schedule.plan.PlannedSchedule;
import dev.banyan.schedule.plan.Planner;
import dev.banyan.schedule.type.Collective;
import dev.banyan.schedule.type.DataType;
import dev.banyan.simulate.Profile;
import dev.banyan.simulate.RangedCosts;
import dev.banyan.simulate.internal.nccl.Transport;
import dev.banyan.study.measured.ComparedSweep;
import dev.banyan.study.measured.SweepComparison;
import dev.banyan.study.text.FigureText;
import dev.banyan.topology.Machine;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** Predicted times of device programs, in place, beside NCCL's measured ones. */
final class ProgramPredictions {
    private static final List<Long> SIZES = List.of(8L << 10, 1L << 20, 16L << 20);

    private final List<List<String>> rows = new ArrayList<>();

    /** Adds what a sweep has of the sizes, if it is of all-reduces between devices that reach each other. */
    void add(ComparedSweep one) {
        if (one.setting().collective() != Collective.ALL_REDUCE
                || one.setting().transport() != Transport.PEER
                || one.compared().rows().stream().noneMatch(row -> SIZES.contains(row.bytes()))) {
            return;
        }
        Machine machine = one.setting().machine();
        Profile profile = one.profile();
        RangedCosts costs = new RangedCosts(machine, profile, Execution.PROGRAMS);
        Planner planner = new Planner(machine, Config.defaults(), costs.usual());
        for (SweepComparison.Row row : one.compared().rows()) {
            CollectiveRequest request = new CollectiveRequest(
                    Collective.ALL_REDUCE,
                    -1,
                    row.bytes() / DataType.F32.bytes(),
                    DataType.F32.bytes(),
                    true,
                    Long.MAX_VALUE);
            if (SIZES.contains(row.bytes())) {
                PlannedSchedule planned = planner.plan(planner.chooseSchedule(request), request);
                Optional<RangedCosts.TimeRange> range = costs.range(planned);
                rows.add(List.of(
                        one.setting().file(),
                        Long.toString(row.bytes()),
                        FigureText.us(row.measuredUs()),
                        planned.choice().toString(),
                        FigureText.us(costs.usual().predictedUs(planned.schedule(), planned.links())),
                        range.map(times -> FigureText.us(times.leastUs())).orElse(""),
                        range.map(times -> FigureText.us(times.mostUs())).orElse(""),
                        FigureText.us(costs.launchUs())));
            }
        }
    }

    /** Returns rows of sweep, size, measured, algorithm, predicted, least, most, launches; times in us. */
    List<List<String>> rows() {
        return rows;
    }
}

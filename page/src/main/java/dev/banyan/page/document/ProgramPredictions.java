package dev.banyan.page.document;

import dev.banyan.config.Config;
import dev.banyan.schedule.plan.Execution;
import dev.banyan.schedule.type.Collective;
import dev.banyan.simulate.RangedCosts;
import dev.banyan.simulate.RangedCosts.TimeRange;
import dev.banyan.simulate.internal.nccl.Transport;
import dev.banyan.study.measured.ComparedSweep;
import dev.banyan.study.measured.SweepComparison;
import dev.banyan.study.text.FigureText;
import dev.banyan.study.workload.PredictedCall;
import dev.banyan.study.workload.Predictions;
import dev.banyan.topology.Machine;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/** Predicted times of device programs, in place, beside NCCL's measured ones. */
final class ProgramPredictions {
    private static final List<Long> SIZES = List.of(8L << 10, 1L << 20, 16L << 20);

    private ProgramPredictions() {}

    /**
     * Returns what a sweep has of the sizes, if it is of all-reduces between devices that reach each other: sweep,
     * size, measured, algorithm, predicted, least, most, launches; times in us.
     */
    static Stream<List<String>> rows(ComparedSweep one) {
        List<SweepComparison.Row> rows = one.compared().rows().stream()
                .filter(row -> SIZES.contains(row.bytes()))
                .toList();
        if (rows.isEmpty()
                || one.setting().collective() != Collective.ALL_REDUCE
                || one.setting().transport() != Transport.PEER) {
            return Stream.empty();
        }
        Machine machine = one.setting().machine();
        RangedCosts costs = new RangedCosts(machine, one.profile(), Execution.PROGRAMS);
        Predictions predictions = new Predictions(machine, Config.defaults(), costs.usual());
        return rows.stream().map(row -> {
            PredictedCall call = predictions.call(
                    Predictions.request(Collective.ALL_REDUCE, -1, machine.size(), row.bytes(), true), costs);
            Optional<TimeRange> range = Optional.ofNullable(call.range());
            return List.of(
                    one.setting().file(),
                    Long.toString(row.bytes()),
                    FigureText.us(row.measuredUs()),
                    call.choice(),
                    FigureText.us(call.us()),
                    range.map(times -> FigureText.us(times.leastUs())).orElse(""),
                    range.map(times -> FigureText.us(times.mostUs())).orElse(""),
                    FigureText.us(costs.launchUs()));
        });
    }
}

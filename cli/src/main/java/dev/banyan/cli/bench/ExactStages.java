package dev.banyan.cli.bench;

import dev.banyan.schedule.algorithm.CollectiveRequest;
import dev.banyan.schedule.plan.PlannedSchedule;
import dev.banyan.schedule.type.Collective;
import dev.banyan.schedule.type.DataType;
import java.util.List;

/**
 * What moves over links where floats are summed in fixed point, as BANYAN_REPRODUCIBLE=exact asks: first every
 * element's greatest exponent, 1 byte, to all ranks, then its sum, 8 bytes, 16 of F64. Conversions are not among it.
 *
 * @param call a reduction of floats
 */
record ExactStages(Call call) {
    /** Returns the schedules of a request, which run one after another: the faster of the ways that there are. */
    List<PlannedSchedule> plan(Predictions predictions, long count) {
        Collective collective = call.collective();
        int wordBytes = call.element().type() == DataType.F64 ? 2 * Long.BYTES : Long.BYTES;
        PlannedSchedule exponents =
                predictions.plan(request(Collective.ALL_REDUCE, -1, collective.inputElements(count, call.ranks()), 1));
        List<PlannedSchedule> straight =
                List.of(exponents, predictions.plan(request(collective, call.root(), count, wordBytes)));
        if (collective != Collective.ALL_REDUCE) {
            return straight;
        }
        // The sums are rounded where they meet, so that the way back has short elements.
        long block = Math.ceilDiv(count, call.ranks());
        List<PlannedSchedule> scattered = List.of(
                exponents,
                predictions.plan(request(Collective.REDUCE_SCATTER, -1, block, wordBytes)),
                predictions.plan(request(
                        Collective.ALL_GATHER, -1, block, call.element().type().bytes())));
        return us(predictions, scattered) < us(predictions, straight) ? scattered : straight;
    }

    private static CollectiveRequest request(Collective collective, int root, long count, int elementBytes) {
        return new CollectiveRequest(collective, root, count, elementBytes, true, Long.MAX_VALUE);
    }

    /** Returns the predicted time of the schedules, in us. */
    static double us(Predictions predictions, List<PlannedSchedule> stages) {
        return stages.stream().mapToDouble(predictions::us).sum();
    }
}

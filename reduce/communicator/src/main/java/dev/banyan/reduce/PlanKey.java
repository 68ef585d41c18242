package dev.banyan.reduce;

import dev.banyan.schedule.plan.AlgorithmHint;
import dev.banyan.schedule.type.Collective;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;

/** What a plan depends on. Calls whose operation or root does not matter share a plan. */
record PlanKey(
        Collective collective, long count, DataType type, ReduceOp op, boolean inPlace, int root, AlgorithmHint hint) {
    static PlanKey of(CollectiveCall call, AlgorithmHint hint) {
        return new PlanKey(
                call.collective(),
                call.count(),
                call.type(),
                call.collective().reduces() ? call.op() : ReduceOp.SUM,
                call.inPlace(),
                call.root(),
                hint);
    }
}

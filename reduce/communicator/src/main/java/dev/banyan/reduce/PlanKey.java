package dev.banyan.reduce;

import dev.banyan.schedule.plan.AlgorithmHint;
import dev.banyan.schedule.type.Collective;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;

/** The properties of a call on which its plan depends. Calls whose operation or root has no effect share a plan. */
record PlanKey(
        Collective collective, long count, DataType type, ReduceOp op, boolean inPlace, int root, AlgorithmHint hint) {
    static PlanKey of(CollectiveCall call) {
        return new PlanKey(
                call.collective(),
                call.count(),
                call.type(),
                call.collective().reduces() ? call.op() : ReduceOp.SUM,
                call.inPlace(),
                call.root(),
                call.hint());
    }
}

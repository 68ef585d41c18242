package dev.banyan.page.study;

import dev.banyan.page.model.Curve;
import dev.banyan.schedule.plan.AlgorithmChoice;
import dev.banyan.schedule.type.Collective;
import dev.banyan.simulate.Profile;
import dev.banyan.study.measured.SimulatedNccl;
import dev.banyan.topology.Machine;
import java.util.List;

/**
 * The times that NCCL should take by its model, beside those of the algorithms.
 *
 * @param curves one; none where no ring joins the devices
 * @param note how far it can be trusted, or why there is none
 */
record NcclCurve(List<Curve> curves, String note) {
    static NcclCurve of(Machine machine, Profile profile) {
        SimulatedNccl nccl;
        try {
            nccl = SimulatedNccl.compared(machine, profile);
        } catch (IllegalArgumentException e) {
            return new NcclCurve(List.of(), "there is no curve of nccl: " + e.getMessage());
        }
        List<Curve.Point> points = PageStudy.sizes().stream()
                .map(bytes -> PredictedCurves.point(bytes, nccl.call(Collective.ALL_REDUCE, bytes)))
                .toList();
        return new NcclCurve(
                List.of(new Curve(AlgorithmChoice.NCCL.label(), false, points)), nccl.remark(Collective.ALL_REDUCE));
    }
}

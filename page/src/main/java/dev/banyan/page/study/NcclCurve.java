package dev.banyan.page.study;

import dev.banyan.page.model.Curve;
import dev.banyan.schedule.type.Collective;
import dev.banyan.simulate.Profile;
import dev.banyan.study.measured.SimulatedNccl;
import dev.banyan.topology.Machine;
import java.util.Optional;

/**
 * The times that NCCL should take by its model, beside those of the algorithms.
 *
 * @param model nothing where no ring joins the devices, or nobody knows how far the model is off
 * @param note how far it can be trusted, or why there is none
 */
record NcclCurve(Optional<SimulatedNccl> model, String note) {
    static NcclCurve of(Machine machine, Profile profile) {
        SimulatedNccl nccl;
        try {
            nccl = SimulatedNccl.compared(machine, profile);
        } catch (IllegalArgumentException e) {
            return new NcclCurve(Optional.empty(), "there is no curve of nccl: " + e.getMessage());
        }
        return new NcclCurve(Optional.of(nccl), nccl.remark(Collective.ALL_REDUCE));
    }

    Optional<Curve> curve() {
        return model.map(nccl -> new Curve(
                nccl.name(),
                false,
                PageStudy.sizes().stream()
                        .map(bytes -> PredictedCurves.point(bytes, nccl.call(Collective.ALL_REDUCE, bytes)))
                        .toList()));
    }
}

package dev.banyan.page.study;

import static org.assertj.core.api.Assertions.assertThat;

import dev.banyan.page.model.Curve;
import dev.banyan.simulate.Profiles;
import dev.banyan.topology.Machine;
import org.junit.jupiter.api.Test;

class NcclCurveTest {
    @Test
    void modelOfNcclIsACurve() {
        Machine machine = Machine.preset("p3.16xlarge");
        NcclCurve nccl = NcclCurve.of(machine, Profiles.of(machine));
        assertThat(nccl.note()).contains("profile v100-nvlink").contains("published sweeps");
        Curve curve = nccl.curve().orElseThrow();
        assertThat(curve.name()).isEqualTo("nccl");
        assertThat(curve.measured()).isFalse();
        assertThat(curve.points())
                .extracting(Curve.Point::bytes)
                .isEqualTo(PageStudy.sizes())
                .startsWith(1L << 10)
                .endsWith(1L << 30);
        assertThat(curve.points()).extracting(Curve.Point::us).isSorted();
        assertThat(curve.points().getLast().choice()).isEqualTo("nccl/Simple");
    }
}

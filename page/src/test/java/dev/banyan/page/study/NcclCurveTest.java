package dev.banyan.page.study;

import static org.assertj.core.api.Assertions.assertThat;

import dev.banyan.page.model.Curve;
import dev.banyan.simulate.Profiles;
import dev.banyan.topology.Machine;
import dev.banyan.topology.format.MachineReader;
import dev.banyan.topology.option.MatrixUnit;
import dev.banyan.topology.option.StatedSpeeds;
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

    /** A chain crosses a bridge between sockets once each way, a ring twice. */
    @Test
    void treesOfTheExportedFileCarryLargeCalls() {
        Machine machine = new MachineReader(
                        MatrixUnit.CLASSES, new StatedSpeeds(4, 16, 14, 24, "", StatedSpeeds.PeerAccess.YES))
                .parse("pairs.txt", """
                    GPU0 GPU1 GPU2 GPU3 NUMA Affinity
                    GPU0 X NV4 SYS SYS 0
                    GPU1 NV4 X SYS SYS 0
                    GPU2 SYS SYS X NV4 1
                    GPU3 SYS SYS NV4 X 1
                    """);
        NcclCurve nccl = NcclCurve.of(machine, Profiles.of(machine));
        Curve curve = nccl.curve().orElseThrow();
        assertThat(curve.name()).isEqualTo("nccl (exported file)");
        assertThat(curve.points().getLast().choice()).isEqualTo("nccl/trees/Simple");
        Curve.Point last = curve.points().getLast();
        assertThat(last.bytes() / last.us() / 1e3).isBetween(16.0, 0.92 * 24);
    }
}

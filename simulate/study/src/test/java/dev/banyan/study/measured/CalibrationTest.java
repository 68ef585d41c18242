package dev.banyan.study.measured;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.banyan.simulate.Constant;
import dev.banyan.simulate.Profile;
import dev.banyan.simulate.Profiles;
import dev.banyan.topology.Link;
import dev.banyan.topology.Machine;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class CalibrationTest {
    private static final Profile BASE = Profiles.find("v100-nvlink").orElseThrow();

    /** Devices 0 and 3 of p3.8xlarge: two NVLinks of 25 GB/s, 1.8 us; else two switches under one socket, 17 us. */
    private static Machine pair() {
        return Machine.preset("p3.8xlarge").subset(0, 3);
    }

    private static String source(Calibration calibration, Constant constant) {
        return calibration.profile().source(constant);
    }

    @Test
    void everyConstantFollowsFromItsFigures() {
        Calibration calibration = Calibration.of(P2pReader.parse("p2p.txt", P2pReaderTest.PAIR), pair(), BASE, "ours");
        Profile profile = calibration.profile();
        assertThat(profile.name()).isEqualTo("ours");
        assertThat(profile.get(Constant.NVLINK_EFFICIENCY)).isEqualTo(0.95);
        assertThat(profile.get(Constant.NVLINK_HOP_US)).isEqualTo(0.2);
        assertThat(profile.get(Constant.PCIE_EFFICIENCY)).isEqualTo(0.8);
        assertThat(profile.get(Constant.PCIE_HOP_US)).isEqualTo(0.1);
        assertThat(profile.get(Constant.HOST_DUPLEX)).isEqualTo(0.75);
        assertThat(profile.get(Constant.REDUCE_GBS)).isEqualTo(790);
        assertThat(calibration.measured())
                .containsExactlyInAnyOrder(
                        Constant.NVLINK_EFFICIENCY,
                        Constant.NVLINK_HOP_US,
                        Constant.PCIE_EFFICIENCY,
                        Constant.PCIE_HOP_US,
                        Constant.HOST_DUPLEX,
                        Constant.REDUCE_GBS)
                .allSatisfy(
                        constant -> assertThat(source(calibration, constant)).startsWith("p2p.txt: "));
    }

    @Test
    void theRestIsTheBases() {
        Calibration calibration = Calibration.of(P2pReader.parse("p2p.txt", P2pReaderTest.PAIR), pair(), BASE, "ours");
        for (Constant constant : Constant.values()) {
            if (!calibration.measured().contains(constant)) {
                assertThat(calibration.profile().get(constant)).isEqualTo(BASE.get(constant));
                assertThat(source(calibration, constant)).startsWith("not measured; taken from v100-nvlink: ");
            }
        }
    }

    @Test
    void aPartTellsWhatItCan() {
        String part = "Unidirectional P2P=Enabled Bandwidth Matrix (GB/s)\nD\\D 0 1\n0 700 45\n";
        Calibration calibration = Calibration.of(P2pReader.parse("part", part), pair(), BASE, "ours");
        assertThat(calibration.measured()).containsExactly(Constant.NVLINK_EFFICIENCY, Constant.REDUCE_GBS);
        assertThat(calibration.profile().get(Constant.NVLINK_EFFICIENCY)).isEqualTo(0.9);
        assertThat(calibration.unused()).isEmpty();
        assertThat(Calibration.of(P2pReader.parse("p2p.txt", P2pReaderTest.PAIR), pair(), BASE, "ours")
                        .unused())
                .contains(P2pReport.Measure.ONE_WAY_PEER);
    }

    @Test
    void pairsWithoutAccessTellNothingOfNvlink() {
        String text = P2pReaderTest.PAIR.replace("0\t     1     1", "0\t     1     0");
        assertThat(Calibration.of(P2pReader.parse("p2p.txt", text), pair(), BASE, "ours")
                        .measured())
                .doesNotContain(Constant.NVLINK_EFFICIENCY, Constant.NVLINK_HOP_US);
    }

    /** Both ways share the link above the switch, so that half of twice one way is all that it carries. */
    @Test
    void pairsBelowASwitchShareTheLinkAboveIt() {
        Machine below = Machine.preset("pcie-4").subset(0, 1);
        Calibration calibration = Calibration.of(P2pReader.parse("p2p.txt", P2pReaderTest.PAIR), below, BASE, "ours");
        assertThat(calibration.profile().get(Constant.HOST_DUPLEX)).isEqualTo(1);
        String slower = P2pReaderTest.PAIR.replace("14.4", "7.2");
        assertThat(Calibration.of(P2pReader.parse("p2p.txt", slower), below, BASE, "ours")
                        .profile()
                        .get(Constant.HOST_DUPLEX))
                .isEqualTo(0.75);
    }

    @Test
    void anotherMachineIsRefused() {
        P2pReport report = P2pReader.parse("p2p.txt", P2pReaderTest.PAIR);
        assertThatThrownBy(() -> Calibration.of(report, Machine.preset("dgx-2"), BASE, "ours"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("p2p.txt is of 2 devices but dgx-2 has 16; name the machine that was measured");
        Machine slow = new Machine(
                "slow",
                pair().devices(),
                List.of(),
                List.of(Link.duplex(0, 1, Link.Kind.NVLINK, 1, 20, 0)),
                List.of(),
                List.of());
        assertThatThrownBy(() -> Calibration.of(report, slow, BASE, "ours"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageStartingWith("nvlink.efficiency would be 2.375 (p2p.txt: ")
                .hasMessageEndingWith("it must be above 0 and at most 1.5; name the machine that was measured");
    }

    /** The built-in profiles are what the published reports tell, to within how they are rounded. */
    @ParameterizedTest
    @CsvSource({
        "dgx1p_dgx1_ascending.txt, dgx-1p", "dgx2_16xV100-SXM3-32GB.txt, dgx-2",
        "abci_a_8xA100-SXM4-40GB.txt, dgx-a100", "stas00_h100x8_unidir_only.txt, dgx-h100",
        "dgx1v_8xV100_row0_only.txt, p3.16xlarge", "lambda_8xTITANRTX_noP2P.txt, pcie-8"
    })
    void builtInProfilesAreCalibrated(String file, String preset) {
        Path path = Path.of(System.getProperty("banyan.shared", ""), "corpus", "p2p", file);
        assumeTrue(Files.exists(path), () -> path + " is not there");
        Machine machine = Machine.preset(preset);
        Profile base = Profiles.of(machine);
        Calibration calibration = Calibration.of(P2pReader.read(path), machine, base, "ours");
        for (Constant constant : new Constant[] {
            Constant.NVLINK_EFFICIENCY, Constant.PCIE_EFFICIENCY, Constant.NVLINK_HOP_US, Constant.REDUCE_GBS
        }) {
            double built = base.get(constant);
            assertThat(calibration.profile().get(constant))
                    .as(constant.key())
                    .isEqualTo(built, within(constant == Constant.NVLINK_HOP_US ? 0.3 : 0.05 * built));
        }
    }
}

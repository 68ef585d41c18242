package dev.banyan.simulate.internal.nccl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import dev.banyan.schedule.type.Collective;
import dev.banyan.simulate.Constant;
import dev.banyan.simulate.Profile;
import dev.banyan.simulate.Profiles;
import dev.banyan.simulate.Samples;
import dev.banyan.topology.Link;
import dev.banyan.topology.Machine;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

class NcclRingsTest {
    private static final long GIB = 1L << 30;
    /** Only Simple, without loss: 5 us a call, 3 us a hop. */
    private static final Profile PLAIN = Samples.ideal(Constant.NCCL_LL_FRACTION, 0)
            .with(Constant.NCCL_LL128_FRACTION, 0, "test")
            .with(Constant.NCCL_SIMPLE_BASE_US, 5, "test")
            .with(Constant.NCCL_SIMPLE_HOP_US, 3, "test");

    private static NcclRings of(String preset) {
        Machine machine = Samples.preset(preset);
        return NcclRings.of(machine, Profiles.of(machine), Transport.PEER);
    }

    private static double busbw(NcclRings rings, Collective collective, long bytes) {
        int n = rings.rings().network().ranks();
        return bytes / rings.time(collective, bytes, 1).us() / 1e3 * collective.busFactor(n);
    }

    private static NcclRings circle(Profile profile) {
        Machine machine = Samples.machine(
                4,
                0,
                Samples.nvlink(0, 1, 10),
                Samples.nvlink(1, 2, 10),
                Samples.nvlink(2, 3, 10),
                Samples.nvlink(3, 0, 10));
        return NcclRings.of(machine, profile, Transport.PEER);
    }

    /** Both ways around a circle of 10 GB/s each way: 20 GB/s of busbw, 2(n-1) hops. */
    @Test
    void aCallTakesItsBaseItsHopsAndItsData() {
        NcclRings rings = circle(PLAIN);
        assertThat(rings.time(Collective.ALL_REDUCE, 4, 1).us()).isEqualTo(5 + 6 * 3, within(0.01));
        assertThat(rings.time(Collective.ALL_REDUCE, 64_000_000, 1).us())
                .isEqualTo(5 + 6 * 3 + 64e6 * 1.5 / 20e3, within(1.0));
        assertThat(rings.time(Collective.REDUCE_SCATTER, 64_000_000, 1).us())
                .isEqualTo(5 + 3 * 3 + 64e6 * 0.75 / 20e3, within(1.0));
        assertThat(rings.time(Collective.ALL_GATHER, 64_000_000, 1).us())
                .isEqualTo(5 + 3 * 3 + 64e6 * 0.75 / 20e3, within(1.0));
    }

    /** Chains cut open at both links of 10 GB/s load these with half of the data each way: 20 GB/s of algbw. */
    @Test
    void treesOfAFileCarryAnAllReduceWhereTheyAreFaster() {
        Machine machine = Samples.machine(
                4,
                0,
                Samples.nvlink(0, 1, 30),
                Samples.nvlink(1, 2, 10),
                Samples.nvlink(2, 3, 30),
                Samples.nvlink(3, 0, 10));
        NcclRings rings = NcclRings.of(machine, PLAIN, Transport.PEER);
        List<List<Integer>> chains = List.of(List.of(0, 1, 2, 3), List.of(2, 3, 0, 1));
        NcclRings.Timing fast = rings.withTrees(chains, 0.9).time(Collective.ALL_REDUCE, 64_000_000, 1);
        assertThat(fast.us()).isEqualTo(5 + 6 * 3 + 64e6 / 20e3 / 0.9, within(1.0));
        assertThat(fast.protocol()).isEqualTo(Protocol.TREES);
        NcclRings slow = rings.withTrees(chains, 0.6);
        assertThat(slow.time(Collective.ALL_REDUCE, 64_000_000, 1))
                .isEqualTo(rings.time(Collective.ALL_REDUCE, 64_000_000, 1));
        assertThat(slow.leastUs(Collective.ALL_REDUCE, 64_000_000)).isEqualTo(64e6 / 20e3, within(1.0));
        assertThat(slow.time(Collective.ALL_GATHER, 64_000_000, 1))
                .isEqualTo(rings.time(Collective.ALL_GATHER, 64_000_000, 1));
    }

    /** Calls follow one another down the chain: one hop, not three. */
    @ParameterizedTest
    @EnumSource(
            value = Collective.class,
            names = {"REDUCE", "BROADCAST"})
    void aChainIsPaidOnce(Collective collective) {
        assertThat(circle(PLAIN).time(collective, 64_000_000, 1).us()).isEqualTo(5 + 3 + 64e6 / 20e3, within(10.0));
    }

    @Test
    void theFastestProtocolIsTaken() {
        Profile both = PLAIN.with(Constant.NCCL_LL_FRACTION, 0.5, "test").with(Constant.NCCL_LL_HOP_US, 1, "test");
        NcclRings rings = circle(both);
        NcclRings.Timing small = rings.time(Collective.ALL_REDUCE, 1024, 1);
        NcclRings.Timing large = rings.time(Collective.ALL_REDUCE, GIB, 1);
        assertThat(small.protocol()).isEqualTo(Protocol.LL);
        assertThat(small.us()).isEqualTo(6 + 1024 * 1.5 / 10e3, within(0.05));
        assertThat(large.protocol()).isEqualTo(Protocol.SIMPLE);
        assertThat(large.us())
                .isEqualTo(circle(PLAIN).time(Collective.ALL_REDUCE, GIB, 1).us());
    }

    /** Each device's link of 450 GB/s carries all data and an eighth more each way. */
    @Test
    void aSwitchThatReducesCarriesAllDataOnce() {
        Profile reducing =
                PLAIN.with(Constant.NCCL_NVLS_BASE_US, 20, "test").with(Constant.NCCL_NVLS_FRACTION, 0.8, "test");
        Machine eight = Samples.preset("dgx-h100");
        NcclRings rings = NcclRings.of(eight, reducing, Transport.PEER);
        NcclRings.Timing large = rings.time(Collective.ALL_REDUCE, GIB, 1);
        assertThat(large).isEqualTo(rings.time(Collective.ALL_REDUCE, GIB, 8));
        assertThat(large.us()).isEqualTo(20 + GIB * 1.125 / 360e3, within(0.1));
        assertThat(large.protocol()).isEqualTo(Protocol.NVLS);
        assertThat(rings.time(Collective.ALL_GATHER, GIB, 1).protocol()).isEqualTo(Protocol.SIMPLE);
        assertThat(NcclRings.of(eight.subset(0, 1), reducing, Transport.PEER)
                        .time(Collective.ALL_REDUCE, GIB, 1)
                        .protocol())
                .as("two devices")
                .isEqualTo(Protocol.SIMPLE);
        assertThat(NcclRings.of(Samples.preset("p3.8xlarge"), reducing, Transport.PEER)
                        .time(Collective.ALL_REDUCE, GIB, 1)
                        .protocol())
                .as("no NVSwitch")
                .isEqualTo(Protocol.SIMPLE);
    }

    /** Published tables of NCCL's small sizes on eight H100 and eight A100; see the reference of the profiles. */
    @ParameterizedTest
    @CsvSource({
        "dgx-h100, 8, 1024, 15.0",
        "dgx-h100, 8, 8192, 15.6",
        "dgx-h100, 8, 16384, 16.0",
        "dgx-h100, 8, 32768, 17.5",
        "dgx-h100, 8, 65536, 17.8",
        "dgx-h100, 8, 131072, 18.2",
        "dgx-h100, 8, 262144, 18.5",
        "dgx-h100, 8, 524288, 19.0",
        "dgx-h100, 8, 1048576, 24.0",
        "dgx-h100, 8, 128, 19.2",
        "dgx-h100, 8, 16384, 20.7",
        "dgx-h100, 8, 65536, 23.1",
        "dgx-h100, 8, 1048576, 32.4",
        "dgx-h100, 4, 524288, 21",
        "dgx-h100, 6, 524288, 23",
        "dgx-h100, 6, 1048576, 25",
        "dgx-a100, 8, 1024, 16.68"
    })
    void smallSizesAreNearPublishedTables(String preset, int devices, long bytes, double us) {
        Machine machine =
                Samples.preset(preset).subset(IntStream.range(0, devices).toArray());
        NcclRings rings = NcclRings.of(machine, Profiles.of(machine), Transport.PEER);
        assertThat(rings.time(Collective.ALL_REDUCE, bytes, 1).us()).isBetween(0.75 * us, 1.25 * us);
    }

    @Test
    void launchesHideWhatIsShorter() {
        NcclRings rings = circle(PLAIN.with(Constant.NCCL_LAUNCH_US, 10, "test"));
        NcclRings.Timing alone = rings.time(Collective.ALL_REDUCE, 4, 1);
        assertThat(alone.us()).isEqualTo(23, within(0.01));
        assertThat(alone.hostBound()).isFalse();
        assertThat(rings.time(Collective.ALL_REDUCE, 4, 4)).isEqualTo(new NcclRings.Timing(40, Protocol.SIMPLE, true));
    }

    /** Through the host both devices of a switch share its way up; peer to peer they don't use it. */
    @Test
    void stagedDataGoUpToTheSocketAndDown() {
        Machine pair = Samples.preset("pcie-4").subset(0, 1);
        double peer = busbw(NcclRings.of(pair, PLAIN, Transport.PEER), Collective.ALL_REDUCE, GIB);
        double host = busbw(NcclRings.of(pair, PLAIN, Transport.HOST), Collective.ALL_REDUCE, GIB);
        assertThat(peer).isEqualTo(12, within(0.1));
        assertThat(host).isEqualTo(6, within(0.1));
        Profile halved = PLAIN.with(Constant.HOST_DUPLEX, 0.5, "test");
        assertThat(busbw(NcclRings.of(pair, halved, Transport.HOST), Collective.ALL_REDUCE, GIB))
                .isEqualTo(3, within(0.1));
        assertThat(busbw(NcclRings.of(pair, halved, Transport.HOST), Collective.BROADCAST, GIB))
                .as("nothing comes back from the second device")
                .isEqualTo(12, within(0.2));
    }

    /** Between sockets 10 GB/s go one way, and slots of 12 GB/s carry a fraction of both ways. */
    @Test
    void fractionOfBothWaysIsOneOfSlotsAndNotOfTheLinkBetweenSockets() {
        Machine pair = Samples.preset("pcie-8").subset(0, 4);
        for (double duplex : new double[] {1, 0.9, 0.5}) {
            Profile profile = PLAIN.with(Constant.HOST_DUPLEX, duplex, "test");
            NcclRings rings = NcclRings.of(pair, profile, Transport.HOST);
            assertThat(busbw(rings, Collective.ALL_REDUCE, GIB)).isEqualTo(Math.min(10, 12 * duplex), within(0.1));
            assertThat(GIB / rings.leastUs(Collective.ALL_REDUCE, GIB) / 1e3).isEqualTo(10, within(0.1));
        }
    }

    @Test
    void stagingLeavesNvlinkOut() {
        NcclRings staged = NcclRings.of(Samples.preset("p3.16xlarge"), PLAIN, Transport.HOST);
        assertThat(busbw(staged, Collective.ALL_REDUCE, GIB)).isLessThan(12);
    }

    /**
     * Compares NCCL's rate with a machine's nominal bandwidth, less losses that are no greater than any that was
     * measured.
     */
    @ParameterizedTest
    @CsvSource({
        "p3.16xlarge, 150",
        "p3.8xlarge, 100",
        "dgx-1p, 80",
        "dgx-2, 150",
        "dgx-a100, 300",
        "dgx-h100, 481",
        "pcie-4, 12",
        "pcie-8, 10"
    })
    void everyPresetIsNearItsRings(String preset, double nominal) {
        assertThat(busbw(of(preset), Collective.ALL_REDUCE, GIB)).isBetween(0.6 * nominal, nominal);
    }

    /** Up to how few bytes are shared out to rings and pieces. */
    @ParameterizedTest
    @ValueSource(strings = {"p3.16xlarge", "dgx-a100", "pcie-8"})
    void moreDataNeverTakeLess(String preset) {
        NcclRings rings = of(preset);
        for (Collective collective : Collective.values()) {
            double before = 0;
            for (long bytes = 4; bytes <= GIB; bytes *= 4) {
                double us = rings.time(collective, bytes, 1).us();
                assertThat(us).as("%s of %d bytes", collective, bytes).isGreaterThan(before - 0.1);
                before = us;
            }
        }
    }

    @Test
    void sameInputGivesSameResult() {
        assertThat(of("p3.16xlarge").time(Collective.ALL_REDUCE, 12_345_678, 8))
                .isEqualTo(of("p3.16xlarge").time(Collective.ALL_REDUCE, 12_345_678, 8));
    }

    @Test
    void whatMakesNoSenseIsRefused() {
        Machine machine = Samples.preset("p3.8xlarge");
        assertThatThrownBy(() ->
                        NcclRings.of(machine, PLAIN.with(Constant.NCCL_SIMPLE_FRACTION, 0, "test"), Transport.PEER))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("profile ideal lets NCCL use no protocol; give nccl.simpleFraction a value above 0");
        assertThatThrownBy(() -> NcclRings.of(
                        Samples.machine(2, 0, Link.duplex(0, 1, Link.Kind.NVLINK, 1, 25, 0)), PLAIN, Transport.HOST))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage(
                        "test describes no path from each device to the host's memory; describe its PCIe switches and"
                                + " CPU sockets");
        assertThatThrownBy(() -> of("p3.8xlarge").time(Collective.ALL_REDUCE, -1, 1))
                .isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> of("p3.8xlarge").time(Collective.ALL_REDUCE, 1, 5))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("processes have 1 to 4 devices");
    }
}

package dev.banyan.study.measured;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.withinPercentage;

import dev.banyan.export.NcclChains;
import dev.banyan.export.NcclLimits;
import dev.banyan.export.NcclSearch;
import dev.banyan.export.RingChannels;
import dev.banyan.schedule.type.Collective;
import dev.banyan.simulate.Profile;
import dev.banyan.simulate.Profiles;
import dev.banyan.simulate.internal.nccl.NcclRings;
import dev.banyan.simulate.internal.nccl.Transport;
import dev.banyan.topology.Machine;
import dev.banyan.topology.format.MachineReader;
import dev.banyan.topology.option.MatrixUnit;
import dev.banyan.topology.option.StatedSpeeds;
import dev.banyan.trees.ring.RingSet;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class NcclRatesTest {
    private static final long LARGE = 1L << 44;

    private static Machine twoSockets(double socketGbs) {
        StatedSpeeds speeds = new StatedSpeeds(4, 16, 0, socketGbs, "", StatedSpeeds.PeerAccess.YES);
        return new MachineReader(MatrixUnit.CLASSES, speeds).parse("four.txt", """
            GPU0 GPU1 GPU2 GPU3
            GPU0 X NODE SYS SYS
            GPU1 NODE X SYS SYS
            GPU2 SYS SYS X NODE
            GPU3 SYS SYS NODE X
            """);
    }

    /** The gain that export prints and the rates that predictions show rest on the same numbers. */
    @ParameterizedTest
    @CsvSource({"10", "20", "60"})
    void ratesAreThoseOfLargePredictedCalls(double socketGbs) {
        Machine machine = twoSockets(socketGbs);
        Profile profile = Profiles.of(machine);
        NcclRates rates = new NcclRates(machine, profile);
        RingSet rings = RingSet.of(machine, 0, 1, 2, 3).orElseThrow();
        RingChannels channels = RingChannels.of(rings, NcclLimits.ANY.channels());
        NcclRings alone = NcclRings.of(machine, profile, Transport.PEER);
        assertThat(algbw(alone)).isCloseTo(rates.ofRings(channels.orders()), withinPercentage(1));
        NcclChains chains = NcclChains.of(machine, channels);
        assertThat(algbw(alone.withTrees(chains.orders(), NcclChains.EXPECTED)))
                .isCloseTo(
                        Math.max(rates.ofRings(channels.orders()), rates.ofChains(chains.orders())),
                        withinPercentage(1));
        List<NcclSearch> found = NcclSearch.of(machine, List.of(socketGbs));
        assertThat(rates.least(found)).isLessThanOrEqualTo(rates.most(found));
        if (socketGbs == 10) {
            assertThat(rates.least(found))
                    .as("one ring fills the link between the sockets")
                    .isEqualTo(rates.most(found));
        }
    }

    private static double algbw(NcclRings nccl) {
        return LARGE / nccl.time(Collective.ALL_REDUCE, LARGE, 1).us() / 1e3;
    }
}

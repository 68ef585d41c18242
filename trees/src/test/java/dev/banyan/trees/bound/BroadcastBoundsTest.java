package dev.banyan.trees.bound;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.banyan.topology.Machine;
import dev.banyan.trees.Cuts;
import dev.banyan.trees.Networks;
import dev.banyan.trees.network.Network;
import java.util.Random;
import org.apache.commons.numbers.fraction.BigFraction;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** {@link RootBound} and {@link GatherBound}. */
class BroadcastBoundsTest {
    @Test
    void equalTheLeastOfAllCuts() {
        Random random = new Random(1);
        for (int i = 0; i < 60; i++) {
            check(Network.of(Networks.random(random, 2 + random.nextInt(8), 6)));
            Machine hubs = Networks.randomWithHubs(random, 2 + random.nextInt(6), 1 + random.nextInt(4), 6);
            check(Network.of(hubs));
            check(Network.of(Networks.unevenly(random, hubs, 6)));
        }
    }

    private static void check(Network network) {
        Network reversed = network.reversed();
        for (int root = 0; root < network.ranks(); root++) {
            Bound broadcast = RootBound.broadcast(network, root);
            assertThat(broadcast.gbs()).isEqualTo(Cuts.broadcast(network, root));
            Cuts.checkRooted(network, broadcast, root, false);
            Bound reduce = RootBound.reduce(network, root);
            assertThat(reduce.gbs()).isEqualTo(Cuts.broadcast(reversed, root));
            Cuts.checkRooted(network, reduce, root, true);
        }
        Bound allGather = GatherBound.allGather(network);
        assertThat(allGather.gbs()).isEqualTo(Cuts.allGather(network));
        Cuts.checkGather(network, allGather, false);
        Bound reduceScatter = GatherBound.reduceScatter(network);
        assertThat(reduceScatter.gbs()).isEqualTo(Cuts.allGather(reversed));
        Cuts.checkGather(network, reduceScatter, true);
    }

    /** b for a broadcast and b n / (n - 1) for an allgather where each device has b GB/s to one switch. */
    @ParameterizedTest
    @CsvSource({"dgx-2,150", "dgx-a100,300", "dgx-h100,450"})
    void throughOneSwitch(String preset, int gbs) {
        Network network = Network.of(Networks.preset(preset));
        int n = network.ranks();
        assertThat(RootBound.broadcast(network, 1).gbs()).isEqualTo(BigFraction.of(gbs));
        assertThat(GatherBound.allGather(network).gbs()).isEqualTo(BigFraction.of(gbs * n, n - 1));
    }

    @Test
    void onP3() {
        Network network = Network.of(Networks.preset("p3.16xlarge"));
        for (int root = 0; root < 8; root++) {
            assertThat(RootBound.broadcast(network, root).gbs()).isEqualTo(BigFraction.of(150));
            assertThat(RootBound.reduce(network, root).gbs()).isEqualTo(BigFraction.of(150));
        }
        assertThat(GatherBound.allGather(network).gbs()).isEqualTo(Cuts.allGather(network));
        assertThat(GatherBound.reduceScatter(network).gbs()).isEqualTo(Cuts.allGather(network));
    }

    @Test
    void betweenTwoDevicesOneWayEach() {
        Machine machine = Networks.unevenly(new Random(3), Networks.direct(2, new int[] {0, 1, 5}), 100);
        Network network = Network.of(machine);
        double forth = machine.links().getFirst().gbsAToB();
        double back = machine.links().getFirst().gbsBToA();
        assertThat(forth).isNotEqualTo(back);
        assertThat(RootBound.broadcast(network, 0).gbs().doubleValue()).isEqualTo(forth);
        assertThat(RootBound.reduce(network, 0).gbs().doubleValue()).isEqualTo(back);
        assertThat(GatherBound.allGather(network).gbs().doubleValue()).isEqualTo(2 * Math.min(forth, back));
    }

    @Test
    void refuseARootThatIsNoRank() {
        Network network = Network.of(Networks.preset("dgx-a100"));
        assertThatThrownBy(() -> RootBound.broadcast(network, 8)).hasMessageContaining("its ranks are 0..7");
        assertThatThrownBy(() -> RootBound.reduce(network, -1)).hasMessageContaining("root -1");
    }
}

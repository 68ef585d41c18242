package dev.banyan.trees.bound;

import static org.assertj.core.api.Assertions.assertThat;

import dev.banyan.topology.Device;
import dev.banyan.topology.Hub;
import dev.banyan.topology.Link;
import dev.banyan.topology.Machine;
import dev.banyan.trees.Networks;
import dev.banyan.trees.network.Network;
import dev.banyan.trees.packing.allreduce.AllReducePacking;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.IntStream;
import org.apache.commons.numbers.fraction.BigFraction;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class SwitchReductionBoundTest {
    @ParameterizedTest
    @CsvSource({
        "dgx-h100, 8, 450",
        "dgx-h100, 4, 450",
        "dgx-h100, 3, 450",
        "h200, 8, 450",
        "dgx-b200, 8, 900",
        "gb200-tray, 4, 900"
    })
    void throughOneSwitchEachDevicesOwnDataCrossItsLinkToo(String preset, int devices, int gbs) {
        Network network =
                Network.of(Networks.preset(preset), IntStream.range(0, devices).toArray());
        Bound bound = SwitchReductionBound.of(network).orElseThrow();
        assertThat(bound.gbs()).isEqualTo(BigFraction.of((long) gbs * devices, devices + 1));
        assertThat(price(network, bound)).isEqualTo(bound.gbs());
        assertThat(AllReduceBound.of(network).gbs())
                .isEqualTo(BigFraction.of((long) gbs * devices, 2L * (devices - 1)));
    }

    private static BigFraction price(Network network, Bound bound) {
        return ((Certificate.Prices) bound.certificate())
                .prices().entrySet().stream()
                        .map(price -> price.getValue().multiply(network.capacity(price.getKey())))
                        .reduce(BigFraction.ZERO, BigFraction::add)
                        .multiply(network.unitGbs());
    }

    /** Two devices gain nothing: each sends its data to the other one. */
    @Test
    void twoDevicesDoWithoutTheSwitch() {
        Network network = Network.of(Networks.preset("dgx-h100"), new int[] {0, 1});
        assertThat(SwitchReductionBound.of(network).orElseThrow().gbs()).isEqualTo(BigFraction.of(450));
    }

    @Test
    void otherSwitchesOnlyForward() {
        for (String preset : List.of("dgx-a100", "dgx-2", "pcie-8", "mi300x8")) {
            assertThat(SwitchReductionBound.of(Network.of(Networks.preset(preset))))
                    .isEmpty();
        }
    }

    @Test
    void isTheLesserLimitAndNoLessThanTheBoundOfForwarding() {
        Random random = new Random(20251);
        int cuts = 0;
        for (int i = 0; i < 100; i++) {
            Network network = Network.of(machine(random, 2 + random.nextInt(5), 1 + random.nextInt(2)));
            Bound bound = SwitchReductionBound.of(network).orElseThrow();
            BigFraction cut = network.unitGbs().multiply(leastCut(network));
            if (bound.certificate() instanceof Certificate.Cut) {
                assertThat(bound.gbs()).isEqualTo(cut);
                cuts++;
            } else {
                assertThat(bound.gbs()).isEqualTo(price(network, bound)).isLessThan(cut);
            }
            assertThat(AllReducePacking.of(network).rateGbs()).isLessThanOrEqualTo(bound.gbs());
        }
        assertThat(cuts).isBetween(1, 99);
    }

    /** Over all sets of nodes. */
    private static long leastCut(Network network) {
        long least = Long.MAX_VALUE;
        int ranks = (1 << network.ranks()) - 1;
        for (int set = 1; set < 1 << network.nodes(); set++) {
            int inside = set;
            if ((inside & ranks) != 0 && (inside & ranks) != ranks) {
                long leaving = IntStream.range(0, network.arcs())
                        .filter(arc -> (inside >> network.from(arc) & 1) != 0 && (inside >> network.to(arc) & 1) == 0)
                        .mapToLong(network::capacity)
                        .sum();
                least = Math.min(least, leaving);
            }
        }
        return least;
    }

    /** Devices on NVSwitches that reduce, with links of their own each way and some between the devices. */
    private static Machine machine(Random random, int devices, int switches) {
        List<Link> links = new ArrayList<>();
        for (int device = 0; device < devices; device++) {
            for (int hub = devices; hub < devices + switches; hub++) {
                links.add(link(random, device, hub));
            }
            if (device > 0 && random.nextInt(3) == 0) {
                links.add(link(random, device, random.nextInt(device)));
            }
        }
        return new Machine(
                "reducing",
                IntStream.range(0, devices)
                        .mapToObj(device -> Device.named("GPU" + device))
                        .toList(),
                IntStream.range(0, switches)
                        .mapToObj(hub -> new Hub("NVSwitch " + hub, Hub.Kind.NVSWITCH, true, Map.of()))
                        .toList(),
                links,
                List.of(),
                List.of());
    }

    private static Link link(Random random, int a, int b) {
        return new Link(a, b, Link.Kind.NVLINK, 1, 1 + random.nextInt(20), 1 + random.nextInt(20), 1);
    }
}

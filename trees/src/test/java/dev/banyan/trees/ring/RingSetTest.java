package dev.banyan.trees.ring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import dev.banyan.topology.Machine;
import dev.banyan.trees.Networks;
import dev.banyan.trees.network.Network;
import dev.banyan.trees.ring.RingSet.Ring;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.stream.IntStream;
import org.apache.commons.numbers.fraction.BigFraction;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.ojalgo.optimisation.Expression;
import org.ojalgo.optimisation.ExpressionsBasedModel;
import org.ojalgo.optimisation.Variable;

class RingSetTest {
    /** Figures of the machines: lanes x GB/s per device and n/(n-1), or through a switch half of that. */
    @ParameterizedTest
    @CsvSource({
        "p3.16xlarge, 600/7",
        "dgx-1p, 320/7",
        "dgx-2, 80",
        "dgx-a100, 1200/7",
        "p3.8xlarge, 200/3",
    })
    void reachesTheRateOfTheMachine(String preset, String rate) {
        RingSet rings = RingSet.of(Network.of(Networks.preset(preset))).orElseThrow();
        assertThat(rings.rateGbs()).isEqualTo(BigFraction.parse(rate.contains("/") ? rate : rate + "/1"));
        assertSound(rings);
    }

    @Test
    void twoAndThreeDevices() {
        Machine pair = Networks.direct(2, new int[] {0, 1, 30});
        RingSet two = RingSet.of(Network.of(pair)).orElseThrow();
        assertThat(two.rateGbs()).isEqualTo(BigFraction.of(30));
        Machine triangle = Networks.direct(3, new int[] {0, 1, 20}, new int[] {1, 2, 30}, new int[] {0, 2, 40});
        RingSet three = RingSet.of(Network.of(triangle)).orElseThrow();
        assertThat(three.rateGbs()).isEqualTo(BigFraction.of(30));
        assertThat(three.rings()).containsExactly(new Ring(List.of(0, 1, 2), BigFraction.ONE));
    }

    @Test
    void noRingOverNvlinkGoesOverAllLinks() {
        Machine machine = Networks.preset("p3.16xlarge");
        int[] group = {0, 1, 2, 5};
        assertThat(RingSet.of(Network.of(machine, group))).isEmpty();
        RingSet rings = RingSet.of(machine, group).orElseThrow();
        assertThat(rings.network().joinedByNvlink()).isFalse();
        assertThat(rings.rateGbs().doubleValue()).isPositive();
        assertSound(rings);
        Machine path = Networks.direct(3, new int[] {0, 1, 1}, new int[] {1, 2, 1});
        assertThat(RingSet.of(Network.of(path))).isEmpty();
    }

    /** The published count: 104 of the 181 connected sets of p3.16xlarge have no ring of NVLinks. */
    @Test
    void countsTheSetsOfP3WithoutARing() {
        Machine machine = Networks.preset("p3.16xlarge");
        int connected = 0;
        int without = 0;
        for (int[] group : Networks.subsets(8, 3)) {
            Network network = Network.of(machine, group);
            if (network.joinedByNvlink()) {
                connected++;
                Optional<RingSet> rings = RingSet.of(network);
                without += rings.isEmpty() ? 1 : 0;
                rings.ifPresent(RingSetTest::assertSound);
                assertThat(rings.isPresent()).isEqualTo(!cycles(network).isEmpty());
            }
        }
        assertThat(connected).isEqualTo(181);
        assertThat(without).isEqualTo(104);
    }

    /** Against a linear program over all rings, enumerated one by one, without hubs. */
    @Test
    void noSetOfRingsIsFaster() {
        Random random = new Random(7);
        int found = 0;
        for (int i = 0; i < 120; i++) {
            Network network = Network.of(Networks.random(random, 3 + random.nextInt(5), 6));
            List<int[]> cycles = cycles(network);
            Optional<RingSet> rings = RingSet.of(network);
            assertThat(rings.isPresent()).isEqualTo(!cycles.isEmpty());
            if (rings.isPresent()) {
                found++;
                assertSound(rings.get());
                assertThat(rings.get().rateGbs().doubleValue()).isCloseTo(enumerated(network, cycles), within(1e-7));
            }
        }
        assertThat(found).isGreaterThan(40);
    }

    @Test
    void manyDevicesGetRingsOneByOne() {
        int n = 24;
        List<int[]> links = new ArrayList<>();
        for (int b = 0; b < n; b++) {
            for (int a = 0; a < b; a++) {
                links.add(new int[] {a, b, 10});
            }
        }
        RingSet rings = RingSet.of(Network.of(Networks.direct(n, links.toArray(int[][]::new))))
                .orElseThrow();
        assertSound(rings);
        assertThat(rings.rings()).hasSizeGreaterThan(5);
        assertThat(rings.rateGbs().doubleValue()).isBetween(5 * 10.0 * n / (n - 1), 11.5 * 10.0 * n / (n - 1));
    }

    @Test
    void sameRingsEveryTime() {
        Network network = Network.of(Networks.preset("mi250x8"));
        assertThat(RingSet.of(network).orElseThrow().rings())
                .isEqualTo(RingSet.of(network).orElseThrow().rings());
    }

    /** All ranks once, shares that sum to 1, and no arc that the stated rate overloads. */
    private static void assertSound(RingSet rings) {
        int n = rings.network().ranks();
        BigFraction sum = BigFraction.ZERO;
        for (Ring ring : rings.rings()) {
            assertThat(ring.order())
                    .hasSize(n)
                    .startsWith(0)
                    .containsExactlyInAnyOrderElementsOf(
                            IntStream.range(0, n).boxed().toList());
            assertThat(ring.share().signum()).isPositive();
            sum = sum.add(ring.share());
        }
        assertThat(sum).isEqualTo(BigFraction.ONE);
        if (rings.network().direct()) {
            assertThat(rings.rateGbs().doubleValue()).isCloseTo(rateOfDirect(rings), within(1e-9));
        }
    }

    private static double rateOfDirect(RingSet rings) {
        Network network = rings.network();
        int n = network.ranks();
        double[] load = new double[network.arcs()];
        for (Ring ring : rings.rings()) {
            for (int i = 0; i < n; i++) {
                int a = ring.order().get(i);
                int b = ring.order().get((i + 1) % n);
                load[network.arc(a, b)] += ring.share().doubleValue() * (n - 1) / n;
                load[network.arc(b, a)] += ring.share().doubleValue() * (n - 1) / n;
            }
        }
        return IntStream.range(0, load.length)
                .mapToDouble(arc -> load[arc] == 0 ? Double.POSITIVE_INFINITY : network.gbs(arc) / load[arc])
                .min()
                .orElseThrow();
    }

    private static List<int[]> cycles(Network network) {
        List<int[]> cycles = new ArrayList<>();
        int[] ring = new int[network.ranks()];
        extend(network, ring, 1, cycles);
        return cycles;
    }

    private static void extend(Network network, int[] ring, int length, List<int[]> cycles) {
        int n = ring.length;
        if (length == n) {
            if (network.arc(ring[n - 1], 0) >= 0 && ring[1] < ring[n - 1]) {
                cycles.add(ring.clone());
            }
            return;
        }
        for (int next = 1; next < n; next++) {
            int device = next;
            boolean placed = Arrays.stream(ring, 1, length).anyMatch(other -> other == device);
            if (!placed && network.arc(ring[length - 1], next) >= 0) {
                ring[length] = next;
                extend(network, ring, length + 1, cycles);
            }
        }
    }

    private static double enumerated(Network network, List<int[]> cycles) {
        ExpressionsBasedModel model = new ExpressionsBasedModel();
        int n = network.ranks();
        Expression[] edges = new Expression[n * n];
        for (int arc = 0; arc < network.arcs(); arc++) {
            edges[network.from(arc) * n + network.to(arc)] =
                    model.newExpression("arc" + arc).upper(network.gbs(arc));
        }
        for (int[] cycle : cycles) {
            Variable width = model.newVariable(Arrays.toString(cycle)).lower(0).weight(1);
            for (int i = 0; i < n; i++) {
                edges[cycle[i] * n + cycle[(i + 1) % n]].set(width, 1);
                edges[cycle[(i + 1) % n] * n + cycle[i]].set(width, 1);
            }
        }
        return model.maximise().getValue() * n / (n - 1);
    }
}

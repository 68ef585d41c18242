package dev.banyan.topology;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Arrays;
import java.util.List;
import org.assertj.core.data.Offset;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

class PresetsTest {
    /** Lanes between devices, both ways, from the direct links. */
    private static int[][] lanes(Machine machine) {
        int[][] lanes = new int[machine.size()][machine.size()];
        for (Link link : machine.links()) {
            if (link.a() < machine.size() && link.b() < machine.size()) {
                lanes[link.a()][link.b()] += link.lanes();
                lanes[link.b()][link.a()] += link.lanes();
            }
        }
        return lanes;
    }

    private static Machine machine(String name) {
        return Machine.preset(name);
    }

    @ParameterizedTest
    @CsvSource({
        "p3.16xlarge, 8",
        "DGX-1V, 8",
        "p3.8xlarge, 4",
        "p2.16xlarge, 16",
        "dgx-1p, 8",
        "dgx-2, 16",
        "dgx-a100, 8",
        "P4d.24xlarge, 8",
        "dgx-h100, 8",
        "p5.48xlarge, 8",
        "p4de.24xlarge, 8",
        "h200, 8",
        "dgx-b200, 8",
        "gb200-tray, 4",
        "gb200-nvl4, 4",
        "mi300x8, 8",
        "g5.48xlarge, 8",
        "l40sx8, 8",
        "rtx4090x8, 8",
        "mi250x8, 16",
        "pcie-4, 4",
        "pcie-8, 8",
    })
    void findsEveryNameInAnyCase(String name, int devices) {
        assertThat(machine(name).size()).isEqualTo(devices);
    }

    @Test
    void aliasesNameTheSameMachine() {
        assertThat(machine("dgx-1v")).isSameAs(machine("p3.16xlarge"));
        assertThat(machine("p4d.24xlarge")).isSameAs(machine("dgx-a100"));
        assertThat(machine("p5.48xlarge")).isSameAs(machine("dgx-h100"));
        assertThat(Presets.find("p9.64xlarge")).isEmpty();
    }

    @ParameterizedTest
    @CsvSource({"p3.16xlrge, p3.16xlarge", "A100, dgx-a100"})
    void messageOnAnUnknownNameHasSimilarOnes(String name, String similar) {
        assertThatThrownBy(() -> Machine.preset(name))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageStartingWith("no preset is called '%s' (did you mean %s", name, similar)
                .hasMessageEndingWith("?); Presets.names() lists all");
    }

    static List<Machine> all() {
        return Presets.all();
    }

    @ParameterizedTest
    @MethodSource("all")
    void isSound(Machine machine) {
        assertThat(Presets.find(machine.name())).containsSame(machine);
        assertThat(Presets.names()).contains(machine.name()).doesNotHaveDuplicates();
        assertThat(machine.warnings()).isEmpty();
        boolean[] seen = new boolean[machine.nodeCount()];
        reach(machine, 0, seen);
        assertThat(seen).as("all nodes are connected").doesNotContain(false);
        for (int device = 0; device < machine.size(); device++) {
            int at = device;
            assertThat(machine.links().stream().filter(l -> l.kind() == Link.Kind.PCIE && (l.a() == at || l.b() == at)))
                    .as("PCIe links of device %d", device)
                    .hasSize(1);
        }
    }

    /** GeForce 4090 and the A10G of AWS have no peer access; V100 and P100 in a mesh have it where NVLinks are. */
    @ParameterizedTest
    @MethodSource("all")
    void peerAccessIsThatOfTheDriver(Machine machine) {
        int[][] lanes = lanes(machine);
        for (int a = 0; a < machine.size(); a++) {
            for (int b = 0; b < a; b++) {
                assertThat(NoPeerAccess.between(machine, a, b))
                        .as("%d and %d", a, b)
                        .isEqualTo(
                                switch (machine.name()) {
                                    case "rtx4090x8", "g5.48xlarge" -> true;
                                    case "p3.16xlarge", "dgx-1p" -> lanes[a][b] == 0;
                                    default -> false;
                                });
            }
        }
    }

    private static void reach(Machine machine, int node, boolean[] seen) {
        seen[node] = true;
        for (Link link : machine.links()) {
            if ((link.a() == node || link.b() == node) && !seen[link.other(node)]) {
                reach(machine, link.other(node), seen);
            }
        }
    }

    @Test
    void p316xlargeIsTheHybridCubeMesh() {
        int[][] lanes = lanes(machine("p3.16xlarge"));
        assertThat(lanes[0]).containsExactly(0, 1, 1, 2, 2, 0, 0, 0);
        assertThat(lanes[6]).containsExactly(0, 0, 1, 0, 1, 2, 0, 2);
        assertThat(Arrays.stream(lanes).map(row -> Arrays.stream(row).sum())).containsOnly(6);
        int[][] quad = lanes(machine("p3.8xlarge"));
        for (int a = 0; a < 4; a++) {
            assertThat(quad[a]).isEqualTo(Arrays.copyOf(lanes[a], 4));
        }
    }

    @ParameterizedTest
    @CsvSource({"p3.16xlarge, 85.714286", "dgx-1p, 45.714286", "mi300x8, 256", "gb200-nvl4, 600"})
    void packsToTheKnownOptimum(String name, double tau) {
        assertThat(bestOverPartitions(machine(name), 1)).isCloseTo(tau, Offset.offset(1e-5));
    }

    /**
     * A partition that splits a package crosses 200 GB/s more for one part more, which is above the
     * optimum, so the critical partition keeps packages whole and eight parts are enough to look at.
     */
    @Test
    void mi250x8PacksToTheKnownOptimum() {
        Machine machine = machine("mi250x8");
        int[][] lanes = lanes(machine);
        for (int first = 0; first < 16; first += 2) {
            int external = Arrays.stream(lanes[first]).sum()
                    + Arrays.stream(lanes[first + 1]).sum();
            assertThat(lanes[first][first + 1]).isEqualTo(4);
            assertThat(external - 8).as("lanes out of package %d", first / 2).isEqualTo(6);
        }
        double tau = bestOverPartitions(machine, 2);
        assertThat(tau).isCloseTo(1200.0 / 7, Offset.offset(1e-9)).isLessThan(200);
    }

    @ParameterizedTest
    @CsvSource({
        "dgx-2, 6, 150, false",
        "dgx-a100, 12, 300, false",
        "dgx-h100, 18, 450, true",
        "h200, 18, 450, true",
        "dgx-b200, 18, 900, true",
        "gb200-tray, 18, 900, true"
    })
    void everyDeviceReachesTheNvSwitchAtFullWidth(String name, int lanes, double gbs, boolean reduces) {
        Machine machine = machine(name);
        assertThat(machine.hubs().stream().filter(hub -> hub.kind() == Hub.Kind.NVSWITCH))
                .singleElement()
                .satisfies(hub -> assertThat(hub.reduces()).isEqualTo(reduces));
        for (int device = 0; device < machine.size(); device++) {
            int at = device;
            assertThat(machine.links().stream()
                            .filter(l -> l.kind() == Link.Kind.NVLINK && (l.a() == at || l.b() == at)))
                    .singleElement()
                    .satisfies(link -> {
                        assertThat(link.lanes()).isEqualTo(lanes);
                        assertThat(link.gbsFrom(at)).isEqualTo(gbs);
                        assertThat(link.gbsFrom(link.other(at))).isEqualTo(gbs);
                        assertThat(machine.node(link.other(at)))
                                .isInstanceOfSatisfying(
                                        Hub.class, h -> assertThat(h.kind()).isEqualTo(Hub.Kind.NVSWITCH));
                    });
        }
    }

    /** min over partitions of crossing GB/s / (parts - 1), where {@code group} neighbours stay together. */
    private static double bestOverPartitions(Machine machine, int group) {
        int n = machine.size() / group;
        double[][] gbs = new double[n][n];
        for (Link link : machine.links()) {
            if (link.a() < machine.size() && link.b() < machine.size() && link.a() / group != link.b() / group) {
                gbs[link.a() / group][link.b() / group] += link.gbsAToB();
                gbs[link.b() / group][link.a() / group] += link.gbsBToA();
            }
        }
        return best(gbs, new int[n], 1, 1);
    }

    private static double best(double[][] gbs, int[] part, int next, int parts) {
        int n = part.length;
        if (next == n) {
            if (parts == 1) {
                return Double.POSITIVE_INFINITY;
            }
            double crossing = 0;
            for (int a = 0; a < n; a++) {
                for (int b = a + 1; b < n; b++) {
                    crossing += part[a] == part[b] ? 0 : gbs[a][b];
                }
            }
            return crossing / (parts - 1);
        }
        double best = Double.POSITIVE_INFINITY;
        for (int p = 0; p <= parts; p++) {
            part[next] = p;
            best = Math.min(best, best(gbs, part, next + 1, Math.max(parts, p + 1)));
        }
        return best;
    }
}

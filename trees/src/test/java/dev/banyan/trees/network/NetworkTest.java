package dev.banyan.trees.network;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.banyan.topology.Link;
import dev.banyan.topology.LinkMatrix;
import dev.banyan.topology.Machine;
import dev.banyan.topology.NoPeerAccess;
import dev.banyan.trees.Networks;
import dev.banyan.trees.packing.TreePacking;
import dev.banyan.trees.packing.allreduce.AllReducePacking;
import java.util.List;
import java.util.function.BiPredicate;
import java.util.stream.IntStream;
import org.apache.commons.numbers.fraction.BigFraction;
import org.junit.jupiter.api.Test;

class NetworkTest {
    @Test
    void takesNvLinksAloneWhereTheyJoinAllRanks() {
        Network network = Network.of(Networks.preset("p3.16xlarge"));
        assertThat(network.ranks()).isEqualTo(8);
        assertThat(network.direct()).isTrue();
        assertThat(network.symmetric()).isTrue();
        assertThat(network.joinedByNvlink()).isTrue();
        assertThat(network.leavesOutLinks()).isTrue();
        assertThat(network.arcs()).isEqualTo(32);
        assertThat(network.unitGbs().doubleValue()).isEqualTo(25);
        assertThat(network.capacity(network.arc(0, 3))).isEqualTo(2);
        assertThat(network.arc(0, 5)).isEqualTo(-1);
    }

    @Test
    void takesAllLinksWhereNvLinksDoNotJoinAllRanks() {
        Network network = Network.of(Networks.preset("p3.16xlarge"), new int[] {0, 1, 6});
        assertThat(network.joinedByNvlink()).isFalse();
        assertThat(network.direct()).isFalse();
        assertThat(network.arc(0, 1)).isNotNegative();
    }

    @Test
    void describedLinksAreAllLinks() {
        Machine p3 = Networks.preset("p3.16xlarge");
        Network network = Network.ofDescribedLinks(p3, new int[] {0, 1, 2, 3, 4, 5, 6, 7});
        assertThat(network.joinedByNvlink()).isFalse();
        assertThat(network.leavesOutLinks()).isFalse();
        assertThat(network.arcs()).isEqualTo(2 * p3.links().size());
        Network quad = Network.ofDescribedLinks(p3, new int[] {0, 1, 2, 3}, 4);
        assertThat(quad.node(4).kind()).isEqualTo(Network.Kind.RELAY);
    }

    /** Four GPUs, two below each switch of a socket: 12 GB/s up from a switch carry half of the 12 + 12 of its GPUs. */
    @Test
    void dataTurnAroundInHostMemoryWithoutPeerAccess() {
        Machine granted = Networks.preset("pcie-4");
        Network usual = Network.of(granted);
        Network refused = Network.of(withoutAccess(granted, (a, b) -> true));
        assertThat(names(refused)).hasSize(names(usual).size() + 2).containsAll(names(usual));
        assertThat(refused.arcs()).isEqualTo(usual.arcs());
        for (int rank = 0; rank < 4; rank++) {
            assertThat(refused.firstOut(rank + 1) - refused.firstOut(rank)).isOne();
            int up = refused.to(refused.firstOut(rank));
            assertThat(refused.arc(up, rank)).isEqualTo(-1);
            assertThat(refused.gbs(refused.firstOut(rank))).isEqualTo(12);
        }
        assertThat(AllReducePacking.of(usual).rateGbs()).isEqualTo(BigFraction.of(8));
        TreePacking packing = AllReducePacking.of(refused);
        assertThat(packing.rateGbs()).isEqualTo(BigFraction.of(4));
        assertThat(packing.ratio()).isEqualTo(BigFraction.ONE);
        Network all = Network.ofAllLinks(withoutAccess(granted, (a, b) -> true), 0, 1, 2, 3);
        assertThat(packing.linksOn(all))
                .allSatisfy(link -> assertThat(link.paths())
                        .allSatisfy(path -> assertThat(path.nodes().stream()
                                        .map(node -> all.node(node).kind()))
                                .contains(Network.Kind.SOCKET)));
    }

    @Test
    void aSwitchWhereSomePairHasAccessStaysOneNode() {
        Machine granted = Networks.preset("pcie-4");
        Network usual = Network.of(granted);
        assertThat(names(Network.of(withoutAccess(granted, (a, b) -> a / 2 != b / 2))))
                .as("pairs of different switches meet at the socket")
                .isEqualTo(names(usual));
        assertThat(names(Network.of(withoutAccess(granted, (a, b) -> a + b > 1))))
                .as("the first two have access")
                .hasSize(names(usual).size() + 1);
    }

    /** Four switches with two GPUs each, two of them below each of two more. */
    @Test
    void switchesBelowSwitchesAreTwiceTheirPartsAsWell() {
        Machine dgx2 = Networks.preset("dgx-2");
        List<Link> pcie = dgx2.links().stream()
                .filter(link -> !link.kind().isNvLinkClass())
                .toList();
        Machine machine = new Machine("dgx-2", dgx2.devices(), dgx2.hubs(), pcie, List.of(), List.of());
        Network usual = Network.of(machine);
        Network refused = Network.of(withoutAccess(machine, (a, b) -> true));
        long switches = IntStream.range(0, usual.nodes())
                .filter(node -> usual.node(node).kind() == Network.Kind.HUB)
                .count();
        assertThat(names(refused)).hasSize((int) (names(usual).size() + switches));
        Network pairs = Network.of(withoutAccess(machine, (a, b) -> a / 2 == b / 2));
        assertThat(names(pairs))
                .as("the upper switches join pairs that have access")
                .hasSize((int) (names(usual).size() + switches - 4));
    }

    private static Machine withoutAccess(Machine machine, BiPredicate<Integer, Integer> refused) {
        Machine marked = machine;
        for (int a = 0; a < machine.size(); a++) {
            for (int b = 0; b < a; b++) {
                if (refused.test(b, a)) {
                    marked = NoPeerAccess.mark(marked, b, a);
                }
            }
        }
        return marked;
    }

    private static List<String> names(Network network) {
        return IntStream.range(0, network.nodes())
                .mapToObj(node -> network.node(node).name())
                .toList();
    }

    @Test
    void linksOfUnknownTechnologyStay() {
        List<Link> links = List.of(
                Link.duplex(0, 1, Link.Kind.NVLINK, 1, 50, 1),
                Link.duplex(1, 2, Link.Kind.NVLINK, 1, 50, 1),
                Link.duplex(0, 2, Link.Kind.OTHER, 1, 12, 1));
        Network network = Network.of(Networks.machine("matrix", 3, 0, links));
        assertThat(network.joinedByNvlink()).isTrue();
        assertThat(network.leavesOutLinks()).isFalse();
        assertThat(network.gbs(network.arc(0, 2))).isEqualTo(12);
    }

    @Test
    void knowsWhetherItsSwitchesReduce() {
        assertThat(Network.of(Networks.preset("dgx-h100")).switchesReduce()).isTrue();
        assertThat(Network.of(Networks.preset("dgx-a100")).switchesReduce()).isFalse();
        assertThat(Network.of(Networks.preset("dgx-h100")).reversed().switchesReduce())
                .isTrue();
    }

    @Test
    void relaysForward() {
        Network network = Network.of(Networks.preset("p3.16xlarge"), new int[] {0, 1, 6}, 2);
        assertThat(network.joinedByNvlink()).isTrue();
        assertThat(network.nodes()).isEqualTo(4);
        assertThat(network.node(3)).isEqualTo(new Network.Node(2, "GPU2", Network.Kind.RELAY));
    }

    @Test
    void relaysThatJoinNothingAreLeftOut() {
        assertThat(Network.of(Networks.preset("p3.16xlarge"), new int[] {0, 1, 2, 3}, 7)
                        .direct())
                .isTrue();
    }

    @Test
    void oneNvSwitchIsOneHub() {
        Network network = Network.of(Networks.preset("dgx-2"));
        assertThat(network.nodes()).isEqualTo(17);
        assertThat(network.node(16).kind()).isEqualTo(Network.Kind.HUB);
        assertThat(network.gbs(network.arc(0, 16))).isEqualTo(150);
    }

    @Test
    void devicesWithoutAnyConnectionMeetInHostMemory() {
        Machine machine = Networks.direct(4, new int[] {0, 1, 25}, new int[] {2, 3, 25});
        Network network = Network.of(machine);
        assertThat(network.node(4).kind()).isEqualTo(Network.Kind.HOST);
        assertThat(network.gbs(network.arc(3, 4))).isEqualTo(LinkMatrix.HOST_STAGED_GBS);
        assertThat(network.warnings()).hasSize(1);
    }

    @Test
    void allLinksJoinEveryPair() {
        Machine chain = Networks.direct(4, new int[] {0, 1, 25}, new int[] {1, 2, 25}, new int[] {1, 3, 25});
        assertThat(Network.of(chain).direct()).isTrue();
        Network network = Network.ofAllLinks(chain, 0, 1, 2, 3);
        assertThat(network.warnings()).hasSize(1);
        // Device 1 has a link to each.
        assertThat(network.arc(1, 4)).isEqualTo(-1);
        Detours detours = new Detours(network);
        assertThat(detours.path(0, 3)).containsExactly(0, 4, 3);
        assertThat(detours.path(0, 1)).containsExactly(0, 1);
        Network some = Network.ofAllLinks(chain, 1, 3);
        assertThat(some.direct()).isTrue();
        assertThat(some.warnings()).isEmpty();
        assertThat(Network.ofAllLinks(Networks.preset("p3.16xlarge"), 0, 5, 2).warnings())
                .isEmpty();
    }

    @Test
    void reversedTurnsEveryArc() {
        Machine machine = Networks.machine(
                "uneven",
                3,
                0,
                List.of(
                        new Link(0, 1, Link.Kind.NVLINK, 1, 50, 25.5, 1),
                        new Link(1, 2, Link.Kind.NVLINK, 1, 10, 20, 1)));
        Network network = Network.of(machine);
        Network reversed = network.reversed();
        assertThat(network.symmetric()).isFalse();
        assertThat(network.unitGbs().doubleValue()).isEqualTo(0.5);
        for (int arc = 0; arc < network.arcs(); arc++) {
            int turned = reversed.arc(network.to(arc), network.from(arc));
            assertThat(reversed.capacity(turned)).isEqualTo(network.capacity(arc));
            assertThat(reversed.reverse(turned)).isEqualTo(reversed.arc(network.from(arc), network.to(arc)));
        }
    }

    @Test
    void arcsKnowTheirTechnology() {
        Network network = Network.ofAllLinks(Networks.preset("p3.16xlarge"), 0, 1, 6);
        assertThat(network.kind(network.arc(0, 1))).isEqualTo(Link.Kind.NVLINK);
        assertThat(network.kind(network.firstOut(2))).isEqualTo(Link.Kind.PCIE);
        assertThat(IntStream.range(0, network.arcs()).filter(arc -> network.kind(arc) == Link.Kind.SOCKET))
                .hasSize(2);
        Machine mixed = Networks.machine(
                "mixed",
                2,
                0,
                List.of(Link.duplex(0, 1, Link.Kind.PCIE, 16, 12, 4), Link.duplex(0, 1, Link.Kind.NVLINK, 1, 25, 2)));
        Network merged = Network.ofAllLinks(mixed, 0, 1);
        assertThat(merged.kind(0)).isEqualTo(Link.Kind.NVLINK);
        assertThat(merged.reversed().kind(1)).isEqualTo(Link.Kind.NVLINK);
    }

    @Test
    void refusesWhatIsNoGroup() {
        Machine machine = Networks.preset("p3.16xlarge");
        assertThatThrownBy(() -> Network.of(machine, new int[] {0})).hasMessageContaining("at least two");
        assertThatThrownBy(() -> Network.of(machine, new int[] {0, 8})).hasMessageContaining("0..7");
        assertThatThrownBy(() -> Network.of(machine, new int[] {0, 1}, 1)).hasMessageContaining("relay 1");
    }

    @Test
    void slowNvLinksAreTakenTogetherWithFastPcie() {
        List<Link> links = List.of(
                Link.duplex(0, 1, Link.Kind.NVLINK, 1, 25, 1),
                Link.duplex(1, 2, Link.Kind.NVLINK, 1, 25, 1),
                Link.duplex(0, 3, Link.Kind.PCIE, 16, 50, 1),
                Link.duplex(1, 3, Link.Kind.PCIE, 16, 50, 1),
                Link.duplex(2, 3, Link.Kind.PCIE, 16, 50, 1));
        assertThat(Network.of(Networks.machine("fast PCIe", 3, 1, links)).joinedByNvlink())
                .isFalse();
    }
}

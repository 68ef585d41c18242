package dev.banyan.topology;

import static org.assertj.core.api.Assertions.assertThat;

import dev.banyan.topology.Connection.Kind;
import dev.banyan.topology.internal.pcie.PcieHierarchy;
import dev.banyan.topology.internal.pcie.PcieHierarchy.End;
import dev.banyan.topology.internal.speed.CpuModel;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class PcieHierarchyTest {
    /** The seat of an end: socket, bridge, port and switch, each numbered across the machine. */
    private record Seat(int socket, int bridge, int port, int plx) {
        static Seat random(Random random) {
            int socket = random.nextInt(2);
            int bridge = socket * 3 + random.nextInt(3);
            int port = bridge * 2 + random.nextInt(2);
            return new Seat(socket, bridge, port, port * 3 + random.nextInt(3));
        }

        Kind to(Seat other) {
            if (plx == other.plx) {
                return Kind.PIX;
            }
            if (port == other.port) {
                return Kind.PXB;
            }
            if (bridge == other.bridge) {
                return Kind.PHB;
            }
            return socket == other.socket ? Kind.NODE : Kind.SYS;
        }
    }

    /** Devices and, at the end, cards. */
    private static Machine machine(List<Seat> seats, int devices, PcieHierarchy hierarchy) {
        List<Device> list = new ArrayList<>();
        List<Nic> cards = new ArrayList<>();
        for (int i = 0; i < seats.size(); i++) {
            if (i < devices) {
                list.add(Device.named("GPU" + i));
            } else {
                cards.add(new Nic("NIC" + i, hierarchy.attachment(i), Map.of()));
            }
        }
        return new Machine("random", list, hierarchy.hubs(), hierarchy.links(), cards, List.of());
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4})
    void routesThroughItHaveTheClassesItWasMadeOf(long seed) {
        Random random = new Random(seed);
        for (int round = 0; round < 250; round++) {
            int devices = 1 + random.nextInt(9);
            List<Seat> seats = new ArrayList<>();
            List<End> ends = new ArrayList<>();
            for (int i = devices + random.nextInt(3); i > 0; i--) {
                seats.add(Seat.random(random));
                // The affinity is of no use where all classes are known.
                ends.add(End.assumed(ends.size() < devices ? ends.size() : -1, "numa " + random.nextInt(2)));
            }
            PcieHierarchy hierarchy = PcieHierarchy.of(
                    ends,
                    (a, b) -> seats.get(a).to(seats.get(b)),
                    devices,
                    CpuModel.UNKNOWN,
                    counted -> LinkSpeeds.SOCKET_GBS);
            Routes routes = Routes.of(machine(seats, devices, hierarchy));
            for (int a = 0; a < seats.size(); a++) {
                for (int b = 0; b < seats.size(); b++) {
                    Kind expected = a == b ? Kind.SELF : seats.get(a).to(seats.get(b));
                    assertThat(routes.between(a, b).kind())
                            .as("%d-%d of %s", a, b, seats)
                            .isEqualTo(expected);
                    assertThat(hierarchy.kind(a, b))
                            .as("%d-%d of %s", a, b, seats)
                            .isEqualTo(expected);
                }
            }
        }
    }

    @ParameterizedTest
    @CsvSource({"numa 0, numa 0, NODE", "numa 0, numa 1, SYS"})
    void affinityDecidesWhereNoClassIsKnown(String first, String second, Kind expected) {
        List<End> ends = List.of(End.assumed(0, first), End.assumed(1, second));
        PcieHierarchy hierarchy =
                PcieHierarchy.of(ends, (a, b) -> null, 2, CpuModel.UNKNOWN, counted -> LinkSpeeds.SOCKET_GBS);
        assertThat(hierarchy.kind(0, 1)).isEqualTo(expected);
    }

    /** Classes of GPU0 to GPU1, and of each of both to a third end, a card. */
    @ParameterizedTest
    @CsvSource({
        "NODE, NODE, NODE, false",
        "NVLINK, NODE, NODE, true",
        "NVLINK, PHB, PHB, true",
        "NVLINK, PIX, PIX, false",
        "NVLINK, PIX, NODE, false",
        "NVLINK, SYS, NODE, false",
        "NVLINK, SYS, SYS, true"
    })
    void pathsAreHiddenIfNoClassShowsThem(Kind both, Kind first, Kind second, boolean isHidden) {
        List<End> ends = List.of(End.assumed(0, "numa 0"), End.assumed(1, "numa 0"), End.assumed(-1, ""));
        PcieHierarchy hierarchy = PcieHierarchy.of(
                ends,
                (a, b) -> a + b == 1 ? both : Math.min(a, b) == 0 ? first : second,
                2,
                CpuModel.UNKNOWN,
                counted -> LinkSpeeds.SOCKET_GBS);
        assertThat(hierarchy.assumed().contains(PcieHierarchy.HIDDEN)).isEqualTo(isHidden);
    }

    @Test
    void affinityDoesNotJoinWhatIsApart() {
        List<End> ends = List.of(End.assumed(0, "numa 0"), End.assumed(1, "numa 0"), End.assumed(2, "numa 0"));
        PcieHierarchy hierarchy = PcieHierarchy.of(
                ends, (a, b) -> a + b == 1 ? Kind.SYS : null, 3, CpuModel.UNKNOWN, counted -> LinkSpeeds.SOCKET_GBS);
        assertThat(hierarchy.kind(0, 1)).isEqualTo(Kind.SYS);
        assertThat(hierarchy.kind(1, 2) == Kind.NODE ^ hierarchy.kind(0, 2) == Kind.NODE)
                .isTrue();
    }

    @Test
    void nearerClassesWinOverContradictions() {
        List<End> ends = List.of(End.assumed(0, ""), End.assumed(1, ""), End.assumed(2, ""));
        PcieHierarchy hierarchy = PcieHierarchy.of(
                ends,
                (a, b) -> Math.abs(a - b) == 1 ? Kind.PIX : Kind.SYS,
                3,
                CpuModel.UNKNOWN,
                counted -> LinkSpeeds.SOCKET_GBS);
        assertThat(hierarchy.kind(0, 2)).isEqualTo(Kind.PIX);
    }

    @Test
    void uplinksAreAsWideAsTheirWidestSlot() {
        List<End> ends = List.of(new End(0, "", 16, 12), new End(1, "", 8, 24), new End(2, "", 4, 3));
        // 0 and 1 on a switch, 2 under another bridge of the same socket.
        PcieHierarchy hierarchy = PcieHierarchy.of(
                ends,
                (a, b) -> a + b == 1 ? Kind.PIX : Kind.NODE,
                3,
                CpuModel.UNKNOWN,
                counted -> LinkSpeeds.SOCKET_GBS);
        Machine machine = new Machine(
                "slots",
                List.of(Device.named("a"), Device.named("b"), Device.named("c")),
                hierarchy.hubs(),
                hierarchy.links(),
                List.of(),
                List.of());
        Routes routes = Routes.of(machine);
        assertThat(routes.between(0, 1).gbs()).isEqualTo(12);
        assertThat(routes.between(1, 2).gbs()).isEqualTo(3);
        assertThat(machine.links()).anySatisfy(link -> {
            assertThat(link.lanes()).isEqualTo(8);
            assertThat(link.gbsAToB()).isEqualTo(24);
            assertThat(machine.node(link.a()).name() + machine.node(link.b()).name())
                    .contains("switch", "bridge");
        });
    }
}

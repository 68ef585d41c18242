package dev.banyan.topology;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class RoutesTest {
    private static Machine machine(int devices, List<Hub.Kind> hubs, Link... links) {
        List<Device> list = new ArrayList<>();
        for (int i = 0; i < devices; i++) {
            list.add(Device.named("GPU" + i));
        }
        return new Machine(
                "box",
                list,
                hubs.stream().map(kind -> Hub.of(kind.name(), kind)).toList(),
                List.of(links),
                List.of(new Nic("card", devices + hubs.size() - 1, Map.of())),
                List.of());
    }

    private static Link pcie(int a, int b) {
        return Link.duplex(a, b, Link.Kind.PCIE, 16, 12, 1);
    }

    private static Link nvlink(int a, int b, int lanes) {
        return Link.duplex(a, b, Link.Kind.NVLINK, lanes, 25.0 * lanes, 1);
    }

    /** Two devices at the ends of a chain of hubs. */
    private static String chain(Hub.Kind... hubs) {
        List<Link> links = new ArrayList<>();
        int last = 0;
        for (int hub = 0; hub < hubs.length; hub++) {
            links.add(pcie(last, 2 + hub));
            last = 2 + hub;
        }
        links.add(pcie(last, 1));
        Machine machine = new Machine(
                "chain",
                List.of(Device.named("a"), Device.named("b")),
                List.of(hubs).stream().map(kind -> Hub.of("hub", kind)).toList(),
                links,
                List.of(),
                List.of());
        return Routes.of(machine).between(0, 1).label();
    }

    @Test
    void namesPathsByTheirHubs() {
        Hub.Kind pcie = Hub.Kind.PCIE_SWITCH;
        Hub.Kind bridge = Hub.Kind.HOST_BRIDGE;
        Hub.Kind socket = Hub.Kind.CPU_SOCKET;
        assertThat(chain()).isEqualTo("PIX");
        assertThat(chain(pcie)).isEqualTo("PIX");
        assertThat(chain(pcie, pcie)).isEqualTo("PXB");
        assertThat(chain(bridge)).isEqualTo("PHB");
        assertThat(chain(pcie, socket, pcie)).isEqualTo("PHB");
        assertThat(chain(bridge, socket)).isEqualTo("NODE");
        assertThat(chain(pcie, bridge, socket, bridge)).isEqualTo("NODE");
        assertThat(chain(bridge, bridge)).isEqualTo("NODE");
        assertThat(chain(socket, socket)).isEqualTo("SYS");
        assertThat(chain(bridge, socket, socket, bridge)).isEqualTo("SYS");
        assertThat(chain(Hub.Kind.NVSWITCH))
                .as("PCIe does not go through NVSwitches")
                .isEqualTo("-");
    }

    @Test
    void takesTheShortestThenTheWidestPath() {
        List<Hub.Kind> hubs = List.of(Hub.Kind.PCIE_SWITCH, Hub.Kind.PCIE_SWITCH, Hub.Kind.CPU_SOCKET);
        Link wide = Link.duplex(0, 3, Link.Kind.PCIE, 16, 24, 1);
        Link oneWay = new Link(3, 1, Link.Kind.PCIE, 16, 20, 5, 1);
        Routes routes = Routes.of(machine(2, hubs, pcie(0, 2), pcie(2, 1), wide, oneWay, pcie(0, 4), pcie(4, 1)));

        assertThat(routes.between(0, 1).gbs()).as("through the wider switch").isEqualTo(20);
        assertThat(routes.between(1, 0).gbs()).as("back through the other").isEqualTo(12);
        assertThat(routes.between(0, 1).kind()).isEqualTo(routes.between(1, 0).kind());
        assertThat(routes.between(0, 2))
                .as("the card on the socket")
                .isEqualTo(new Connection(Connection.Kind.PHB, 0, 12));
    }

    @Test
    void devicesDoNotForward() {
        Routes routes = Routes.of(machine(3, List.of(Hub.Kind.CPU_SOCKET), pcie(0, 1), pcie(1, 2)));

        assertThat(routes.between(0, 1).kind()).isEqualTo(Connection.Kind.PIX);
        assertThat(routes.between(0, 2).kind()).isEqualTo(Connection.Kind.NONE);
        assertThat(routes.between(2, 2).label()).isEqualTo("X");
        assertThatThrownBy(() -> routes.between(0, 4)).isInstanceOf(IndexOutOfBoundsException.class);
    }

    @Test
    void sumsDirectNvLinksAndThoseIntoSwitches() {
        List<Hub.Kind> hubs = List.of(Hub.Kind.NVSWITCH, Hub.Kind.NVSWITCH, Hub.Kind.NVSWITCH, Hub.Kind.CPU_SOCKET);
        // Devices 0 and 1 share two planes; 2 is on another one that a trunk joins to the first.
        Machine machine = machine(
                3,
                hubs,
                nvlink(0, 1, 1),
                nvlink(1, 0, 1),
                nvlink(0, 3, 2),
                nvlink(1, 3, 1),
                nvlink(0, 4, 1),
                nvlink(1, 4, 3),
                nvlink(2, 5, 6),
                nvlink(3, 5, 8));
        Routes routes = Routes.of(machine);

        assertThat(routes.between(0, 1)).isEqualTo(new Connection(Connection.Kind.NVLINK, 2 + 3, 5 * 25));
        assertThat(routes.between(0, 2)).isEqualTo(new Connection(Connection.Kind.NVLINK, 2, 50));
        assertThat(routes.between(1, 2)).isEqualTo(new Connection(Connection.Kind.NVLINK, 1, 25));
        LinkMatrix matrix = LinkMatrix.of(machine);
        assertThat(matrix.classOf(0, 2)).isEqualTo(LinkMatrix.NVLINKS);
        assertThat(matrix.classOf(1, 2)).isEqualTo(LinkMatrix.NVLINK);
        assertThat(matrix.warnings()).isEmpty();
    }

    @Test
    void xgmiCountsAsNvLinkAndPowerReachesItsHostOverNvLink() {
        Link xgmi = Link.duplex(0, 1, Link.Kind.XGMI, 1, 50, 1);
        Link bus = Link.duplex(3, 4, Link.Kind.SOCKET, 1, 64, 1);
        Routes routes = Routes.of(machine(
                3, List.of(Hub.Kind.CPU_SOCKET, Hub.Kind.CPU_SOCKET), xgmi, nvlink(0, 3, 3), nvlink(2, 4, 3), bus));

        assertThat(routes.between(0, 1)).isEqualTo(new Connection(Connection.Kind.NVLINK, 1, 50));
        assertThat(routes.between(0, 2)).isEqualTo(new Connection(Connection.Kind.SYS, 0, 64));
        assertThat(routes.between(1, 2).kind()).isEqualTo(Connection.Kind.NONE);
    }

    @Test
    void stagesThroughTheHostWhatNothingConnects() {
        LinkMatrix matrix = LinkMatrix.of(machine(3, List.of(Hub.Kind.CPU_SOCKET), nvlink(0, 1, 2)));

        assertThat(matrix.nvlinkConnected()).isFalse();
        assertThat(matrix.weight(0, 1)).isEqualTo(3);
        assertThat(matrix.weight(0, 2)).isEqualTo(1.0 / 3);
        assertThat(matrix.gbs(2, 1)).isEqualTo(LinkMatrix.HOST_STAGED_GBS);
        assertThat(matrix.warnings())
                .containsExactly("2 of 3 pairs of devices of box have no connection in its"
                        + " description: they are taken as staged through the host at 6.0 GB/s");
        assertThat(LinkMatrix.of(machine(1, List.of(Hub.Kind.CPU_SOCKET))).warnings())
                .isEmpty();
        assertThat(LinkMatrix.of(new Machine("none", List.of(), List.of(), List.of(), List.of(), List.of()))
                        .size())
                .isZero();
    }
}

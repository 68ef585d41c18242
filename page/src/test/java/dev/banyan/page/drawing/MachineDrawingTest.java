package dev.banyan.page.drawing;

import static org.assertj.core.api.Assertions.assertThat;

import dev.banyan.topology.Device;
import dev.banyan.topology.Hub;
import dev.banyan.topology.Link;
import dev.banyan.topology.Machine;
import dev.banyan.topology.Presets;
import java.awt.geom.Line2D;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class MachineDrawingTest {
    static Stream<Machine> presets() {
        return Presets.all().stream();
    }

    @ParameterizedTest
    @MethodSource("presets")
    void nodesAreInThePictureAndApart(Machine machine) {
        MachineDrawing drawing = new MachineDrawing(machine, false);
        for (int a = 0; a < machine.nodeCount(); a++) {
            Point at = drawing.at(a);
            assertThat(at.x()).isBetween(20.0, MachineDrawing.WIDTH - 20.0);
            assertThat(at.y()).isBetween(20.0, MachineDrawing.HEIGHT - 20.0);
            for (int b = 0; b < a; b++) {
                Point other = drawing.at(b);
                assertThat(Math.hypot(other.x() - at.x(), other.y() - at.y()))
                        .as(
                                "distance of %s and %s",
                                machine.node(a).name(), machine.node(b).name())
                        .isGreaterThan(36);
            }
        }
    }

    @ParameterizedTest
    @MethodSource("presets")
    void linesJoinTheirNodesInsideThePicture(Machine machine) {
        MachineDrawing drawing = new MachineDrawing(machine, false);
        for (Link link : machine.links()) {
            List<Point> line = drawing.line(link.a(), link.b());
            assertThat(line.getFirst()).isEqualTo(drawing.at(link.a()));
            assertThat(line.getLast()).isEqualTo(drawing.at(link.b()));
            assertThat(line).allSatisfy(point -> {
                assertThat(point.x()).isBetween(0.0, (double) MachineDrawing.WIDTH);
                assertThat(point.y()).isBetween(0.0, (double) MachineDrawing.HEIGHT);
            });
        }
    }

    @Test
    void aLinePastAHubStaysApartFromTheLinesThatEndThere() {
        Machine machine = new Machine(
                "four sockets",
                IntStream.range(0, 4).mapToObj(gpu -> Device.named("GPU" + gpu)).toList(),
                IntStream.range(0, 4)
                        .mapToObj(cpu -> Hub.of("CPU " + cpu, Hub.Kind.CPU_SOCKET))
                        .toList(),
                Stream.concat(
                                IntStream.range(0, 4)
                                        .boxed()
                                        .flatMap(gpu -> Stream.of(
                                                Link.duplex(gpu, (gpu + 1) % 4, Link.Kind.NVLINK, 1, 25, 1),
                                                Link.duplex(gpu, 4 + gpu, Link.Kind.PCIE, 16, 12, 1),
                                                Link.duplex(4 + gpu, 4 + (gpu + 1) % 4, Link.Kind.SOCKET, 1, 10, 1))),
                                Stream.of(Link.duplex(4, 6, Link.Kind.SOCKET, 1, 10, 1)))
                        .toList(),
                List.of(),
                List.of());
        MachineDrawing drawing = new MachineDrawing(machine, false);
        List<Point> across = drawing.line(4, 6);
        for (int cpu = 0; cpu < 4; cpu++) {
            List<Point> line = drawing.line(4 + cpu, 4 + (cpu + 1) % 4);
            assertThat(distance(line.get(line.size() / 2), across)).isGreaterThan(4);
        }
    }

    private static double distance(Point point, List<Point> line) {
        return IntStream.range(1, line.size())
                .mapToDouble(to -> Line2D.ptSegDist(
                        line.get(to - 1).x(),
                        line.get(to - 1).y(),
                        line.get(to).x(),
                        line.get(to).y(),
                        point.x(),
                        point.y()))
                .min()
                .orElseThrow();
    }

    @Test
    void hubsThatLeadNowhereAreNotDrawn() {
        Machine machine = new Machine(
                "cards",
                List.of(Device.named("GPU0"), Device.named("GPU1")),
                List.of(
                        Hub.of("CPU 0", Hub.Kind.CPU_SOCKET),
                        Hub.of("PCIe switch 0", Hub.Kind.PCIE_SWITCH),
                        Hub.of("PCIe switch 1", Hub.Kind.PCIE_SWITCH),
                        Hub.of("CPU 1", Hub.Kind.CPU_SOCKET)),
                List.of(
                        Link.duplex(0, 2, Link.Kind.PCIE, 16, 12, 1),
                        Link.duplex(1, 2, Link.Kind.PCIE, 16, 12, 1),
                        Link.duplex(2, 3, Link.Kind.PCIE, 16, 12, 1),
                        Link.duplex(3, 4, Link.Kind.PCIE, 16, 12, 1),
                        Link.duplex(2, 5, Link.Kind.SOCKET, 1, 10, 1)),
                List.of(),
                List.of());
        MachineDrawing drawing = new MachineDrawing(machine, false);
        assertThat(drawing.isDrawn(2)).isTrue();
        assertThat(drawing.isDrawn(3)).isFalse();
        assertThat(drawing.isDrawn(4)).isFalse();
        assertThat(drawing.isDrawn(5)).isFalse();
    }
}

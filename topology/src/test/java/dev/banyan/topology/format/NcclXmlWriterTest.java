package dev.banyan.topology.format;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.banyan.topology.Device;
import dev.banyan.topology.Hub;
import dev.banyan.topology.Link;
import dev.banyan.topology.LinkMatrix;
import dev.banyan.topology.Machine;
import dev.banyan.topology.Nic;
import dev.banyan.topology.Presets;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.assertj.core.data.Offset;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class NcclXmlWriterTest {
    private static String write(Machine machine) {
        return MachineWriter.write(machine, "nccl-xml");
    }

    private static Machine read(String text) {
        return new MachineReader().parse("written.xml", text);
    }

    static List<Machine> presets() {
        return Presets.all();
    }

    @ParameterizedTest
    @MethodSource("presets")
    void keepsTheLinksOfPresets(Machine machine) {
        Machine back = read(write(machine));
        assertThat(back.name()).isEqualTo(machine.name());
        assertThat(back.warnings()).isEmpty();
        assertThat(back.devices())
                .extracting(Device::name)
                .containsExactlyElementsOf(
                        machine.devices().stream().map(Device::name).toList());
        assertThat(back.hubs())
                .extracting(Hub::kind)
                .containsExactlyInAnyOrderElementsOf(
                        machine.hubs().stream().map(Hub::kind).toList());
        assertSameMatrix(back, machine);
        assertThat(back.links()).hasSameSizeAs(machine.links());
        assertThat(back.links().stream().mapToDouble(Link::gbsAToB).sum())
                .isEqualTo(machine.links().stream().mapToDouble(Link::gbsAToB).sum());
        assertThat(back.links().stream().mapToDouble(Link::latencyUs).sum())
                .isCloseTo(machine.links().stream().mapToDouble(Link::latencyUs).sum(), Offset.offset(1e-9));
        assertThat(withoutWarnings(read(write(back)))).isEqualTo(withoutWarnings(back));
    }

    private static void assertSameMatrix(Machine actual, Machine expected) {
        LinkMatrix a = LinkMatrix.of(actual);
        LinkMatrix b = LinkMatrix.of(expected);
        for (int i = 0; i < b.size(); i++) {
            for (int j = 0; j < b.size(); j++) {
                assertThat(a.classOf(i, j)).as("class of %d,%d", i, j).isEqualTo(b.classOf(i, j));
                assertThat(a.gbs(i, j)).as("GB/s of %d,%d", i, j).isEqualTo(b.gbs(i, j));
            }
        }
    }

    static Machine withoutWarnings(Machine machine) {
        return new Machine(
                machine.name(), machine.devices(), machine.hubs(), machine.links(), machine.nics(), List.of());
    }

    @Test
    void keepsWhatNcclsFilesHold() {
        String text = NcclFiles.system(
                NcclFiles.cpu(
                        1,
                        NcclFiles.gpu(
                                3,
                                NcclFiles.nvlink(2, 2),
                                NcclFiles.nvlink(7, 1),
                                NcclFiles.toSwitch("0000:c1:00.0", 4)),
                        "<nic>\n<net name=\"a&amp;b\" dev=\"0\" speed=\"1\"/>\n</nic>\n",
                        NcclFiles.pcieSwitch(
                                "0000:01:00.0",
                                NcclFiles.pci(
                                        "0000:05:00.0",
                                        "0x020700",
                                        "<nic>\n<net name=\"m0\" dev=\"1\"/>\n<net name=\"m1\" dev=\"2\"/>\n</nic>\n"),
                                NcclFiles.gpu(2, NcclFiles.nvlink(3, 2), NcclFiles.toSwitch("0000:c1:00.0", 4)))),
                NcclFiles.cpu(
                        0,
                        NcclFiles.pci("0000:07:00.0", "0x030000"),
                        NcclFiles.pci("0000:08:00.0", "0x020000"),
                        NcclFiles.gpu(0, 0, 90, "<c2c bw=\"1000\" count=\"2\"/>\n")));
        Machine machine = read(text);
        Machine back = new MachineReader().parse("other.xml", write(machine));
        assertThat(withoutWarnings(back)).isEqualTo(withoutWarnings(machine));
        assertThat(machine.nics()).extracting(Nic::name).containsExactly("a&b", "m0", "m1", "0000:08:00.0");
    }

    @Test
    void keepsBandwidthsThatAreNotThoseOfTheKind() {
        Device a = new Device("GPU0", null, 0, Map.of("sm", "70"));
        Device b = new Device("GPU1", null, 0, Map.of("sm", "70"));
        Hub cpu = Hub.of("cpu", Hub.Kind.CPU_SOCKET);
        Machine machine = new Machine(
                "odd",
                List.of(a, b),
                List.of(cpu),
                List.of(
                        new Link(0, 1, Link.Kind.NVLINK, 3, 60, 55.5, 1.8),
                        Link.duplex(2, 0, Link.Kind.PCIE, 16, 11.3, 4.25),
                        Link.duplex(1, 2, Link.Kind.PCIE, 8, 7, 4.25)),
                List.of(),
                List.of());
        Machine back = read(write(machine));
        assertThat(back.links())
                .containsExactlyInAnyOrder(
                        new Link(0, 1, Link.Kind.NVLINK, 3, 60, 55.5, 1.8),
                        Link.duplex(2, 0, Link.Kind.PCIE, 16, 11.3, 4.25),
                        Link.duplex(2, 1, Link.Kind.PCIE, 8, 7, 4.25));
    }

    @Test
    void writesWhatNcclNeeds() {
        String text = write(Machine.preset("p3.8xlarge"));
        assertThat(text)
                .startsWith("<system version=\"1\" name=\"p3.8xlarge\">\n  <cpu numaid=\"0\">\n    <pci busid=");
        assertThat(text).contains(" class=\"0x060400\" link_speed=\"8.0 GT/s PCIe\" link_width=\"16\">");
        assertThat(text).containsPattern("<gpu model=\"[^\"]+\" sm=\"70\" dev=\"3\" rank=\"3\" gdr=\"0\">");
        assertThat(text).containsPattern("<nvlink target=\"0000:04:00.0\" count=\"2\" tclass=\"0x030200\"/>");
        assertThat(text).doesNotContain("gbs=");
        assertThat(write(Machine.preset("mi250x8")))
                .startsWith("<system version=\"2\"")
                .contains("gcn=\"910\"", "<xgmi target=")
                .doesNotContain("<nvlink");
    }

    @Test
    void saysWhatItCannotExpress() {
        Machine loop = new Machine(
                "loop",
                List.of(Device.named("a")),
                List.of(Hub.of("s", Hub.Kind.PCIE_SWITCH), Hub.of("t", Hub.Kind.PCIE_SWITCH)),
                List.of(
                        Link.duplex(0, 1, Link.Kind.PCIE, 1, 1, 1),
                        Link.duplex(1, 2, Link.Kind.PCIE, 1, 1, 1),
                        Link.duplex(2, 0, Link.Kind.PCIE, 1, 1, 1)),
                List.of(),
                List.of());
        assertThatThrownBy(() -> write(loop))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("closes a loop")
                .hasMessageContaining("JSON");
        Machine direct = new Machine(
                "direct",
                List.of(Device.named("a"), Device.named("b")),
                List.of(),
                List.of(Link.duplex(0, 1, Link.Kind.PCIE, 1, 1, 1)),
                List.of(),
                List.of());
        assertThatThrownBy(() -> write(direct))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("between a and b")
                .hasMessageContaining("JSON");
    }

    @Test
    void writesOrRefusesAnyMachine() {
        Random random = new Random(11);
        int written = 0;
        for (int i = 0; i < 3000; i++) {
            Machine machine = RandomMachines.next(random);
            String text;
            try {
                text = write(machine);
            } catch (IllegalArgumentException e) {
                assertThat(e).hasMessageContaining("JSON");
                continue;
            }
            written++;
            assertThat(read(text).size()).isEqualTo(machine.size());
        }
        assertThat(written).isGreaterThan(100);
    }
}

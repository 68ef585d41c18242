package dev.banyan.topology.format;

import static dev.banyan.topology.format.NcclFiles.busId;
import static dev.banyan.topology.format.NcclFiles.cpu;
import static dev.banyan.topology.format.NcclFiles.gpu;
import static dev.banyan.topology.format.NcclFiles.link;
import static dev.banyan.topology.format.NcclFiles.nvlink;
import static dev.banyan.topology.format.NcclFiles.pci;
import static dev.banyan.topology.format.NcclFiles.pcieSwitch;
import static dev.banyan.topology.format.NcclFiles.system;
import static dev.banyan.topology.format.NcclFiles.toSwitch;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.banyan.InputException;
import dev.banyan.topology.Device;
import dev.banyan.topology.Hub;
import dev.banyan.topology.Link;
import dev.banyan.topology.LinkMatrix;
import dev.banyan.topology.Machine;
import dev.banyan.topology.Nic;
import dev.banyan.topology.NoPeerAccess;
import dev.banyan.topology.Node;
import dev.banyan.topology.option.MatrixUnit;
import dev.banyan.topology.option.StatedSpeeds;
import java.util.List;
import org.assertj.core.data.Offset;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class NcclXmlFormatTest {
    private static Machine read(String text) {
        return new MachineReader().parse("dir/box.xml", text);
    }

    private static List<Link> links(Machine machine, Link.Kind kind) {
        return machine.links().stream().filter(link -> link.kind() == kind).toList();
    }

    private static List<String> names(List<? extends Node> nodes) {
        return nodes.stream().map(Node::name).toList();
    }

    /** NPS4 shows four NUMA nodes of each CPU, of which the file lists those with GPUs. */
    @Test
    void moreThanTwoNumaNodesAreOfTwoCpus() {
        Machine machine = read(system(cpu(1, gpu(0)), cpu(3, gpu(1)), cpu(5, gpu(2)), cpu(7, gpu(3))));
        int n = machine.size();
        assertThat(links(machine, Link.Kind.SOCKET))
                .extracting(link -> List.of(link.a() - n, link.b() - n))
                .containsExactlyInAnyOrder(List.of(0, 1), List.of(2, 3), List.of(0, 2));
        assertThat(machine.assumed()).anyMatch(phrase -> phrase.startsWith("two CPUs with"));
        assertThat(links(read(system(cpu(0, gpu(0)), cpu(1, gpu(1)))), Link.Kind.SOCKET))
                .hasSize(1);
    }

    @Test
    void geForceCardsFrom40OnHaveNoPeerAccess() {
        String text = system(cpu(0, gpu(0), gpu(1)));
        StatedSpeeds model = new StatedSpeeds(0, 0, 0, "NVIDIA GeForce RTX 4090");
        Machine machine = new MachineReader(MatrixUnit.CLASSES, model).parse("box.xml", text);
        assertThat(NoPeerAccess.between(machine, 0, 1)).isTrue();
        assertThat(machine.assumed()).anyMatch(phrase -> phrase.startsWith("no peer access between GeForce"));
        assertThat(NoPeerAccess.between(read(text), 0, 1)).isFalse();
        for (String device : List.of("0x2684", "0x2b85", "0x2c02")) {
            Machine cards = read(text.replace("class=", "vendor=\"0x10de\" device=\"" + device + "\" class="));
            assertThat(NoPeerAccess.between(cards, 0, 1)).isTrue();
            assertThat(cards.assumed()).anyMatch(phrase -> phrase.startsWith("no peer access between GeForce"));
        }
        for (String device : List.of("0x26b9", "0x27b8", "0x2bb1", "0x2204")) {
            String others = text.replace("class=", "vendor=\"0x10de\" device=\"" + device + "\" class=");
            assertThat(NoPeerAccess.between(read(others), 0, 1)).as(device).isFalse();
        }
        StatedSpeeds none = new StatedSpeeds(0, 0, 0, 0, "", StatedSpeeds.PeerAccess.NO);
        assertThat(NoPeerAccess.between(new MachineReader(MatrixUnit.CLASSES, none).parse("box.xml", text), 0, 1))
                .isTrue();
    }

    @Test
    void readsDevicesHubsCardsAndLinks() {
        Machine machine = read(system(
                cpu(
                        0,
                        pcieSwitch("0000:01:00.0", gpu(0, nvlink(1, 2)), gpu(1, nvlink(0, 2))),
                        pci(
                                "0000:05:00.0",
                                "0x020700",
                                "<nic>\n<net name=\"mlx5_0\" dev=\"0\" speed=\"100000\"/>\n</nic>\n")),
                cpu(1, gpu(2))));
        assertThat(machine.name()).isEqualTo("box.xml");
        assertThat(machine.warnings()).isEmpty();
        assertThat(machine.devices()).extracting(Device::name).containsExactly("GPU0", "GPU1", "GPU2");
        assertThat(machine.devices()).extracting(Device::busId).containsExactly(busId(0), busId(1), busId(2));
        assertThat(machine.devices()).extracting(Device::numa).containsExactly(0, 0, 1);
        assertThat(machine.devices().getFirst().attributes())
                .containsEntry("sm", "70")
                .containsEntry("rank", "0")
                .containsEntry("pci.link_speed", "8.0 GT/s PCIe");
        assertThat(machine.hubs())
                .extracting(Hub::kind)
                .containsExactly(Hub.Kind.CPU_SOCKET, Hub.Kind.PCIE_SWITCH, Hub.Kind.CPU_SOCKET);
        assertThat(machine.hubs().getFirst().attributes()).containsEntry("modelid", "85");
        assertThat(machine.nics()).singleElement().satisfies(nic -> {
            assertThat(nic.name()).isEqualTo("mlx5_0");
            assertThat(nic.hub()).isEqualTo(3);
            assertThat(nic.attributes()).containsEntry("speed", "100000").containsEntry("pci.busid", "0000:05:00.0");
        });
        assertThat(links(machine, Link.Kind.NVLINK)).singleElement().satisfies(nvlink -> {
            assertThat(nvlink.lanes()).isEqualTo(2);
            assertThat(nvlink.gbsAToB()).isEqualTo(50);
            assertThat(nvlink.gbsBToA()).isEqualTo(50);
        });
        assertThat(links(machine, Link.Kind.SOCKET))
                .singleElement()
                .satisfies(socket -> assertThat(socket.gbsAToB()).isEqualTo(10));
        assertThat(links(machine, Link.Kind.PCIE))
                .hasSize(4)
                .allSatisfy(pcie -> assertThat(pcie.gbsAToB()).isEqualTo(12));
        LinkMatrix matrix = LinkMatrix.of(machine);
        assertThat(matrix.classOf(0, 1)).isEqualTo(LinkMatrix.NVLINKS);
        assertThat(matrix.classOf(0, 2)).isEqualTo(LinkMatrix.PCIE);
    }

    @Test
    void ordersDevicesByDevNotByRankOrPlace() {
        Machine machine = read(system(cpu(0, gpu(2, 0, 70), gpu(0, 1, 70), gpu(1, 2, 70))));
        assertThat(names(machine.devices())).containsExactly("GPU0", "GPU1", "GPU2");
        assertThat(machine.devices())
                .extracting(d -> d.attributes().get("rank"))
                .containsExactly("1", "2", "0");
        assertThat(machine.warnings()).isEmpty();
    }

    @Test
    void ordersByRankWhereDevDoesNotTellDevicesApart() {
        String text = system(cpu(0, gpu(3, 1, 70), gpu(4, 0, 70))).replaceAll("dev=\"[34]\"", "dev=\"0\"");
        Machine machine = read(text);
        assertThat(machine.devices()).extracting(Device::busId).containsExactly(busId(4), busId(3));
        assertThat(machine.warnings()).singleElement().asString().contains("rank");
    }

    @Test
    void readsASubsetOfDevs() {
        assertThat(names(read(system(cpu(0, gpu(6), gpu(4)))).devices())).containsExactly("GPU4", "GPU6");
    }

    @Test
    void leavesOutLinksToGpusThatAreNotInTheFile() {
        Machine machine = read(system(cpu(0, gpu(0, nvlink(1, 1), nvlink(5, 2)), gpu(1, nvlink(0, 1)))));
        assertThat(links(machine, Link.Kind.NVLINK)).hasSize(1);
        assertThat(machine.warnings()).singleElement().asString().contains(busId(5), "not in the file");
        assertThat(machine.devices().getFirst().attributes())
                .containsEntry("dangling.0.target", busId(5))
                .containsEntry("dangling.0.count", "2");
    }

    @Test
    void leavesOutSelfLinks() {
        Machine machine = read(system(cpu(0, gpu(0, nvlink(0, 1)), gpu(1))));
        assertThat(links(machine, Link.Kind.NVLINK)).isEmpty();
        assertThat(machine.warnings()).singleElement().asString().contains("line 5", "itself");
    }

    @Test
    void takesTheLesserOfTwoCounts() {
        Machine machine = read(system(cpu(0, gpu(0, nvlink(1, 4)), gpu(1, nvlink(0, 3)))));
        assertThat(links(machine, Link.Kind.NVLINK)).singleElement().satisfies(link -> {
            assertThat(link.lanes()).isEqualTo(3);
            assertThat(link.gbsAToB()).isEqualTo(75);
        });
        assertThat(machine.warnings()).singleElement().asString().contains("4 and 3", "lesser");
    }

    @Test
    void takesALinkThatOneEndLists() {
        Machine machine = read(system(cpu(0, gpu(0), gpu(1, nvlink(0, 2)))));
        assertThat(links(machine, Link.Kind.NVLINK))
                .singleElement()
                .satisfies(link -> assertThat(link.lanes()).isEqualTo(2));
        assertThat(machine.warnings()).singleElement().asString().contains("only one");
    }

    @Test
    void addsUpLinksToOneTarget() {
        Machine machine = read(system(cpu(0, gpu(0, nvlink(1, 1), nvlink(1, 1)), gpu(1, nvlink(0, 2)))));
        assertThat(links(machine, Link.Kind.NVLINK))
                .singleElement()
                .satisfies(link -> assertThat(link.lanes()).isEqualTo(2));
        assertThat(machine.warnings()).isEmpty();
    }

    @Test
    void takesAllNvSwitchesAsOneHub() {
        String text = system(cpu(
                0,
                gpu(0, 0, 90, toSwitch("0000:c4:00.0", 5), toSwitch("0000:c3:00.0", 4)),
                gpu(1, 1, 90, toSwitch("0000:c3:00.0", 4), toSwitch("0000:c4:00.0", 5))));
        Machine machine = read(text);
        assertThat(names(machine.hubs())).containsExactly("CPU 0", "NVSwitch");
        assertThat(links(machine, Link.Kind.NVLINK)).extracting(Link::lanes).containsExactly(9, 9);
        assertThat(machine.warnings()).isEmpty();
        assertThat(LinkMatrix.of(machine).gbs(0, 1)).isEqualTo(225);
        String again = MachineWriter.write(machine, "nccl-xml");
        assertThat(again)
                .contains("<nvlink target=\"0000:c4:00.0\" count=\"5\"", "<nvlink target=\"0000:c3:00.0\" count=\"4\"");
        assertThat(read(again)).isEqualTo(machine);
    }

    @Test
    void lanesToNvSwitchesOfAnotherBandwidthAreWrittenWithIt() {
        Machine machine = new MachineReader(MatrixUnit.CLASSES, new StatedSpeeds(0, 30, 0, ""))
                .parse(
                        "a.xml",
                        system(cpu(
                                0,
                                gpu(0, 0, 0, toSwitch("0000:c4:00.0", 5), toSwitch("0000:c3:00.0", 4)),
                                gpu(1, 1, 90, toSwitch("0000:c3:00.0", 4), toSwitch("0000:c4:00.0", 5)))));
        assertThat(links(machine, Link.Kind.NVLINK)).extracting(Link::gbsAToB).containsExactly(270.0, 225.0);
        Machine again = read(MachineWriter.write(machine, "nccl-xml"));
        assertThat(again.links()).isEqualTo(machine.links());
        assertThat(again.warnings()).noneMatch(warning -> warning.contains("different NVSwitches"));
    }

    @Test
    void warnsOfNvSwitchesThatNoTwoGpusShare() {
        Machine machine = read(system(cpu(
                0,
                gpu(0, toSwitch("0000:c3:00.0", 6)),
                gpu(1, toSwitch("0000:c3:00.0", 6)),
                gpu(2, toSwitch("0000:c4:00.0", 6)))));
        assertThat(machine.warnings())
                .containsExactly("GPU0 and GPU2 reach different NVSwitches: all NVSwitches are taken as one, as NCCL"
                        + " takes them");
        assertThat(LinkMatrix.of(machine).gbs(0, 2)).isEqualTo(150);
    }

    @Test
    void warnsWhenGpusReachNvSwitchesUnevenly() {
        Machine machine =
                read(system(cpu(0, gpu(0, toSwitch("0000:c3:00.0", 6)), gpu(1, toSwitch("0000:c3:00.0", 5)), gpu(2))));
        assertThat(machine.warnings())
                .satisfiesExactly(
                        few -> assertThat(few).contains("GPU1 (rank 1) has 5 NVLinks where others have 6"),
                        none -> assertThat(none).contains("GPU2 (rank 2) has no NVLink"));
    }

    @Test
    void takesNvSwitchesWithoutIdentityAsOne() {
        Machine machine = read(
                system(cpu(0, gpu(0, toSwitch("FFFFFFFF:FF:FF.0", 18)), gpu(1, toSwitch("FFFFFFFF:FF:FF.0", 18)))));
        assertThat(names(machine.hubs())).containsExactly("CPU 0", "NVSwitch ffffffff:ff:ff.0");
        assertThat(machine.warnings()).singleElement().asString().contains("taken as one");
    }

    @Test
    void takesPeersOfTheClassOfAnNvSwitchAsOneSwitch() {
        Machine machine = read(system(cpu(
                0,
                gpu(0, 0, 100, toSwitch(busId(1), 18), toSwitch(busId(2), 18)),
                gpu(1, 1, 100, toSwitch(busId(0), 18), toSwitch(busId(2), 18)),
                gpu(2, 2, 100, toSwitch(busId(0), 18), toSwitch(busId(1), 18)))));
        assertThat(links(machine, Link.Kind.NVLINK))
                .hasSize(3)
                .allSatisfy(link -> assertThat(link.lanes()).isEqualTo(18));
        assertThat(LinkMatrix.of(machine).gbs(0, 2)).isEqualTo(900);
        assertThat(machine.warnings()).singleElement().asString().contains("one NVSwitch");
    }

    @ParameterizedTest
    @CsvSource({"60, 20", "70, 25", "75, 25", "80, 25", "86, 14.0625", "90, 25", "100, 50"})
    void knowsTheBandwidthOfEachNvLinkGeneration(int sm, double gbs) {
        Machine machine = read(system(cpu(0, gpu(0, 0, sm, nvlink(1, 1)), gpu(1, 1, sm, nvlink(0, 1)))));
        assertThat(links(machine, Link.Kind.NVLINK))
                .singleElement()
                .satisfies(link -> assertThat(link.gbsAToB()).isEqualTo(gbs));
    }

    @ParameterizedTest
    @CsvSource({"906, 46", "908, 46", "910, 50", "gfx90a, 50", "940, 64", "gfx942, 64", "gfx950, 76.8"})
    void knowsTheBandwidthOfEachXgmiGeneration(String gcn, double gbs) {
        String text = system(cpu(
                        0,
                        gpu(0, link("xgmi", busId(1), 1, "0x038000")),
                        gpu(1, link("xgmi", busId(0), 1, "0x038000"))))
                .replace("version=\"1\"", "version=\"2\"")
                .replace("sm=\"70\"", "sm=\"104\" gcn=\"" + gcn + "\"");
        Machine machine = read(text);
        assertThat(links(machine, Link.Kind.XGMI))
                .singleElement()
                .satisfies(link -> assertThat(link.gbsAToB()).isEqualTo(gbs));
        assertThat(machine.warnings()).isEmpty();
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "2.5 GT/s      | 16 | 3.0  | false",
                "5.0 GT/s PCIe | 16 | 6.0  | false",
                "8 GT/s        | 8  | 6.0  | false",
                "16.0 GT/s PCIe| 16 | 24.0 | false",
                "32 GT/s       | 16 | 48.0 | false",
                "64.0 GT/s PCIe| 16 | 96.0 | false",
                "32 GT/s PCIe/s| 16 | 48.0 | true",
                "''            | 0  | 12.0 | true",
                "Unknown speed | 16 | 12.0 | true",
                "16.0 GT/s PCIe| '' | 24.0 | false",
                "16.0 GT/s PCIe| 255| 24.0 | true",
                "16.0 GT/s PCIe| 6  | 9.0  | true",
                "1 GT/s        | 16 | 1.2  | true",
                "128.0 GT/s    | 16 | 192.0| false",
            })
    void readsPcieSpeedsAsNcclDoes(String speed, String width, double gbs, boolean odd) {
        Machine machine = read(system(cpu(0, gpu(0)))
                .replace("8.0 GT/s PCIe", speed)
                .replace("link_width=\"16\"", "link_width=\"" + width + "\""));
        assertThat(links(machine, Link.Kind.PCIE))
                .singleElement()
                .satisfies(link -> assertThat(link.gbsAToB()).isEqualTo(gbs));
        assertThat(machine.warnings()).hasSize(odd ? 1 : 0);
    }

    @Test
    void readsACpuWithoutNumaAndAffinity() {
        Machine machine =
                read("<system version=\"1\"><cpu numaid=\"-1\">" + gpu(0) + "</cpu><cpu>" + gpu(1) + "</cpu></system>");
        assertThat(machine.devices()).extracting(Device::numa).containsExactly(-1, -1);
        assertThat(machine.warnings()).isEmpty();
    }

    @Test
    void readsCardsUnderCpusAndLoosePlaces() {
        Machine machine = read(system(cpu(
                0,
                "<nic>\n<net name=\"eth0\" dev=\"0\"/>\n<net name=\"eth1\" dev=\"1\"/>\n</nic>\n",
                pci("0000:05:00.0", "0x020000", "<net name=\"mlx5_0\" dev=\"2\"/>\n"),
                pci("0000:06:00.0", "0x020000"))));
        assertThat(machine.nics()).extracting(Nic::name).containsExactly("eth0", "eth1", "mlx5_0", "0000:06:00.0");
    }

    @Test
    void readsAFileWithoutGpuAsAMachineWithoutDevices() {
        Machine skeleton = read(system(cpu(0, pci("0001:00:00.0", "0x030200"), pci("0101:00:00.0", "0x020700"))));
        assertThat(skeleton.size()).isZero();
        assertThat(skeleton.nics()).hasSize(1);
        assertThat(skeleton.warnings()).singleElement().asString().contains("1 PCI functions", "NCCL_TOPO_DUMP_FILE");
        assertThat(read("<system version=\"1\"/>").size()).isZero();
    }

    @Test
    void readsDuplicateBusIdsWithAWarning() {
        Machine machine = read(system(cpu(
                0,
                pcieSwitch("0000:a1:00.0", gpu(0)),
                pci("0000:A1:00.0", "0x020000", "<nic><net name=\"m\" dev=\"0\"/></nic>"))));
        assertThat(machine.size()).isEqualTo(1);
        assertThat(machine.warnings()).singleElement().asString().contains("0000:a1:00.0", "line 3");
    }

    @Test
    void readsSeveralGpusOfOneFunctionUnlessALinkIsAmbiguous() {
        String two = "<gpu dev=\"0\" sm=\"90\" rank=\"0\"/>\n<gpu dev=\"1\" sm=\"90\" rank=\"1\"/>\n";
        Machine machine = read(system(cpu(0, pci(busId(0), "0x030200", two), gpu(2))));
        assertThat(machine.size()).isEqualTo(3);
        assertThat(machine.warnings()).singleElement().asString().contains("several GPUs");
        assertThatThrownBy(() -> read(system(cpu(0, pci(busId(0), "0x030200", two), gpu(2, nvlink(0, 1))))))
                .isInstanceOf(InputException.class)
                .hasMessageContaining("2 GPUs share");
    }

    @Test
    void gpusOfOneFunctionShareItsLinks() {
        String links = "<nvlink target=\"ffffffff:ff:ff.0\" count=\"36\" tclass=\"0x068000\"/>\n"
                + "<c2c bw=\"56000\" count=\"6\"/>\n";
        String two = "<gpu dev=\"0\" sm=\"107\" mlopart=\"0\" rank=\"0\">\n" + links + "</gpu>\n"
                + "<gpu dev=\"0\" sm=\"107\" mlopart=\"1\" rank=\"1\">\n" + links + "</gpu>\n";
        Machine machine = read(system(cpu(0, pci(busId(0), "0x030200", two))));
        assertThat(links(machine, Link.Kind.NVLINK)).hasSize(2).allSatisfy(link -> {
            assertThat(link.lanes()).isEqualTo(18);
            assertThat(link.gbsFrom(link.a())).isEqualTo(900);
        });
        assertThat(links(machine, Link.Kind.SOCKET))
                .hasSize(2)
                .allSatisfy(link -> assertThat(link.gbsFrom(link.a())).isEqualTo(168));
    }

    @Test
    void namesTheGpuWithoutNvLinksAmongOthers() {
        String none = "<nvlink target=\"ffffffff:ff:ff.0\" count=\"0\" tclass=\"0x068000\"/>\n";
        for (String third : List.of("", none)) {
            assertThat(read(system(cpu(
                                    0,
                                    gpu(0, toSwitch("0000:c3:00.0", 18)),
                                    gpu(1, toSwitch("0000:c3:00.0", 18)),
                                    gpu(2, third))))
                            .warnings())
                    .anyMatch(warning -> warning.startsWith("GPU2 (rank 2) has no NVLink in the file"));
        }
    }

    @Test
    void tellsHostsApart() {
        String a = cpu(0, gpu(0, nvlink(1, 1)), gpu(1, nvlink(0, 1))).replace("<cpu ", "<cpu host_hash=\"0xa\" ");
        String b = cpu(0, gpu(0, nvlink(1, 1)), gpu(1, nvlink(0, 1)))
                .replace("<cpu ", "<cpu host_hash=\"0xb\" ")
                .replace("rank=\"0\"", "rank=\"2\"")
                .replace("rank=\"1\"", "rank=\"3\"");
        Machine machine = read(system(a, b));
        assertThat(links(machine, Link.Kind.NVLINK)).hasSize(2);
        assertThat(links(machine, Link.Kind.SOCKET)).isEmpty();
        assertThat(machine.warnings()).hasSize(2).anySatisfy(w -> assertThat(w).contains("2 hosts"));
    }

    @Test
    void readsNvLinksToTheCpu() {
        Machine power = read(system(cpu(0, gpu(0, link("nvlink", "0004:04:00.0", 3, "0x068001"))))
                .replace("x86_64", "ppc64"));
        assertThat(links(power, Link.Kind.NVLINK)).singleElement().satisfies(link -> {
            assertThat(link.other(0)).isEqualTo(1);
            assertThat(link.gbsFrom(0)).isEqualTo(75);
        });
        Machine grace = read(system(cpu(0, gpu(0, 0, 90, "<c2c bw=\"44712\" count=\"10\"/>\n"))));
        assertThat(links(grace, Link.Kind.SOCKET))
                .singleElement()
                .satisfies(link -> assertThat(link.gbsFrom(0)).isCloseTo(447.12, Offset.offset(1e-9)));
    }

    @Test
    void takesTheNameOfTheSystemAndWhatPrecedesIt() {
        String text = "\n\n<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!-- a - comment -->\n"
                + system(cpu(0, gpu(0))).replace("<system ", "<system name=\"my box\" ");
        assertThat(read(text).name()).isEqualTo("my box");
    }

    @Test
    void leavesOutUnknownElementsWithAWarning() {
        Machine machine = read(system(cpu(0, "<memory size=\"1\"/>\n", gpu(0)), "<rack/>\n"));
        assertThat(machine.warnings()).singleElement().asString().contains("<memory>, <rack>");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "<graphs version=\"1\"/>                                | 1:1  | NCCL_TOPO_DUMP_FILE",
                "<html><body/></html>                                   | 1:1  | <system> is needed",
                "<system version=\"3\"/>                                | 1:1  | version 3",
                "<system version=\"one\"/>                              | 1:1  | an integer",
                "<system version=\"1\"><cpu numaid=\"x\"/></system>     | 1:21 | numaid",
                "<system version=\"1\"><cpu><gpu dev=\"0\"/></cpu></system> | 1:26 | no bus id",
                "<system version=\"1\"><cpu><pci busid=\"0\"><gpu dev=\"a\"/></pci></cpu></system> | 1:41 | dev",
                "<system version=\"1\"><cpu><pci busid=\"0\" link_width=\"wide\"/></cpu></system> | 1:26 | link_width",
                "<system version=\"1\"><cpu>                            | 1:26 | is cut off",
                "<system version=\"1\"><cpu numaid=\"0                  | 1    | is cut off",
                "<system version=\"1\"></cpu></system>                  | 1    | not well-formed",
                "<system version=\"1\" version=\"1\"/>                  | 1    | not well-formed",
                "<system version=\"1\">&nbsp;</system>                  | 1    | nbsp",
            })
    void refusesWhatItCannotUnderstand(String text, String place, String reason) {
        assertThatThrownBy(() -> read(text))
                .isInstanceOf(InputException.class)
                .hasMessageStartingWith("dir/box.xml:" + place + ":")
                .hasMessageContaining(reason);
    }

    @ParameterizedTest
    @ValueSource(strings = {"-1", "2000", "99999999999", "two", "1.5"})
    void refusesBadCounts(String count) {
        String text = system(cpu(0, gpu(0, nvlink(1, 7777)), gpu(1))).replace("7777", count);
        assertThatThrownBy(() -> read(text))
                .isInstanceOfSatisfying(InputException.class, e -> {
                    assertThat(e.line()).isEqualTo(5);
                    assertThat(e.column()).isEqualTo(1);
                })
                .hasMessageContaining("count");
    }

    @Test
    void knowsPlacesFarIntoAFile() {
        String many = "<!-- " + "padding ".repeat(5000) + "-->\n" + "<nic/>\n".repeat(3000);
        String text = system(cpu(0, many, "   <pci busid=\"x\" link_width=\"?\"/>\n"));
        assertThatThrownBy(() -> read(text)).isInstanceOfSatisfying(InputException.class, e -> {
            assertThat(e.line()).isEqualTo(3004);
            assertThat(e.column()).isEqualTo(4);
        });
    }
}

package dev.banyan.export;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import dev.banyan.topology.Device;
import dev.banyan.topology.Hub;
import dev.banyan.topology.Machine;
import dev.banyan.topology.Presets;
import dev.banyan.topology.format.MachineReader;
import dev.banyan.topology.option.MatrixUnit;
import dev.banyan.topology.option.StatedSpeeds;
import dev.banyan.trees.ring.RingSet;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Graph files, read by the rules of NCCL's parser. */
class NcclGraphTest {
    private static final int CHANNELS = NcclLimits.ANY.channels();

    @Test
    void everyMachineGetsPermutationsThatCarryWhatTheRingsCarry() throws IOException {
        checkMachines(150);
    }

    @Test
    @Tag("soak")
    void everyMachineOfThreeHundredGetsPermutationsThatCarryWhatTheRingsCarry() throws IOException {
        checkMachines(300);
    }

    private static void checkMachines(int count) throws IOException {
        List<Double> losses = new ArrayList<>();
        for (Machine machine : SampleMachines.of(count)) {
            RingSet.of(machine, IntStream.range(0, machine.size()).toArray()).ifPresent(rings -> {
                int most = most(machine);
                RingChannels channels = RingChannels.of(rings, most).filling(most);
                losses.add(channels.loss());
                check(machine, channels, NcclGraph.of(machine, channels));
            });
        }
        assertThat(losses).hasSizeGreaterThan(count * 5 / 6).allMatch(loss -> loss <= 0.03);
    }

    /** RCCL, which runs the rings of AMD's GPUs, takes more channels. */
    private static int most(Machine machine) {
        return NcclLimits.rcclRunsOn(machine) ? NcclLimits.RCCL.channels() : CHANNELS;
    }

    @Test
    void betweenTwoSocketsTheRingsCarryWhatPcieCarries() {
        Machine machine = twoSockets(64);
        RingChannels channels = channels(machine);
        double busbw = channels.channelGbs() * channels.orders().size();
        assertThat(busbw).isCloseTo(48, within(1e-9));
        assertThat(NcclGraph.of(machine, channels).type()).isEqualTo("SYS");
        // Zen 5 as NCCL counts it: its log shows two channels of 15 GB/s, and that it runs one and a copy of it.
        NcclSearch search = NcclSearch.of(machine, List.of(32.0)).getFirst();
        assertThat(search).isEqualTo(new NcclSearch(2, 15, search.rings()));
        assertThat(search.leastOfAChannelGbs()).isEqualTo(15);
        assertThat(NcclSearch.matters(channels.network())).isTrue();
        assertThat(NcclChains.of(machine, channels).areTakenBefore(channels)).isFalse();
        assertThat(channels.anyOrderIsAsGood()).isFalse();
    }

    /** A ring crosses between the sockets there and back, which 10 GB/s limit; a chain goes there, and back up. */
    @Test
    void chainsCrossANarrowLinkOnceEachWay() {
        Machine machine = twoSockets(10);
        RingChannels channels = channels(machine);
        NcclChains chains = NcclChains.of(machine, channels);
        assertThat(channels.algbw().doubleValue()).isCloseTo(10 * 8 / 14.0, within(1e-9));
        assertThat(chains.algbw().doubleValue()).isEqualTo(10);
        assertThat(chains.areTakenBefore(channels)).isTrue();
        NcclGraph graph = NcclGraph.of(machine, channels);
        assertThat(graph.chains()).isEqualTo(chains.orders());
        assertThat(graph.chainGbs() * graph.chains().size()).isEqualTo(20);
        // One ring fills that link alone, whatever NCCL counts for each of two.
        RingChannels found = NcclSearch.of(machine, List.of(10.0)).getFirst().rings();
        assertThat(RingChannels.rated(found.network(), found.orders().subList(0, 1))
                        .algbw())
                .isEqualTo(channels.algbw());
    }

    /** Two chains leave bridged pairs over different devices, so that all four PCIe links are in use. */
    @Test
    void chainsAreCutWhereTheyDisturbEachOtherLeast() {
        Machine machine = new MachineReader(MatrixUnit.CLASSES, new StatedSpeeds(4, 25, 0, "")).parse("topo.txt", """
            GPU0 GPU1 GPU2 GPU3
            GPU0 X NV4 PHB PHB
            GPU1 NV4 X PHB PHB
            GPU2 PHB PHB X NV4
            GPU3 PHB PHB NV4 X
            """);
        RingChannels channels = channels(machine);
        assertThat(channels.algbw().doubleValue()).isCloseTo(32, within(1e-9));
        assertThat(NcclChains.of(machine, channels).algbw().doubleValue()).isEqualTo(48);
    }

    private static RingChannels channels(Machine machine) {
        RingSet rings = RingSet.of(machine, IntStream.range(0, machine.size()).toArray())
                .orElseThrow();
        return RingChannels.of(rings, CHANNELS).filling(CHANNELS);
    }

    /** Eight GPUs on PCIe gen5, four behind each of two AMD sockets, pairs on switches. */
    private static Machine twoSockets(double socketGbs) {
        return new MachineReader(MatrixUnit.CLASSES, new StatedSpeeds(5, 0, socketGbs, ""))
                .read("topo.txt", new ByteArrayInputStream(topology().getBytes(StandardCharsets.UTF_8)));
    }

    private static String topology() {
        StringBuilder text = new StringBuilder();
        IntStream.range(0, 8).forEach(gpu -> text.append("\tGPU").append(gpu));
        for (int a = 0; a < 8; a++) {
            text.append("\nGPU").append(a);
            for (int b = 0; b < 8; b++) {
                text.append('\t').append(a == b ? "X" : a / 2 == b / 2 ? "PIX" : a / 4 == b / 4 ? "NODE" : "SYS");
            }
        }
        return text.append('\n').toString();
    }

    @Test
    void aroundSwitchesAnyOrderIsAsGood() {
        for (Machine machine : Presets.all()) {
            RingSet.of(machine, IntStream.range(0, machine.size()).toArray())
                    .ifPresent(rings -> assertThat(
                                    RingChannels.of(rings, CHANNELS).anyOrderIsAsGood())
                            .as(machine.name())
                            .isEqualTo(machine.hubs().stream().anyMatch(hub -> hub.kind() == Hub.Kind.NVSWITCH)));
        }
    }

    @Test
    void limitsFollowTheVersion() {
        assertThat(NcclLimits.of("2.25.0")).isEqualTo(NcclLimits.ANY);
        assertThat(NcclLimits.of("2.25.1+cuda12").channelsOf(8)).isEqualTo(32);
        assertThat(NcclLimits.of("2.30").elements()).isEqualTo(65_536);
        assertThat(NcclLimits.ANY.channelsOf(1000)).isEqualTo(2);
        assertThatThrownBy(() -> NcclLimits.of("new")).hasMessageContaining("write e.g. 2.27.5");
    }

    /** NCCL runs a channel of a file by one or two blocks of threads, however fast its links are. */
    @Test
    void ringsRepeatUntilBlocksCanFillTheLinks() {
        for (Machine machine : Presets.all()) {
            RingSet.of(machine, IntStream.range(0, machine.size()).toArray()).ifPresent(rings -> {
                RingChannels few = RingChannels.of(rings, CHANNELS).filling(CHANNELS);
                int channels = few.orders().size();
                assertThat(few.channelGbs() < 25 + 1e-6 || 2 * channels > CHANNELS)
                        .as("%s: %d channels of %f GB/s", machine.name(), channels, few.channelGbs())
                        .isTrue();
            });
        }
        RingChannels channels = channels(Machine.preset("dgx-a100").subset(0, 1));
        assertThat(channels.orders()).hasSize(12);
        assertThat(channels.channelGbs()).isEqualTo(25, within(1e-9));
    }

    @Test
    void treesOfRcclAreBinaryAndReachAllRanks() {
        for (String name : List.of("mi300x8", "p3.16xlarge", "pcie-8", "pcie-4")) {
            Machine machine = Machine.preset(name);
            RingSet rings = RingSet.of(
                            machine, IntStream.range(0, machine.size()).toArray())
                    .orElseThrow();
            RcclTrees trees = RcclTrees.of(RingChannels.of(rings, NcclLimits.RCCL.channels()));
            checkTrees(machine, trees);
            assertThat(trees.trees()).as(name).hasSizeLessThanOrEqualTo(16);
        }
    }

    private static void checkTrees(Machine machine, RcclTrees trees) {
        for (String tree : trees.value().split("\\|")) {
            assertThat(Arrays.stream(tree.split("[()]+"))
                            .filter(rank -> !rank.isEmpty())
                            .map(Integer::valueOf)
                            .sorted())
                    .isEqualTo(IntStream.range(0, machine.size()).boxed().toList());
            assertThat(mostChildren(tree)).isBetween(1, 2);
        }
    }

    private static int mostChildren(String tree) {
        Deque<Integer> children = new ArrayDeque<>(List.of(0));
        int most = 0;
        for (int i = 0; i < tree.length(); i++) {
            char c = tree.charAt(i);
            if (c == '(') {
                children.push(0);
            } else if (c == ')') {
                most = Math.max(most, children.pop());
                children.push(children.pop() + 1);
            }
        }
        return most;
    }

    private static void check(Machine machine, RingChannels channels, NcclGraph graph) {
        NcclParser.Element root = NcclParser.parse(graph.xml());
        assertThat(root.name()).isEqualTo("graphs");
        assertThat(root.attributes()).containsEntry("version", "1");
        assertThat(root.children()).hasSize(2);
        List<Integer> devices = IntStream.range(0, machine.size())
                .mapToObj(rank -> NcclGraph.number(machine, rank))
                .sorted()
                .toList();
        for (int id = 0; id < 2; id++) {
            NcclParser.Element element = root.children().get(id);
            assertThat(element.attributes().keySet())
                    .contains(
                            "id",
                            "pattern",
                            "crossnic",
                            "nchannels",
                            "speedintra",
                            "speedinter",
                            "typeintra",
                            "typeinter",
                            "samechannels");
            assertThat(element.number("id")).isEqualTo(id);
            assertThat(element.number("pattern")).isEqualTo(id == 0 ? 4 : 1);
            assertThat(element.number("nchannels"))
                    .isEqualTo(element.children().size())
                    .isEqualTo(channels.orders().size())
                    .isBetween(2, most(machine));
            assertThat(element.decimal("speedintra")).isPositive();
            for (NcclParser.Element channel : element.children()) {
                assertThat(channel.children())
                        .allMatch(
                                gpu -> gpu.attributes().getOrDefault("dev", "").startsWith("0x"));
                assertThat(channel.children().stream()
                                .map(gpu -> gpu.number("dev"))
                                .sorted())
                        .isEqualTo(devices);
            }
        }
        double n = machine.size();
        assertThat(root.children().getFirst().decimal("speedintra")
                        * channels.orders().size())
                .as("busbw of the rings on %s", machine.name())
                .isCloseTo(channels.algbw().doubleValue() * 2 * (n - 1) / n, within(0.001 * CHANNELS));
    }

    /** RCCL's files state sm beside gcn, and what nvidia-smi prints without -L names no GPUs. */
    @Test
    void theMakerOfGpusIsReadFromLinksAndAttributes() {
        assertThat(NcclLimits.isOfNvidia(Machine.preset("mi300x8"))).isFalse();
        assertThat(NcclLimits.isOfNvidia(Machine.preset("g5.48xlarge"))).isTrue();
        assertThat(NcclLimits.isOfNvidia(new MachineReader().parse("two.txt", "GPU0 GPU1\nGPU0 X NV4\nGPU1 NV4 X\n")))
                .isTrue();
        Device amd = new Device("GPU0", null, 0, Map.of("sm", "104", "gcn", "910"));
        assertThat(NcclLimits.isOfNvidia(new Machine("amd", List.of(amd), List.of(), List.of(), List.of(), List.of())))
                .isFalse();
    }
}

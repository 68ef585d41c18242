package dev.banyan.study.machine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.banyan.InputException;
import dev.banyan.schedule.type.Collective;
import dev.banyan.topology.Link;
import dev.banyan.topology.Machine;
import dev.banyan.topology.Presets;
import dev.banyan.topology.format.MachineReader;
import dev.banyan.topology.internal.peer.RefusedPairs;
import dev.banyan.trees.bound.Bound;
import dev.banyan.trees.network.Network;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** No limit that is printed as what no schedule can exceed is below what somebody measured on such a machine. */
class PublishedFiguresTest {
    /** Descriptions of one kind of machine. */
    private static final Map<String, List<String>> SAME = Map.of(
            "8xA100",
            List.of(
                    "dgx-a100",
                    "topo_m/dgxa100_8xA100_mlx5x12.txt",
                    "topo_m/stas00_a100x8_NV12.txt",
                    "xml/simai_topo_8A100_4CX6.xml"),
            "8xV100",
            List.of(
                    "p3.16xlarge",
                    "topo_m/dgx1v_8xV100_mlx5x4.txt",
                    "topo_m/oneflow_8xV100-SXM2-16GB.txt",
                    "topo_m/vm64vcpu_8xV100_PHB.txt",
                    "topo_m/8xV100_single_space_htmlcopy.txt",
                    "topo_m/8xV100-SXM2-32GB_NIC0_gpunuma.txt"));

    private static Path shared(String folder) {
        Path path = Path.of(System.getProperty("banyan.shared", "."), folder);
        assumeTrue(Files.isDirectory(path), "no published figures at " + path + " (a folder of ../shared/)");
        return path;
    }

    /** The greatest limit: that which counts all links and all abilities of switches. */
    private static double limitGbs(Machine machine, Collective collective) {
        List<Integer> group = IntStream.range(0, machine.size()).boxed().toList();
        ChosenMachine chosen = new ChosenMachine(machine, group, machine, null);
        Network network = chosen.network();
        Bound bound = Limit.bound(collective, network, 0);
        return Limit.beyond(chosen, new int[0], network, collective, 0, bound).stream()
                .mapToDouble(Limit::algbwGBs)
                .reduce(bound.gbs().doubleValue(), Math::max);
    }

    private static Machine machine(String name) {
        return Presets.find(name)
                .orElseGet(() -> new MachineReader().read(shared("corpus").resolve(name)));
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
        # figures                                | collective     | machines
        abci_4xA100_allreduce.csv                | all_reduce     | xml/simai_topo_4A100_2CX6.xml
        abci_8xA100_allreduce.csv                | all_reduce     | 8xA100
        abci_8xA100_bcast.csv                    | broadcast      | 8xA100
        oci_bm_gpu4.8_8xA100_10G.csv             | all_reduce     | 8xA100
        superbench_8xA100_allgather.csv          | all_gather     | 8xA100
        superbench_8xA100_reduce.csv             | reduce         | 8xA100
        superbench_8xA100_reducescatter.csv      | reduce_scatter | 8xA100
        hybridcube_8xV100-SXM2-16GB_allreduce.csv | all_reduce    | 8xV100
        oci_bm_gpu3.8_8xV100_1G.csv              | all_reduce     | 8xV100
        gdr116_4xV100-SXM2_noNVLink_allreduce.csv | all_reduce    | p3.8xlarge topo_m/p3.8xlarge_4xV100.txt
        autodl_2x2080Ti_all_gather.csv           | all_gather     | topo_m/autodl_2x2080Ti_PIX.txt
        autodl_2x2080Ti_all_reduce.csv           | all_reduce     | topo_m/autodl_2x2080Ti_PIX.txt
        autodl_2x2080Ti_broadcast.csv            | broadcast      | topo_m/autodl_2x2080Ti_PIX.txt
        autodl_2x2080Ti_reduce.csv               | reduce         | topo_m/autodl_2x2080Ti_PIX.txt
        panlichen_2x4090_allreduce.csv           | all_reduce     | xml/yynil_topo.xml
        panlichen_8x4090_allreduce.csv           | all_reduce     | rtx4090x8
        """)
    void isNotBelowWhatNcclReached(String figures, String collective, String machines) throws IOException {
        double measured = greatestAlgbw(shared("figures/nccl_tests").resolve(figures));
        assertThat(measured).isPositive();
        for (String name : SAME.getOrDefault(machines, List.of(machines.split(" ", -1)))) {
            assertThat(limitGbs(machine(name), Collective.valueOf(collective.toUpperCase(Locale.ROOT))))
                    .as("%s on %s", collective, name)
                    .isGreaterThan(measured);
        }
    }

    /** NCCL reaches a busbw of about 480 GB/s on eight H100 by their switches (nccl-tests, issues 212 and 272). */
    @ParameterizedTest
    @CsvSource({
        "dgx-h100",
        "h200",
        "topo_m/stas00_h100x8_NV18.txt",
        "topo_m/h100x8_12nic_numaoff.txt",
        "xml/hgx_h200_8x_vastai.xml",
        "xml/oracle-quickstart_H100-topology.xml"
    })
    void countsReductionInTheSwitchesOfH100(String name) {
        assertThat(limitGbs(machine(name), Collective.ALL_REDUCE)).isGreaterThan(480 * 8 / 14.0);
    }

    @Test
    void filesThatLeaveNvLinksToNcclSaySo() {
        assertThat(machine("xml/aws_p5_2026_authored.xml").assumed())
                .containsExactly(
                        "no NVLinks, as the file lists none (NCCL completes files that people wrote)",
                        RefusedPairs.GRANTED);
        assertThat(machine("xml/oracle-quickstart_H100-topology.xml").assumed())
                .noneMatch(phrase -> phrase.contains("NVLinks"));
    }

    /** Greatest of the columns of algbw. */
    private static double greatestAlgbw(Path csv) throws IOException {
        List<String[]> rows = Files.readAllLines(csv).stream()
                .map(line -> line.split(",", -1))
                .toList();
        List<String> header = Arrays.asList(rows.getFirst());
        int[] columns = IntStream.range(0, header.size())
                .filter(column -> header.get(column).endsWith("algbw_GBs"))
                .toArray();
        return rows.stream()
                .skip(1)
                .flatMapToDouble(row -> Arrays.stream(columns)
                        .filter(column -> !row[column].isEmpty())
                        .mapToDouble(column -> Double.parseDouble(row[column])))
                .max()
                .orElse(0);
    }

    /** Text names no speeds, so that each description of it that can be read says what was assumed. */
    @Test
    void everyAssumedSpeedIsNamed() {
        int read = 0;
        for (Path file : files("topo_m")) {
            Optional<Machine> machine = readable(file);
            if (machine.isPresent() && machine.get().size() > 1) {
                Machine found = machine.get();
                boolean nvlink =
                        found.links().stream().anyMatch(link -> link.kind().isNvLinkClass());
                String assumed = String.join("; ", found.assumed());
                assertThat(assumed.contains("per NVLink"))
                        .as("NVLink of %s", file)
                        .isEqualTo(nvlink);
                boolean known = found.links().stream()
                        .filter(link -> link.kind() == Link.Kind.PCIE)
                        .allMatch(link -> link.gbsAToB() / link.lanes() > 0.75);
                assertThat(assumed.contains("PCIe gen3")).as("PCIe of %s", file).isEqualTo(!known);
                read++;
            }
        }
        assertThat(read).isGreaterThan(25);
    }

    /** Every description of two devices and more has limits, in the right order. */
    @Test
    void limitsOfAllDescriptionsAreOrdered() {
        int described = 0;
        for (String folder : List.of("topo_m", "xml", "xml/rccl", "xml_partial")) {
            for (Path file : files(folder)) {
                Machine machine = readable(file).orElse(null);
                if (machine == null || machine.size() < 2) {
                    continue;
                }
                List<Integer> group = IntStream.range(0, machine.size()).boxed().toList();
                ChosenMachine chosen = new ChosenMachine(machine, group, machine, null);
                Network network = chosen.network();
                for (Collective collective : Collective.values()) {
                    Bound bound = Limit.bound(collective, network, 0);
                    double last = bound.gbs().doubleValue();
                    for (Limit limit : Limit.beyond(chosen, new int[0], network, collective, 0, bound)) {
                        boolean reduced = limit.counted().endsWith("with reduction in switches");
                        assertThat(limit.algbwGBs())
                                .as("%s of %s (%s)", collective, file, limit.counted())
                                .isGreaterThanOrEqualTo(
                                        reduced ? last : bound.gbs().doubleValue());
                        last = limit.algbwGBs();
                    }
                }
                described++;
            }
        }
        assertThat(described + Presets.all().size()).isGreaterThan(80);
    }

    private static List<Path> files(String folder) {
        try (Stream<Path> files = Files.list(shared("corpus").resolve(folder))) {
            return files.filter(Files::isRegularFile).sorted().toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static Optional<Machine> readable(Path file) {
        try {
            return Optional.of(new MachineReader().read(file));
        } catch (InputException e) {
            return Optional.empty();
        }
    }
}

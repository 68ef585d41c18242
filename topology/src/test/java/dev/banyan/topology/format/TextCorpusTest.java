package dev.banyan.topology.format;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.banyan.InputException;
import dev.banyan.topology.Hub;
import dev.banyan.topology.LinkMatrix;
import dev.banyan.topology.Machine;
import dev.banyan.topology.internal.text.Token;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Every text file of the corpus of real captures, where it is there. */
class TextCorpusTest {
    private final MachineReader reader = new MachineReader();

    static Path corpus(String folder) {
        Path path = Path.of(System.getProperty("banyan.shared", "."), "corpus", folder);
        assumeTrue(Files.isDirectory(path), "no real captures at " + path + " (system property banyan.shared)");
        return path;
    }

    static List<Path> filesOf(String folder) {
        try (Stream<Path> files = Files.list(corpus(folder))) {
            return files.sorted().toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** The printed rows, read naively: words of the lines that begin with GPU and hold a cell. */
    private static List<List<String>> printedRows(Path file) throws IOException {
        return Files.readString(file)
                .lines()
                .map(line -> line.replace("|", " ").strip())
                .map(line -> line.substring(Math.max(0, line.indexOf("GPU"))))
                .filter(line -> line.matches("GPU\\d+\\s.*\\bX\\b.*"))
                .map(line -> Token.words(line).stream().map(Token::text).toList())
                .toList();
    }

    @ParameterizedTest
    @CsvSource(quoteCharacter = '"', textBlock = """
        # file, devices, cards, class of 0-1 and of 0-last, GB/s of 0-1, NVSwitch, connected by NVLink
        2x3090_NV4.txt, 2, 0, 3, 3, 100, false, true
        2x5090_PHB.txt, 2, 0, 1, 1, 12, false, false
        2xA100_NV4_no_leading_tab.txt, 2, 0, 3, 3, 100, false, true
        2xK80_4gpu_mlx4.txt, 4, 1, 1, 1, 12, false, false
        2xgpu_NV2_workstation.txt, 2, 0, 3, 3, 50, false, true
        4xA100_NV4_single_cpu_blank.txt, 4, 3, 3, 3, 100, false, true
        4xgpu_PIX_PHB.txt, 4, 0, 1, 1, 12, false, false
        4xgpu_all_NODE.txt, 4, 0, 1, 1, 12, false, false
        4xgpu_all_PIX.txt, 4, 0, 1, 1, 12, false, false
        8xL40S_NODE_SYS.txt, 8, 1, 1, 1, 12, false, false
        8xP40_PIX_PXB_SOC.txt, 8, 1, 1, 1, 12, false, false
        8xV100-SXM2-32GB_NIC0_gpunuma.txt, 8, 1, 2, 1, 25, false, true
        8xV100_single_space_htmlcopy.txt, 8, 0, 2, 1, 25, false, true
        autodl_2x2080Ti_PIX.txt, 2, 0, 1, 1, 12, false, false
        capture_linux-x86_64__nvidia-geforce-rtx-2080-super__595.71.05.txt, 1, 0, 0, 0, 0, false, true
        capture_linux-x86_64__nvidia-geforce-rtx-4080-super__595.71.05.txt, 1, 0, 0, 0, 0, false, true
        capture_linux-x86_64__nvidia-h100-80gb-hbm3__590.48.01.txt, 1, 0, 0, 0, 0, false, true
        dcgm_topology_1gpu_concat_header.txt, 1, 0, 0, 0, 0, false, true
        dgx1p_8xP100_SOC_concat_header.txt, 8, 4, 2, 1, 20, false, true
        dgx1v_8xV100_mlx5x4.txt, 8, 4, 2, 1, 25, false, true
        dgxa100_8xA100_mlx5x12.txt, 8, 12, 3, 3, 300, true, true
        h100x8_12nic_numaoff.txt, 8, 12, 3, 3, 450, true, true
        hgx_b200_8x.txt, 8, 0, 3, 3, 450, true, true
        minsky_power8_4xP100_SOC.txt, 4, 2, 3, 1, 40, false, false
        oneflow_8xV100-SXM2-16GB.txt, 8, 1, 2, 1, 25, false, true
        p3.8xlarge_4xV100.txt, 4, 0, 2, 3, 25, false, true
        perlmutter_4xA100.txt, 4, 0, 3, 3, 100, false, true
        polaris_4xA100_header_shift.txt, 4, 2, 3, 3, 100, false, true
        polaris_4xA100_mdtable.txt, 4, 2, 3, 3, 100, false, true
        princeton_della_2xA100.txt, 2, 2, 1, 1, 10, false, false
        princeton_traverse_ac922_4xV100.txt, 4, 4, 3, 1, 75, false, false
        stas00_a100x8_NV12.txt, 8, 0, 3, 3, 300, true, true
        stas00_h100x8_NV18.txt, 8, 0, 3, 3, 450, true, true
        stas00_pair_NV2.txt, 2, 0, 3, 3, 50, false, true
        stas00_pair_PHB.txt, 2, 0, 1, 1, 12, false, false
        vm64vcpu_8xV100_PHB.txt, 8, 0, 2, 1, 25, false, true
        """)
    void readsTopo(
            String file, int devices, int cards, int first, int last, double gbs, boolean nvSwitch, boolean connected)
            throws IOException {
        Path path = corpus("topo_m").resolve(file);
        Machine machine = reader.read(path);
        LinkMatrix matrix = LinkMatrix.of(machine);

        assertThat(machine.warnings()).isEmpty();
        assertThat(machine.size()).isEqualTo(devices);
        assertThat(machine.nics()).hasSize(cards);
        assertThat(machine.hubs().stream().anyMatch(hub -> hub.kind() == Hub.Kind.NVSWITCH))
                .isEqualTo(nvSwitch);
        assertThat(matrix.nvlinkConnected()).isEqualTo(connected);
        if (devices > 1) {
            assertThat(matrix.classOf(0, 1)).isEqualTo(first);
            assertThat(matrix.gbs(0, 1)).isEqualTo(gbs);
            assertThat(matrix.classOf(0, devices - 1)).isEqualTo(last);
        }
        List<List<String>> printed = printedRows(path);
        List<String> labels = TopoTextFormatTest.labels(machine);
        assertThat(printed).hasSize(devices);
        for (int a = 0; a < devices; a++) {
            assertThat(labels.get(a))
                    .as("row of GPU%d", a)
                    .isEqualTo(String.join(" ", printed.get(a).subList(1, 1 + devices + cards))
                            .replace("SOC", "SYS"));
        }
    }

    @ParameterizedTest
    @CsvSource({
        "8xgpu_wrapped_terminal_fragment.txt, wrapped",
        "capture_windows-x86_64__nvidia-geforce-rtx-2080-super__591.86.txt, error message of nvidia-smi",
        "dgx1_topo_mp_pcie_only.txt, topo -mp",
        "dgx2_16xV100_first4rows_fragment.txt, truncated",
        "p2p_r_l4x2_CNS.txt, topo -p2p",
        "p2p_rw_2x5090_GNS.txt, topo -p2p"
    })
    void refusesTopo(String file, String reason) {
        Path path = corpus("topo_m").resolve(file);

        assertThatThrownBy(() -> reader.read(path))
                .isInstanceOf(InputException.class)
                .hasMessageContaining(reason);
    }

    @ParameterizedTest
    @ValueSource(strings = {"nvlink", "p2p"})
    void refusesMeasurementsAndSaysWhatToRun(String folder) {
        for (Path path : filesOf(folder)) {
            assertThatThrownBy(() -> reader.read(path))
                    .isInstanceOf(InputException.class)
                    .hasMessageContaining("nvidia-smi topo -m");
        }
    }

    /** A file that nobody wrote an expectation for is at least read or refused. */
    @Test
    void readsOrRefusesEveryFile() {
        for (Path path : filesOf("topo_m")) {
            try {
                LinkMatrix.of(reader.read(path));
            } catch (InputException e) {
                assertThat(e).hasMessageStartingWith(path + ":");
            }
        }
    }

    @Test
    void readsPeerAccessOfALog() throws IOException {
        Path log = corpus("../figures/mxnet").resolve("issue12994_p2p_matrices.txt");
        List<String> lines = Files.readAllLines(log);

        LinkMatrix five = LinkMatrix.of(reader.parse("five", String.join("\n", lines.subList(0, 6))));
        assertThat(MatrixFormatTest.classes(five)[4]).containsExactly(2, 1, 1, 1, 0);
        LinkMatrix six = LinkMatrix.of(reader.parse("six", String.join("\n", lines.subList(6, 13))));
        assertThat(MatrixFormatTest.classes(six)[5]).containsExactly(1, 2, 1, 1, 2, 0);
        assertThatThrownBy(() -> reader.parse("cut", String.join("\n", lines.subList(13, lines.size()))))
                .isInstanceOf(InputException.class)
                .hasMessageContaining("6 rows of 7 columns");
        assertThatThrownBy(() -> reader.read(log))
                .isInstanceOf(InputException.class)
                .hasMessageContaining("a file holds one machine");
    }
}

package dev.banyan.topology.format;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.banyan.InputException;
import dev.banyan.topology.LinkMatrix;
import dev.banyan.topology.Machine;
import dev.banyan.topology.NoPeerAccess;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Descriptions that owners of such machines published, where they are there. */
class CaseFilesTest {
    private static Path file(String name) {
        Path path = Path.of(System.getProperty("banyan.shared", "."), "cases", name);
        assumeTrue(Files.exists(path), "no such description at " + path + " (system property banyan.shared)");
        return path;
    }

    @ParameterizedTest
    @CsvSource(textBlock = """
        # file, devices, GB/s of 0-1 and of 0-last, peer access of 0-1, part of a warning
        001_a100pcie_pairs_topo.txt, 8, 300, 10, true,
        002_t4x4_sys_node_topo.txt, 4, 10, 10, true,
        003_nv3_pair_nolead.txt, 2, 75, 75, true,
        004_c4140_4xV100_nv2_topo.txt, 4, 50, 50, true,
        005_8xV100_cubemesh_swapped_2nic.txt, 8, 50, 0, true,
        006_6gpu_pix_node_sys.txt, 6, 12, 10, true,
        007_2xRTXPRO6000_PHB.txt, 2, 12, 12, true,
        008_gb300_1tray.xml, 4, 900, 900, true,
        010_gb300_2tray_rank5_no_nvlink.xml, 8, 900, 900, true, GPU5 (rank 5; GPU1 of its host) has no NVLink
        011_gb300_1tray_gpu1_count0.xml, 4, 223.56, 900, true, GPU1 (rank 1) has no NVLink
        012_gb300_1tray_gpu1_no_nvlink.xml, 4, 223.56, 900, true, GPU1 (rank 1) has no NVLink
        013_vr200_mlopart.xml, 2, 900, 900, true, an equal share of the links
        015_mi355x_amdsmi_weight0_bw0.txt, 8, 50, 50, true,
        016_mi355x_with_amdsmi_table.txt, 8, 76.8, 76.8, true,
        017_2x7900xtx_amdsmi_disabled.txt, 2, 12, 12, false,
        018_rocmsmi_4gpu_pcie_w52_h3.txt, 4, 12, 10, true,
        019_rocmsmi_mi210x4_xgmi.txt, 4, 50, 50, true,
        020_rocmsmi_8gpu_warning_line.txt, 8, 50, 50, true,
        021_rocmsmi_markdown_tables.md, 8, 50, 50, true,
        060_mi250x_rocmsmi_weights.txt, 8, 200, 0, true,
        061_mi100_linktype_only.txt, 8, 12, 50, true,
        063_h800_nv8_9nic.txt, 8, 200, 200, true,
        065_8gpu_allSYS_no_lead.txt, 8, 12, 10, true,
        066_padded_220.txt, 8, 300, 10, true,
        067_8x4090_SYS_within_numa.txt, 8, 12, 10, true,
        068_4xH100_NV6.txt, 4, 150, 150, true, NV6
        070b_same_p2p_OK.md, 2, 12, 12, true,
        071_vllm_ESC_lost.txt, 2, 24, 24, true,
        071b_caret_bracket.txt, 2, 100, 100, true,
        072_squashed_affinity.txt, 8, 450, 450, true,
        073_github_table_814.md, 6, 12, 12, true,
        075_uneven_6plus2.txt, 8, 12, 10, true,
        076_4x3090_nv4_pairs.txt, 4, 12, 12, true,
        076b_timestamps_each_line.txt, 4, 12, 12, true,
        076c_docker_compose_prefix.txt, 4, 12, 12, true,
        076d_crlf.txt, 4, 12, 12, true,
        076e_slurm_task_prefix.txt, 4, 12, 12, true,
        076f_email_quote.txt, 4, 12, 12, true,
        076g_syslog_prefix.txt, 4, 12, 12, true,
        076h_vllm_collect_env_models.txt, 4, 24, 24, true,
        078_gpu_lost.txt, 2, 300, 300, true, lost GPU2
        078b_B200_one_gpu_no_nvlink.txt, 4, 900, 900, true, GPU2 has no NVLink
        079_mig_list_and_topo.txt, 2, 48, 48, false, MIG instances
        079b_mixed_models.txt, 2, 48, 48, true, 2 models
        079c_vgpu_grid.txt, 2, 12, 12, true, GRID A100D-80C
        079d_nvlink_s_partial.txt, 2, 42.1875, 42.1875, true,
        079f_mixed_known_models.txt, 2, 24, 24, false, 2 models
        090b_topo_8x3090.txt, 8, 24, 24, true,
        091b_topo_2x4090.txt, 2, 24, 24, false,
        """)
    void isReadAsItsOwnerHasIt(String name, int devices, double first, double last, boolean access, String warning) {
        Machine machine = new MachineReader().read(file(name));
        LinkMatrix links = LinkMatrix.of(machine);
        assertThat(machine.size()).isEqualTo(devices);
        assertThat(links.gbs(0, 1)).as("0-1").isEqualTo(first);
        assertThat(links.gbs(0, devices - 1)).as("0-last").isEqualTo(last);
        assertThat(NoPeerAccess.between(machine, 0, 1)).isEqualTo(!access);
        if (warning != null) {
            assertThat(machine.warnings()).anyMatch(sentence -> sentence.contains(warning));
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "022_rocmsmi_side_by_side.txt",
                "064_dgxh100_lost_tab_header.txt",
                "064b_dgxb200_lost_tab_rows_only.txt",
                "074_commented_NV_no_number.txt",
                "079e_nvlink_s_only.txt",
            })
    void isRefused(String name) {
        Path file = file(name);
        assertThatThrownBy(() -> new MachineReader().read(file)).isInstanceOf(InputException.class);
    }
}

package dev.banyan.topology;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;

/**
 * Well-known machines by name.
 *
 * <p>NVLink and xGMI bandwidths are the hardware's peak one way. NVSwitches of one box are one hub: the
 * hardware spreads each transfer over all of them by address. PCIe and socket bandwidths are the usable
 * ones that NCCL assumes, and latencies sum, along a path, to those that p2pBandwidthLatencyTest measures.
 */
public final class Presets {
    /** GPUs 0-3 and 4-7 are full quads; i and i+4 are linked: a hybrid cube mesh. Links are {a, b, lanes}. */
    private static final int[][] DGX_1P_LINKS = {
        {0, 1, 1}, {0, 2, 1}, {0, 3, 1}, {1, 2, 1}, {1, 3, 1}, {2, 3, 1},
        {4, 5, 1}, {4, 6, 1}, {4, 7, 1}, {5, 6, 1}, {5, 7, 1}, {6, 7, 1},
        {0, 4, 1}, {1, 5, 1}, {2, 6, 1}, {3, 7, 1},
    };

    private static final int[][] V100_QUAD_LINKS = {
        {0, 1, 1}, {0, 2, 1}, {0, 3, 2}, {1, 2, 2}, {1, 3, 1}, {2, 3, 2},
    };

    /** The same mesh with 24 lanes: six per GPU. */
    private static final int[][] DGX_1V_LINKS = {
        {0, 1, 1}, {0, 2, 1}, {0, 3, 2}, {1, 2, 2}, {1, 3, 1}, {2, 3, 2},
        {4, 5, 1}, {4, 6, 1}, {4, 7, 2}, {5, 6, 2}, {5, 7, 1}, {6, 7, 2},
        {0, 4, 2}, {1, 5, 2}, {2, 6, 1}, {3, 7, 1},
    };

    /**
     * Eight MI250X: dies 2i and 2i+1 share a package over four lanes; each package has six lanes to
     * others. These are the links of the 16P1H node that RCCL's topology explorer knows.
     */
    private static final int[][] MI250X_LINKS = {
        {0, 1, 4}, {2, 3, 4}, {4, 5, 4}, {6, 7, 4}, {8, 9, 4}, {10, 11, 4}, {12, 13, 4},
        {14, 15, 4}, {0, 2, 1}, {0, 4, 2}, {1, 2, 1}, {1, 3, 1}, {1, 5, 1}, {2, 6, 1},
        {3, 7, 2}, {4, 12, 1}, {5, 13, 1}, {5, 14, 1}, {6, 13, 1}, {6, 14, 1}, {7, 15, 1},
        {8, 10, 1}, {8, 12, 2}, {9, 10, 1}, {9, 11, 1}, {9, 13, 1}, {10, 14, 1}, {11, 15, 2},
    };

    /** By name and alias; aliases follow the machine's own name. */
    private static final Map<String, Machine> BY_NAME = byName();

    private Presets() {}

    private static Map<String, Machine> byName() {
        Map<String, Machine> map = new LinkedHashMap<>();
        // 8 V100, hybrid cube mesh of single and double NVLinks (24 lanes). CUDA grants peer access over NVLinks alone
        // (github.com/apache/mxnet, issue 12994).
        PresetBuilder p3 = new PresetBuilder("p3.16xlarge", 8, Gpu.V100, 3).sockets(2, Cpu.INTEL_XEON);
        add(map, p3.switchesOf(2).direct(DGX_1V_LINKS).withoutPeerAccessByPcie(), "dgx-1v");
        // 4 V100, all linked by single and double NVLinks (9 lanes).
        PresetBuilder p3Quad = new PresetBuilder("p3.8xlarge", 4, Gpu.V100, 3).sockets(1, Cpu.INTEL_XEON);
        add(map, p3Quad.switchesOf(2).direct(V100_QUAD_LINKS));
        add(map, p2());
        // 8 P100, hybrid cube mesh of single NVLinks (16 lanes), peer access as on its successor.
        PresetBuilder dgx1 = new PresetBuilder("dgx-1p", 8, Gpu.P100, 3).sockets(2, Cpu.INTEL_XEON);
        add(map, dgx1.switchesOf(2).direct(DGX_1P_LINKS).withoutPeerAccessByPcie(), "dgx-1");
        add(map, dgx2());
        // 8 A100, NVSwitch, 12 NVLinks per GPU: "NVIDIA A100 Tensor Core GPU Architecture", 2020. Two GPUs share a PCIe
        // switch: AWS's topology files of p4d and p4de (aws-ofi-nccl, topology/).
        PresetBuilder a100 = new PresetBuilder("dgx-a100", 8, Gpu.A100, 4).sockets(2, Cpu.AMD_ROME);
        add(map, a100.switchesOf(2).nvSwitch(12), "p4d.24xlarge", "p4de.24xlarge");
        // 8 H100, NVSwitch, 18 NVLinks per GPU: "NVIDIA H100 Tensor Core GPU Architecture", 2022.
        PresetBuilder h100 = new PresetBuilder("dgx-h100", 8, Gpu.H100, 5).sockets(2, Cpu.SAPPHIRE_RAPIDS);
        add(map, h100.switchesOf(1).nvSwitch(18), "p5.48xlarge");
        // 8 H200: NVLink and PCIe as H100 ("NVIDIA H200 Tensor Core GPU", data sheet: 900 GB/s, PCIe gen5).
        PresetBuilder h200 = new PresetBuilder("h200", 8, Gpu.H200, 5).sockets(2, Cpu.SAPPHIRE_RAPIDS);
        add(map, h200.switchesOf(1).nvSwitch(18), "hgx-h200", "p5e.48xlarge", "p5en.48xlarge");
        // 8 B200, 18 NVLinks of twice the speed ("NVIDIA DGX B200", data sheet: 14.4 TB/s both ways for eight, two Xeon
        // 8570).
        PresetBuilder b200 = new PresetBuilder("dgx-b200", 8, Gpu.B200, 5).sockets(2, Cpu.EMERALD_RAPIDS);
        add(map, b200.switchesOf(1).nvSwitch(18), "hgx-b200");
        // A compute tray of GB200 NVL72: 2 superchips of a Grace and two B200, which share 900 GB/s both ways of
        // NVLink-C2C; 1.8 TB/s both ways from each GPU to the switches ("NVIDIA GB200 NVL72", data sheet).
        PresetBuilder gb200 = new PresetBuilder("gb200-tray", 4, Gpu.GB200, 5).sockets(2, Cpu.GRACE);
        add(map, gb200.onSockets(225).nvSwitch(18));
        // GB200 NVL4: 4 GPUs on one board, joined by NVLink without a switch ("NVIDIA GB200 NVL4", 2024). That the 18
        // links of each go to the other three alike is assumed.
        PresetBuilder nvl4 = new PresetBuilder("gb200-nvl4", 4, Gpu.GB200, 5).sockets(2, Cpu.GRACE);
        add(map, nvl4.onSockets(225).allToAll(6));
        // 8 MI300X, an xGMI link between any two and PCIe gen5 ("AMD Instinct MI300X Platform", data sheet: 128 GB/s
        // both ways per link, 896 GB/s per GPU).
        PresetBuilder mi300x = new PresetBuilder("mi300x8", 8, Gpu.MI300X, 5).sockets(2, Cpu.AMD_GENOA);
        add(map, mi300x.switchesOf(1).allToAll(1));
        // 8 MI250X (16 dies), 4 xGMI links within a package, 6 out of it.
        PresetBuilder mi250x = new PresetBuilder("mi250x8", 16, Gpu.MI250X, 4).sockets(2, Cpu.AMD_ROME);
        add(map, mi250x.switchesOf(4).direct(MI250X_LINKS));
        // 8 A10G, PCIe gen4 x16 ("NVIDIA A10 Tensor Core GPU", data sheet), four to a CPU without a switch: AWS's
        // topology file of g5.48xlarge (aws-ofi-nccl, topology/). CUDA refuses peer access there
        // (github.com/NVIDIA/TensorRT-LLM, issue 1034).
        add(
                map,
                new PresetBuilder("g5.48xlarge", 8, Gpu.A10G, 4)
                        .sockets(2, Cpu.AMD_ROME)
                        .hostBridges()
                        .withoutPeerAccessByPcie());
        // 8 L40S, PCIe gen4 x16 ("NVIDIA L40S", data sheet), four to a CPU, as nvidia-smi shows such servers: NODE,
        // SYS.
        add(
                map,
                new PresetBuilder("l40sx8", 8, Gpu.L40S, 4)
                        .sockets(2, Cpu.SAPPHIRE_RAPIDS)
                        .hostBridges());
        // 8 RTX 4090, PCIe gen4 x16 ("NVIDIA Ada GPU Architecture", 2022), four to a CPU. The driver grants GeForce
        // 4090 no peer access (NVIDIA developer forums, "Standard nVidia CUDA tests fail with dual RTX 4090", 2023).
        add(
                map,
                new PresetBuilder("rtx4090x8", 8, Gpu.RTX_4090, 4)
                        .sockets(2, Cpu.AMD_ROME)
                        .hostBridges()
                        .withoutPeerAccessByPcie());
        // PCIe gen3 x16, switches of two GPUs under one socket or two.
        add(
                map,
                new PresetBuilder("pcie-4", 4, Gpu.GENERIC, 3)
                        .sockets(1, Cpu.INTEL_XEON)
                        .switchesOf(2));
        add(
                map,
                new PresetBuilder("pcie-8", 8, Gpu.GENERIC, 3)
                        .sockets(2, Cpu.INTEL_XEON)
                        .switchesOf(2));
        return Collections.unmodifiableMap(map);
    }

    private static void add(Map<String, Machine> map, PresetBuilder builder, String... aliases) {
        Machine machine = builder.build();
        map.put(machine.name(), machine);
        for (String alias : aliases) {
            map.put(alias, machine);
        }
    }

    /** 16 K80: eight boards of two with a switch each, all on one PCIe fabric, so that any pair is peer to peer. */
    private static PresetBuilder p2() {
        PresetBuilder builder = new PresetBuilder("p2.16xlarge", 16, Gpu.K80, 3).sockets(1, Cpu.INTEL_XEON);
        int root = builder.pcieSwitch(builder.socket(0));
        for (int half = 0; half < 2; half++) {
            int upper = builder.pcieSwitch(root);
            for (int board = 0; board < 4; board++) {
                builder.devices(builder.pcieSwitch(upper), 0, half * 8 + board * 2, 2);
            }
        }
        return builder;
    }

    /** 16 V100, 6 NVLinks per GPU; under each socket two switches, under each of them two more with two GPUs each. */
    private static PresetBuilder dgx2() {
        PresetBuilder builder = new PresetBuilder("dgx-2", 16, Gpu.V100_SXM3, 3).sockets(2, Cpu.INTEL_XEON);
        for (int quad = 0; quad < 4; quad++) {
            int upper = builder.pcieSwitch(builder.socket(quad / 2));
            builder.devices(builder.pcieSwitch(upper), quad / 2, quad * 4, 2);
            builder.devices(builder.pcieSwitch(upper), quad / 2, quad * 4 + 2, 2);
        }
        return builder.nvSwitch(6);
    }

    /** All machines, in the order in which they should be listed. */
    public static List<Machine> all() {
        return BY_NAME.values().stream().distinct().toList();
    }

    /** Every name that {@link #find} knows, aliases after their machine's own name. */
    public static List<String> names() {
        return List.copyOf(BY_NAME.keySet());
    }

    /**
     * The machine of a name or alias.
     *
     * @param name in any case, e.g. {@code P3.16xlarge} or {@code dgx-1v}
     */
    public static Optional<Machine> find(String name) {
        return Optional.ofNullable(BY_NAME.get(name.toLowerCase(Locale.ROOT)));
    }
}

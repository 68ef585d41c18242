package dev.banyan.topology.format;

import java.util.List;

/** Descriptions of small machines, made up for the tests in the manner of the real tools. */
final class Fixtures {
    static final String LEGEND = """

        Legend:

          X    = Self
          SYS  = Connection traversing PCIe as well as the SMP interconnect between NUMA nodes (e.g., QPI/UPI)
          NODE = Connection traversing PCIe as well as the interconnect between PCIe Host Bridges within a NUMA node
          PHB  = Connection traversing PCIe as well as a PCIe Host Bridge (typically the CPU)
          PXB  = Connection traversing multiple PCIe bridges (without traversing the PCIe Host Bridge)
          PIX  = Connection traversing at most a single PCIe bridge
          NV#  = Connection traversing a bonded set of # NVLinks
        """;

    /** New driver, tabs, underlined header, cards with a legend, an empty CPU affinity. */
    static final String FOUR_WITH_CARDS = "\t\033[4mGPU0\tGPU1\tGPU2\tGPU3\tNIC0\tNIC1\tCPU Affinity\tNUMA Affinity"
            + "\tGPU NUMA ID\033[0m\n"
            + "GPU0\t X \tNV2\tPHB\tSYS\tPIX\tSYS\t0-7\t0\t\tN/A\n"
            + "GPU1\tNV2\t X \tPHB\tSYS\tPXB\tSYS\t\t0\t\tN/A\n"
            + "GPU2\tPHB\tPHB\t X \tSYS\tPHB\tSYS\t0-7\t\t\tN/A\n"
            + "GPU3\tSYS\tSYS\tSYS\t X \tSYS\tNODE\t8-15\t1\t\tN/A\n"
            + "NIC0\tPIX\tPXB\tPHB\tSYS\t X \tSYS\t\t\t\t\n"
            + "NIC1\tSYS\tSYS\tSYS\tNODE\tSYS\t X \t\t\t\t\n"
            + LEGEND
            + "\nNIC Legend:\n\n  NIC0: mlx5_0\n  NIC1: mlx5_bond_0\n\n";

    /** Old driver: spaces, SOC, concatenated header, cards by name. */
    static final String OLD_CONCATENATED = """
            GPU0GPU1GPU2GPU3mlx5_0mlx5_1CPU Affinity
        GPU0   X   NV1 NV1 SOC PIX SOC 0-3
        GPU1  NV1   X  SOC NV1 PIX SOC 0-3
        GPU2  NV1 SOC   X  NV1 SOC PHB 4-7
        GPU3  SOC NV1 NV1   X  SOC PHB 4-7
        mlx5_0 PIX PIX SOC SOC  X  SOC
        mlx5_1 SOC SOC PHB PHB SOC  X

        Legend:

          X   = Self
          SOC  = Connection traversing PCIe as well as the SMP link between CPU sockets(e.g. QPI)
          PHB  = Connection traversing PCIe as well as a PCIe Host Bridge (typically the CPU)
          PXB  = Connection traversing multiple PCIe switches (without traversing the PCIe Host Bridge)
          PIX  = Connection traversing a single PCIe switch
          NV#  = Connection traversing a bonded set of # NVLinks
        """;

    /** Oldest driver: its legend never names NVLink. */
    static final String OLDEST_LEGEND = """
                GPU0    GPU1    GPU2    CPU Affinity
        GPU0     X      PIX     SOC     0-5
        GPU1    PIX      X      SOC     0-5
        GPU2    SOC     SOC      X      6-11

        Legend:

          X   = Self
          SOC = Path traverses a socket-level link (e.g. QPI)
          PHB = Path traverses a PCIe host bridge
          PXB = Path traverses multiple PCIe internal switches
          PIX = Path traverses a PCIe internal switch
        """;

    /** A copy from a web page: single spaces, no indent, no legend. */
    static final String SINGLE_SPACES = """
        GPU0 GPU1 GPU2 CPU Affinity NUMA Affinity
        GPU0 X NV4 SYS 0-3 0
        GPU1 NV4 X SYS 0-3 0
        GPU2 SYS SYS X 4-7 1
        """;

    /** A table of a manual: affinity first. */
    static final String MARKDOWN = """
        | CPU Affinity | NUMA Affinity |        | GPU0 | GPU1 | mlx5_0 |
        |--------------|---------------|--------|------|------|--------|
        | 0-3          | 0             | GPU0   | X    | NV4  | SYS    |
        | 4-7          | 1             | GPU1   | NV4  | X    | PHB    |
        |              |               | mlx5_0 | SYS  | PHB  | X      |
        """;

    static final String ONE_GPU =
            "\t\033[4mGPU0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\033[0m\n" + "GPU0\t X \t0-11\t0\t\tN/A\n" + LEGEND;

    static final String ONE_GPU_CONCATENATED = "      GPU0CPUAffinity\nGPU0    X 0-11\n";

    static final String PCIE_ONLY = FOUR_WITH_CARDS.replace("NV2", "PXB").replaceAll("  NV#.*\n", "");

    static final String PEER_STATUS = """
         \tGPU0\tGPU1\t
         GPU0\tX\tOK\t
         GPU1\tOK\tX\t

        Legend:

          X    = Self
          OK   = Status Ok
          CNS  = Chipset not supported
        """;

    static final String PEER_TEST = """
        [P2P (Peer-to-Peer) GPU Bandwidth Latency Test]
        Device: 0, Some GPU, pciBusID: 1a, pciDeviceID: 0, pciDomainID:0
        Device=0 CAN Access Peer Device=1
        Unidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)
           D\\D     0      1
             0 780.10  48.30
             1  48.31 781.20
        """;

    static final String NVLINK_STATUS = """
        GPU 0: Some GPU (UUID: GPU-00000000-0000-0000-0000-000000000000)
        \t Link 0: 25 GB/s
        \t Link 1: 25 GB/s
        """;

    private Fixtures() {}

    /** All pairs alike: {@code label} between n GPUs, two sockets. */
    static String allToAll(int n, String label) {
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < n; i++) {
            text.append("\tGPU").append(i);
        }
        text.append("\tCPU Affinity\tNUMA Affinity\n");
        for (int a = 0; a < n; a++) {
            text.append("GPU").append(a);
            for (int b = 0; b < n; b++) {
                text.append('\t').append(a == b ? " X " : label);
            }
            text.append("\t0-3\t").append(2 * a / n).append('\n');
        }
        return text.append(LEGEND).toString();
    }

    /** Descriptions, right and wrong, that fuzzing starts from. */
    static List<String> all() {
        return List.of(
                FOUR_WITH_CARDS,
                OLD_CONCATENATED,
                OLDEST_LEGEND,
                SINGLE_SPACES,
                MARKDOWN,
                ONE_GPU,
                ONE_GPU_CONCATENATED,
                PCIE_ONLY,
                PEER_STATUS,
                PEER_TEST,
                NVLINK_STATUS,
                allToAll(8, "NV12"),
                allToAll(4, "NV6"),
                MatrixFormatTest.EIGHT_CYCLE,
                MatrixFormatTest.MISREAD,
                MatrixFormatTest.ACCESS,
                MatrixFormatTest.MISREAD + MatrixFormatTest.ACCESS,
                AmdFormatsTest.rocmSmi(4, 2, (a, b) -> a / 2 == b / 2 ? "XGMI" : "PCIE", 52),
                AmdFormatsTest.amdSmi("50000-100000"),
                "[[0, 2.5], [1e1, 0]]");
    }
}

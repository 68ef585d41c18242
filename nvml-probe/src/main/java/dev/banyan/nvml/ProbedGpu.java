package dev.banyan.nvml;

import java.util.List;

/**
 * NVML's report on one GPU.
 *
 * @param index NVML's index, in the order of PCI bus ids
 * @param model e.g. {@code Tesla V100-SXM2-16GB}
 * @param memoryBytes total memory, or 0 if it is unknown
 * @param sm compute capability times 10, or 0 if it is unknown
 * @param numa NUMA node, or -1 if it is unknown
 * @param pcieGeneration the greatest PCIe generation that both device and slot support, or 0 if it is unknown
 * @param pcieLanes the greatest number of PCIe lanes of both, or 0 if it is unknown
 * @param links the NVLinks that are up
 */
record ProbedGpu(
        int index,
        String model,
        PciAddress address,
        long memoryBytes,
        int sm,
        int numa,
        int pcieGeneration,
        int pcieLanes,
        List<NvLink> links) {
    ProbedGpu {
        links = List.copyOf(links);
    }

    /** Returns the name of the device in descriptions and messages. */
    String name() {
        return name(index);
    }

    static String name(int index) {
        return "GPU" + index;
    }
}

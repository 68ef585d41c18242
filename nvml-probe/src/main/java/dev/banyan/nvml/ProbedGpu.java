package dev.banyan.nvml;

import java.util.List;

/**
 * What NVML tells of one GPU.
 *
 * @param index NVML's, in the order of PCI bus ids
 * @param model e.g. {@code Tesla V100-SXM2-16GB}
 * @param memoryBytes total memory, or 0 where it is not known
 * @param sm compute capability times 10, or 0 where it is not known
 * @param numa NUMA node, or -1 where it is not known
 * @param pcieGeneration highest that device and slot reach together, or 0 where it is not known
 * @param pcieLanes likewise
 * @param links NVLinks that are up
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

    /** What the device is called everywhere. */
    String name() {
        return name(index);
    }

    static String name(int index) {
        return "GPU" + index;
    }
}

package dev.banyan.nvml;

import dev.banyan.topology.Device;
import dev.banyan.topology.Hub;
import dev.banyan.topology.Link;
import dev.banyan.topology.LinkSpeeds;
import dev.banyan.topology.Machine;
import dev.banyan.topology.NoPeerAccess;
import dev.banyan.topology.internal.pcie.PcieHierarchy;
import dev.banyan.topology.internal.speed.CpuModel;
import dev.banyan.topology.internal.speed.SpeedChoice;
import dev.banyan.topology.internal.text.ModelNames;
import dev.banyan.topology.option.StatedSpeeds;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** Builds the machine from the answers of NVML: devices, PCIe hubs and links, then NVSwitches and NVLinks. */
final class MachineAssembly {
    private final String driver;
    private final List<ProbedGpu> gpus;
    private final CpuModel cpu;
    private final GpuPairs pairs;
    private final List<String> warnings;
    private final SpeedChoice speeds = new SpeedChoice(StatedSpeeds.NONE, Optional.empty());

    /** @param warnings the warnings so far; receives more */
    MachineAssembly(String driver, List<ProbedGpu> gpus, CpuModel cpu, GpuPairs pairs, List<String> warnings) {
        this.driver = driver;
        this.gpus = gpus;
        this.cpu = cpu;
        this.pairs = pairs;
        this.warnings = warnings;
    }

    Machine build() {
        PcieHierarchy pcie = PcieHierarchy.of(pcieEnds(), pairs::kind, gpus.size(), cpu, speeds::socketGbs);
        pcie.assumed().forEach(speeds::assume);
        List<Hub> hubs = new ArrayList<>(pcie.hubs());
        LinkAssembly nvLinks = new LinkAssembly(gpus, warnings);
        nvLinks.addSwitches(hubs);
        List<Link> links = new ArrayList<>(pcie.links());
        links.addAll(nvLinks.links());
        new PairChecks(gpus, pairs).warn(pcie, nvLinks, warnings);
        List<Device> devices = new ArrayList<>();
        for (int i = 0; i < gpus.size(); i++) {
            ProbedGpu gpu = gpus.get(i);
            devices.add(new Device(gpu.name(), gpu.address().busId(), gpu.numa(), attributes(i)));
        }
        return new Machine(machineName(), devices, hubs, links, List.of(), warnings, speeds.assumed());
    }

    /** Returns the number and model of the GPUs, e.g. {@code 8x Tesla V100-SXM2-16GB}. */
    private String machineName() {
        return ModelNames.counted(gpus.stream().map(ProbedGpu::model));
    }

    private List<PcieHierarchy.End> pcieEnds() {
        List<PcieHierarchy.End> ends = new ArrayList<>();
        for (int i = 0; i < gpus.size(); i++) {
            ProbedGpu gpu = gpus.get(i);
            String affinity = "numa " + gpu.numa();
            int generation = gpu.pcieGeneration();
            int lanes = gpu.pcieLanes();
            if (generation < 1 || generation > LinkSpeeds.PCIE_GTS.size() || lanes < 1) {
                ends.add(PcieHierarchy.End.assumed(i, affinity));
                speeds.assume("PCIe gen3 x16, 12 GB/s one way by NCCL's count, for GPUs whose slot NVML does not"
                        + " report");
            } else {
                double laneGbs = LinkSpeeds.pcieLaneGbs(LinkSpeeds.PCIE_GTS.get(generation - 1));
                ends.add(new PcieHierarchy.End(i, affinity, lanes, lanes * laneGbs));
            }
        }
        return ends;
    }

    private Map<String, String> attributes(int index) {
        ProbedGpu gpu = gpus.get(index);
        Map<String, String> attributes = new LinkedHashMap<>();
        attributes.put("dev", Integer.toString(gpu.index()));
        attributes.put("model", gpu.model());
        if (gpu.sm() > 0) {
            attributes.put("sm", Integer.toString(gpu.sm()));
        }
        if (gpu.memoryBytes() > 0) {
            attributes.put("nvml.memory_bytes", Long.toString(gpu.memoryBytes()));
        }
        attributes.put("nvml.driver", driver);
        gpu.links().stream()
                .mapToInt(NvLink::version)
                .filter(version -> version > 0)
                .max()
                .ifPresent(version -> attributes.put("nvml.nvlink_version", Integer.toString(version)));
        String refused = IntStream.range(0, gpus.size())
                .filter(other -> other != index && pairs.refuses(index, other))
                .mapToObj(other -> gpus.get(other).address().busId())
                .collect(Collectors.joining(" "));
        if (!refused.isEmpty()) {
            attributes.put(NoPeerAccess.ATTRIBUTE, refused);
        }
        return attributes;
    }
}

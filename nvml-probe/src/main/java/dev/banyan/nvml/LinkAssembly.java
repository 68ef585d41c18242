package dev.banyan.nvml;

import dev.banyan.topology.Hub;
import dev.banyan.topology.Link;
import dev.banyan.topology.LinkSpeeds;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Turns the NVLinks that each GPU reports into links of the machine. An instance is used once.
 *
 * <p>A pair has as many lanes as the end that reports fewer. A link is up only if both ends report it; a pair that only
 * one end reports is dropped. All NVSwitches of the machine are one hub, as in the presets: the hardware spreads each
 * transfer over all of them by address. A lane's bandwidth is the peak of its generation ({@link LinkSpeeds}).
 */
final class LinkAssembly {
    private final List<ProbedGpu> gpus;
    private final List<String> warnings;
    private final Map<PciAddress, Integer> byAddress = new HashMap<>();
    /** The number of links to each peer, by GPU and then by peer, as the GPU reports it. */
    private final List<Map<Integer, Integer>> peers = new ArrayList<>();

    private final int[] toSwitch;
    private final List<Link> links = new ArrayList<>();

    /** @param warnings receives a sentence for each inconsistency */
    LinkAssembly(List<ProbedGpu> gpus, List<String> warnings) {
        this.gpus = gpus;
        this.warnings = warnings;
        toSwitch = new int[gpus.size()];
        for (int i = 0; i < gpus.size(); i++) {
            byAddress.put(gpus.get(i).address(), i);
            peers.add(new TreeMap<>());
        }
        count();
        addPairs();
    }

    private void count() {
        Map<String, Integer> strange = new TreeMap<>();
        int toCpus = 0;
        for (int i = 0; i < gpus.size(); i++) {
            for (NvLink link : gpus.get(i).links()) {
                Integer peer = byAddress.get(link.remote());
                if (link.end() == NvLink.End.NVSWITCH) {
                    toSwitch[i]++;
                } else if (link.end() == NvLink.End.CPU) {
                    toCpus++;
                } else if (peer == null) {
                    String kind = link.end() == NvLink.End.GPU ? "the GPU " : "an unknown device ";
                    strange.merge(kind + link.remote().busId(), 1, Integer::sum);
                } else if (peer == i) {
                    strange.merge(gpus.get(i).name() + " from itself", 1, Integer::sum);
                } else {
                    peers.get(i).merge(peer, 1, Integer::sum);
                }
            }
        }
        strange.forEach((end, count) -> warnings.add(count(count) + " to " + end + ", which is none of the GPUs here"
                + " (hidden from this container or job?): left out"));
        if (toCpus > 0) {
            warnings.add(count(toCpus) + " to CPUs: left out, the host is reached over PCIe");
        }
    }

    private static String count(int links) {
        return links + (links == 1 ? " NVLink leads" : " NVLinks lead");
    }

    private void addPairs() {
        for (int a = 0; a < gpus.size(); a++) {
            for (int b = a + 1; b < gpus.size(); b++) {
                int fromA = peers.get(a).getOrDefault(b, 0);
                int fromB = peers.get(b).getOrDefault(a, 0);
                if (fromA + fromB == 0) {
                    continue;
                }
                int lanes = Math.min(fromA, fromB);
                String pair = gpus.get(a).name() + "-" + gpus.get(b).name();
                if (lanes == 0) {
                    warnings.add(pair + ": only " + gpus.get(fromA > 0 ? a : b).name() + " says that NVLink is up: the"
                            + " pair is taken as PCIe; see nvidia-smi nvlink -s, and reset the GPUs or reboot");
                    continue;
                }
                if (fromA != fromB) {
                    warnings.add(pair + ": the two ends say that " + fromA + " and " + fromB + " NVLinks are up: the"
                            + " lesser is taken; see nvidia-smi nvlink -s, and reset the GPUs or reboot");
                }
                double gbs = lanes * Math.min(laneGbs(a), laneGbs(b));
                links.add(Link.duplex(a, b, Link.Kind.NVLINK, lanes, gbs, LinkSpeeds.NVLINK_US));
            }
        }
    }

    private double laneGbs(int gpu) {
        return LinkSpeeds.nvlinkLaneGbs(gpus.get(gpu).sm());
    }

    /**
     * Adds the NVSwitches of the box.
     *
     * @param hubs receives the hub, if there are NVSwitches
     */
    void addSwitches(List<Hub> hubs) {
        int most = Arrays.stream(toSwitch).max().orElse(0);
        if (most == 0) {
            return;
        }
        int hub = gpus.size() + hubs.size();
        boolean reduces = gpus.stream().allMatch(gpu -> gpu.sm() >= Hub.FIRST_REDUCING_SM);
        hubs.add(new Hub("NVSwitch", Hub.Kind.NVSWITCH, reduces, Map.of()));
        List<String> fewer = new ArrayList<>();
        for (int i = 0; i < toSwitch.length; i++) {
            ProbedGpu gpu = gpus.get(i);
            if (toSwitch[i] < most) {
                fewer.add(gpu.name() + " (" + toSwitch[i] + ")");
            }
            if (toSwitch[i] > 0) {
                links.add(Link.duplex(
                        i,
                        hub,
                        Link.Kind.NVLINK,
                        toSwitch[i],
                        toSwitch[i] * laneGbs(i),
                        LinkSpeeds.nvswitchUs(gpu.sm())));
            }
        }
        if (!fewer.isEmpty()) {
            warnings.add("fewer than " + most + " NVLinks to the NVSwitches are up on " + String.join(", ", fewer)
                    + ": taken as they are; see nvidia-smi nvlink -s and the log of nvidia-fabricmanager");
        }
    }

    /** Returns the links between devices, then those to the NVSwitches. */
    List<Link> links() {
        return List.copyOf(links);
    }

    /** Returns whether NVLinks connect two devices, directly or through NVSwitches. */
    boolean joined(int a, int b) {
        return Math.min(peers.get(a).getOrDefault(b, 0), peers.get(b).getOrDefault(a, 0)) > 0
                || Math.min(toSwitch[a], toSwitch[b]) > 0;
    }
}

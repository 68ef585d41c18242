package dev.banyan.nvml;

import dev.banyan.topology.Hub;
import dev.banyan.topology.Link;
import dev.banyan.topology.LinkSpeeds;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * Turns the NVLinks that each GPU sees into links of the machine. Used once.
 *
 * <p>A pair has as many lanes as the end that sees fewer: a link is up only where both ends say so, and a pair that
 * one end alone sees is dropped. All NVSwitches of the box are one hub, as in the presets: the hardware spreads each
 * transfer over all of them by address. A lane's bandwidth is its generation's peak ({@link LinkSpeeds}).
 */
final class LinkAssembly {
    private final List<ProbedGpu> gpus;
    private final List<String> warnings;
    private final Map<PciAddress, Integer> byAddress = new HashMap<>();
    /** Per GPU and per GPU at the other end: links seen from the first. */
    private final List<Map<Integer, Integer>> peers = new ArrayList<>();

    private final int[] toSwitch;
    private final List<Link> links = new ArrayList<>();

    /** @param warnings takes a sentence for each thing that is odd */
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
            for (int b : new TreeSet<>(endsOf(a))) {
                int fromA = peers.get(a).getOrDefault(b, 0);
                int fromB = peers.get(b).getOrDefault(a, 0);
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

    /** GPUs of higher index to which either end sees a link. */
    private List<Integer> endsOf(int a) {
        List<Integer> ends = new ArrayList<>();
        for (int b = a + 1; b < gpus.size(); b++) {
            if (peers.get(a).containsKey(b) || peers.get(b).containsKey(a)) {
                ends.add(b);
            }
        }
        return ends;
    }

    private double laneGbs(int gpu) {
        return LinkSpeeds.nvlinkLaneGbs(gpus.get(gpu).sm());
    }

    /**
     * Adds the NVSwitches of the box.
     *
     * @param hubs takes the hub, if there is one
     */
    void addSwitches(List<Hub> hubs) {
        int most = 0;
        for (int lanes : toSwitch) {
            most = Math.max(most, lanes);
        }
        if (most == 0) {
            return;
        }
        int hub = gpus.size() + hubs.size();
        hubs.add(Hub.of("NVSwitch", Hub.Kind.NVSWITCH));
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

    /** Links between devices, then those to the NVSwitches. */
    List<Link> links() {
        return List.copyOf(links);
    }

    /** Whether NVLinks join two devices, directly or through NVSwitches. */
    boolean joined(int a, int b) {
        return Math.min(peers.get(a).getOrDefault(b, 0), peers.get(b).getOrDefault(a, 0)) > 0
                || Math.min(toSwitch[a], toSwitch[b]) > 0;
    }
}

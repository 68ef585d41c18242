package dev.banyan.topology.internal.amd;

import dev.banyan.InputException;
import dev.banyan.config.internal.Quote;
import dev.banyan.topology.Connection;
import dev.banyan.topology.Device;
import dev.banyan.topology.Link;
import dev.banyan.topology.LinkSpeeds;
import dev.banyan.topology.Machine;
import dev.banyan.topology.internal.pcie.PcieHierarchy;
import dev.banyan.topology.internal.peer.RefusedPairs;
import dev.banyan.topology.internal.speed.CpuModel;
import dev.banyan.topology.internal.speed.GpuSpeeds;
import dev.banyan.topology.internal.text.LinkNames;
import dev.banyan.topology.internal.text.ListedGpus;
import dev.banyan.topology.internal.text.MachineFormat;
import dev.banyan.topology.option.StatedSpeeds;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Builds the machine that the tables of AMD's tools describe. Used once.
 *
 * <p>A pair whose link type is XGMI is linked directly if its weight is that of one hop, 15, or not known; a greater
 * one goes through other GPUs. {@link XgmiLanes} has the number of its links. All GPUs hang on PCIe too: on the socket
 * of their NUMA node where it is known, else by the weights of PCIe pairs, which are 20 for each of the two ways to one
 * socket and more beyond it.
 */
final class AmdMachine {
    private static final int ONE_XGMI_HOP = 15;
    private static final int ONE_SOCKET = 40;
    private static final Pattern NUMBER = Pattern.compile("\\d{1,6}");
    private static final Pattern REFUSED = Pattern.compile("DISABLED|False", Pattern.CASE_INSENSITIVE);
    /** Least and greatest MB/s of a pair. */
    private static final Pattern RANGE = Pattern.compile("\\d{1,9}-(\\d{1,9})");

    private final String source;
    private final AmdTable types;
    private final @Nullable AmdTable weights;
    private final @Nullable AmdTable access;
    private final StatedSpeeds stated;

    /**
     * @param weights of the same GPUs, if known
     * @param access ENABLED or True where a GPU may access the memory of another, if known
     */
    AmdMachine(
            String source, AmdTable types, @Nullable AmdTable weights, @Nullable AmdTable access, StatedSpeeds stated) {
        this.source = source;
        this.types = types;
        this.weights = weights;
        this.access = access;
        this.stated = stated;
        check();
    }

    /**
     * The machine.
     *
     * @param busIds of each GPU, null where they are not known
     * @param numa of each GPU, -1 where it is not known
     * @param bandwidths of each pair as a range of MB/s, if known
     * @param listed the models of the GPUs
     * @param cpu the CPUs
     */
    Machine build(
            List<@Nullable String> busIds, int[] numa, @Nullable AmdTable bandwidths, ListedGpus listed, CpuModel cpu) {
        int n = types.size();
        GpuSpeeds speeds = new GpuSpeeds(stated, listed.products(busIds));
        List<Device> devices = new ArrayList<>();
        List<PcieHierarchy.End> ends = new ArrayList<>();
        for (int i = 0; i < n; i++) {
            Map<String, String> attributes = new LinkedHashMap<>();
            attributes.put(LinkNames.VENDOR, "AMD");
            String model = listed.model(i, busIds.get(i));
            if (model != null) {
                attributes.put("model", model);
            }
            speeds.of(i).product().ifPresent(product -> attributes.put("gcn", product.gcn()));
            devices.add(new Device("GPU" + i, busIds.get(i), numa[i], attributes));
            String affinity = numa[i] < 0 ? "" : "numa " + numa[i];
            int lanes = speeds.of(i).pcieLanes();
            ends.add(new PcieHierarchy.End(
                    i, affinity, lanes, lanes * speeds.of(i).pcieLaneGbs()));
        }
        PcieHierarchy pcie = PcieHierarchy.of(ends, (a, b) -> pcieClass(a, b, numa), n, cpu, speeds.whole()::socketGbs);
        pcie.assumed().forEach(speeds.whole()::assume);
        List<Link> links = new ArrayList<>(pcie.links());
        links.addAll(xgmiLinks(speeds, bandwidths));
        RefusedPairs refused = refused();
        return new Machine(
                MachineFormat.machineName(source),
                refused.mark(devices),
                pcie.hubs(),
                refused.usable(links),
                List.of(),
                warnings(listed.warnings(busIds, stated.product()), speeds),
                speeds.assumed());
    }

    private static List<String> warnings(List<String> ofModels, GpuSpeeds speeds) {
        List<String> warnings = new ArrayList<>(ofModels);
        warnings.addAll(speeds.warnings());
        if (speeds.whole().product().filter(product -> product.gcn().isEmpty()).isPresent()) {
            warnings.add(
                    "the stated model is none of AMD's, whose tool wrote this text: check the model, which sets the"
                            + " speeds of links");
        }
        return warnings;
    }

    private RefusedPairs refused() {
        RefusedPairs refused = new RefusedPairs(types.size());
        for (int a = 0; a < types.size(); a++) {
            for (int b = 0; b < types.size(); b++) {
                boolean no = (access == null || access.size() != types.size())
                        ? stated.peerAccess() == StatedSpeeds.PeerAccess.NO
                        : REFUSED.matcher(access.cell(a, b)).matches();
                if (no) {
                    refused.add(a, b);
                }
            }
        }
        return refused;
    }

    private List<Link> xgmiLinks(GpuSpeeds speeds, @Nullable AmdTable bandwidths) {
        List<Link> links = new ArrayList<>();
        List<int[]> open = new ArrayList<>();
        for (int a = 0; a < types.size(); a++) {
            for (int b = a + 1; b < types.size(); b++) {
                if (isXgmi(a, b) && weight(a, b, ONE_XGMI_HOP) <= ONE_XGMI_HOP) {
                    double gbs = bandwidth(a, b, bandwidths);
                    if (gbs > 0) {
                        links.add(Link.duplex(a, b, Link.Kind.XGMI, 1, gbs, LinkSpeeds.NVLINK_US));
                    } else {
                        open.add(new int[] {a, b});
                    }
                }
            }
        }
        if (open.isEmpty()) {
            return links;
        }
        XgmiLanes lanes = new XgmiLanes(open, types.size(), speeds);
        for (int[] link : lanes.links()) {
            double laneGbs = speeds.linkGbs(
                    link[0], link[1], LinkSpeeds.xgmiLaneGbs(""), "xGMI link (MI200's; MI300X's has 64)");
            links.add(Link.duplex(link[0], link[1], Link.Kind.XGMI, link[2], link[2] * laneGbs, LinkSpeeds.NVLINK_US));
        }
        speeds.whole().assume(lanes.assumed());
        return links;
    }

    /** Returns GB/s of a pair, 0 where the tool does not print them. */
    private double bandwidth(int a, int b, @Nullable AmdTable bandwidths) {
        if (bandwidths == null || bandwidths.size() != types.size()) {
            return 0;
        }
        Matcher range = RANGE.matcher(bandwidths.cell(a, b));
        return range.matches() ? Integer.parseInt(range.group(1)) / 1000.0 : 0;
    }

    private void check() {
        for (int a = 0; a < types.size(); a++) {
            for (int b = 0; b < types.size(); b++) {
                String type = types.cell(a, b);
                boolean known = a == b || isKnown(a, b);
                // An unknown type of the way back is refused there.
                if (!known || (isKnown(b, a) && !types.cell(b, a).equals(type))) {
                    throw new InputException(
                            source,
                            types.line() + 2 + a,
                            0,
                            "link type \"" + Quote.of(type) + "\" of GPUs " + a + " and " + b
                                    + (known ? " differs from that of the way back" : " is neither XGMI nor PCIE")
                                    + "; save the tool's output to a file again");
                }
            }
        }
    }

    private boolean isKnown(int a, int b) {
        return isXgmi(a, b) || types.cell(a, b).equals("PCIE");
    }

    private boolean isXgmi(int a, int b) {
        return types.cell(a, b).equals("XGMI");
    }

    private int weight(int a, int b, int otherwise) {
        if (weights == null || weights.size() != types.size()) {
            return otherwise;
        }
        String weight = weights.cell(a, b);
        return NUMBER.matcher(weight).matches() ? Integer.parseInt(weight) : otherwise;
    }

    private Connection.@Nullable Kind pcieClass(int a, int b, int[] numa) {
        if (isXgmi(a, b) || (numa[a] >= 0 && numa[b] >= 0)) {
            return null; // the affinity decides
        }
        return weight(a, b, ONE_SOCKET) <= ONE_SOCKET ? Connection.Kind.PHB : Connection.Kind.SYS;
    }
}

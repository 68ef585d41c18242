package dev.banyan.topology.internal.amd;

import dev.banyan.InputException;
import dev.banyan.topology.Connection;
import dev.banyan.topology.Device;
import dev.banyan.topology.Hub;
import dev.banyan.topology.Link;
import dev.banyan.topology.LinkSpeeds;
import dev.banyan.topology.Machine;
import dev.banyan.topology.internal.pcie.PcieHierarchy;
import dev.banyan.topology.internal.speed.SpeedChoice;
import dev.banyan.topology.internal.text.MachineFormat;
import dev.banyan.topology.internal.text.Quote;
import dev.banyan.topology.option.StatedSpeeds;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Builds the machine that the tables of AMD's tools describe. Used once.
 *
 * <p>A pair whose link type is XGMI is linked directly if its weight is that of one hop, 15, or not known; a greater
 * one goes through other GPUs. All GPUs hang on PCIe too: on the socket of their NUMA node where it is known, else by
 * the weights of PCIe pairs, which are 20 for each of the two ways to one socket and more beyond it.
 */
final class AmdMachine {
    private static final int ONE_XGMI_HOP = 15;
    private static final int ONE_SOCKET = 40;
    private static final Pattern NUMBER = Pattern.compile("\\d{1,6}");
    /** Least and greatest MB/s of a pair. */
    private static final Pattern RANGE = Pattern.compile("\\d{1,9}-(\\d{1,9})");

    private final String source;
    private final AmdTable types;
    private final @Nullable AmdTable weights;
    private final SpeedChoice speeds;

    /** @param weights of the same GPUs, if known */
    AmdMachine(String source, AmdTable types, @Nullable AmdTable weights, StatedSpeeds stated) {
        this.source = source;
        this.types = types;
        this.weights = weights;
        speeds = new SpeedChoice(stated, Optional.empty());
        check();
    }

    /**
     * The machine.
     *
     * @param busIds of each GPU, null where they are not known
     * @param numa of each GPU, -1 where it is not known
     * @param bandwidths of each pair as a range of MB/s, if known
     */
    Machine build(List<@Nullable String> busIds, int[] numa, @Nullable AmdTable bandwidths) {
        int n = types.size();
        List<Device> devices = new ArrayList<>();
        List<PcieHierarchy.End> ends = new ArrayList<>();
        double slotGbs = LinkSpeeds.PCIE_LANES * speeds.pcieLaneGbs();
        for (int i = 0; i < n; i++) {
            Map<String, String> attributes = new LinkedHashMap<>();
            speeds.product().ifPresent(product -> attributes.put("gcn", product.gcn()));
            devices.add(new Device("GPU" + i, busIds.get(i), numa[i], attributes));
            String affinity = numa[i] < 0 ? "cpus" : "numa " + numa[i];
            ends.add(new PcieHierarchy.End(i, affinity, LinkSpeeds.PCIE_LANES, slotGbs));
        }
        PcieHierarchy pcie = PcieHierarchy.of(ends, (a, b) -> pcieClass(a, b, numa), n, speeds::socketGbs);
        List<Link> links = new ArrayList<>(pcie.links());
        for (int a = 0; a < n; a++) {
            for (int b = a + 1; b < n; b++) {
                if (isXgmi(a, b) && weight(a, b, ONE_XGMI_HOP) <= ONE_XGMI_HOP) {
                    links.add(xgmi(a, b, bandwidths));
                }
            }
        }
        List<Hub> hubs = pcie.hubs();
        return new Machine(
                MachineFormat.machineName(source), devices, hubs, links, List.of(), List.of(), speeds.assumed());
    }

    private void check() {
        for (int a = 0; a < types.size(); a++) {
            for (int b = 0; b < types.size(); b++) {
                String type = types.cell(a, b);
                boolean known = a == b || type.equals("XGMI") || type.equals("PCIE");
                if (!known || !types.cell(b, a).equals(type)) {
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

    private Link xgmi(int a, int b, @Nullable AmdTable bandwidths) {
        if (bandwidths != null && bandwidths.size() == types.size()) {
            Matcher range = RANGE.matcher(bandwidths.cell(a, b));
            if (range.matches() && Integer.parseInt(range.group(1)) > 0) {
                double gbs = Integer.parseInt(range.group(1)) / 1000.0;
                return Link.duplex(a, b, Link.Kind.XGMI, 1, gbs, LinkSpeeds.NVLINK_US);
            }
        }
        double laneGbs = speeds.linkGbs(LinkSpeeds.xgmiLaneGbs(""), "xGMI link (MI200's; MI300X's has 64)");
        speeds.assume("one xGMI link for each pair that xGMI joins");
        return Link.duplex(a, b, Link.Kind.XGMI, 1, laneGbs, LinkSpeeds.NVLINK_US);
    }
}

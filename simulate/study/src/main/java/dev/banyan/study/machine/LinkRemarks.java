package dev.banyan.study.machine;

import dev.banyan.study.text.Numbers;
import dev.banyan.topology.Link;
import dev.banyan.topology.Machine;
import dev.banyan.topology.NoPeerAccess;
import dev.banyan.trees.network.Network;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;

/** Explains what the links of a machine carry, where their bandwidths do not show it. */
public final class LinkRemarks {
    private static final int MOST_NAMED = 3;

    private LinkRemarks() {}

    /**
     * Returns the remarks where bounds over all links stand.
     *
     * @param relays devices of the whole machine that may forward
     */
    public static List<String> onAllLinks(ChosenMachine chosen, int... relays) {
        return on(chosen.countedLinks(relays), chosen.machine());
    }

    /**
     * Returns a sentence each on the rates of PCIe, if the network has such links, pairs without peer access and the
     * rates of xGMI.
     *
     * @param counted the links of the bound
     */
    public static List<String> on(Network counted, Machine machine) {
        List<String> remarks = new ArrayList<>();
        if (counted.has(Link.Kind.PCIE)) {
            PcieRates.sentence(machine).ifPresent(remarks::add);
        }
        peerAccess(counted, machine).ifPresent(remarks::add);
        xgmi(machine).ifPresent(remarks::add);
        return remarks;
    }

    private static Optional<String> peerAccess(Network counted, Machine machine) {
        List<String> pairs = new ArrayList<>();
        int all = 0;
        for (int a = 0; a < machine.size(); a++) {
            for (int b = a + 1; b < machine.size(); b++) {
                all++;
                if (NoPeerAccess.between(machine, a, b)) {
                    pairs.add(machine.devices().get(a).name() + " and "
                            + machine.devices().get(b).name());
                }
            }
        }
        if (pairs.isEmpty()) {
            return Optional.empty();
        }
        return Optional.of("No peer access between "
                + (pairs.size() == all
                        ? "any two devices"
                        : pairs.size() > MOST_NAMED
                                ? pairs.size() + " pairs of devices (banyan topo names them)"
                                : String.join(", ", pairs))
                + ": copies between them go through the host" + betweenSockets(machine)
                + (counted.has(Link.Kind.NVLINK) ? "; trees and rings over NVLinks alone make no such copies" : "")
                + (counted.has(Link.Kind.PCIE)
                        ? ". Predicted times of such copies also count that a GPU's PCIe link carries less each way"
                                + " where it sends and receives at once (host.duplex of predict -v); bounds and rates"
                                + " do not"
                        : ""));
    }

    private static String betweenSockets(Machine machine) {
        OptionalDouble gbs = machine.links().stream()
                .filter(link -> link.kind() == Link.Kind.SOCKET)
                .mapToDouble(Link::gbsAToB)
                .min();
        return gbs.isEmpty() ? "" : ", at " + Numbers.gbs(gbs.getAsDouble()) + " between CPU sockets";
    }

    private static Optional<String> xgmi(Machine machine) {
        return machine.links().stream()
                .filter(link -> link.kind() == Link.Kind.XGMI)
                .findFirst()
                .flatMap(link -> {
                    String gcn = machine.devices().get(link.a()).attributes().getOrDefault("gcn", "");
                    double transfer = transferGbs(gcn);
                    return transfer == 0
                            ? Optional.empty()
                            : Optional.of("xGMI is counted raw (" + Numbers.plain(link.gbsAToB() / link.lanes())
                                    + " GB/s one way for 1 link); RCCL's search counts " + Numbers.plain(transfer)
                                    + " GB/s of it, for protocol and error correction");
                });
    }

    /**
     * Returns the GB/s that transfers use of one xGMI link one way, as RCCL counts: VEGA_XGMI_WIDTH, MI200_XGMI_WIDTH,
     * GFX94X_XGMI_WIDTH and GFX95X_XGMI_WIDTH of its topo.h. RCCL's maintainers explain the 48 of 64 GB/s of MI300X by
     * protocol and error correction (github.com/ROCm/rccl, issue 1210). 0 stands for architectures not known there.
     */
    private static double transferGbs(String gcn) {
        String digits = gcn.startsWith("gfx") ? gcn.substring(3) : gcn;
        if (digits.startsWith("906") || digits.startsWith("908")) {
            return 24;
        }
        if (digits.startsWith("910") || digits.startsWith("90a")) {
            return 36;
        }
        return digits.startsWith("94") || digits.startsWith("95") ? 48 : 0;
    }
}

package dev.banyan.nvml;

import dev.banyan.topology.Connection;
import dev.banyan.topology.internal.pcie.PcieHierarchy;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Compares the answers of NVML about pairs. If NVLink states and the driver's peer status contradict each other, the
 * states count.
 */
final class PairChecks {
    private final List<ProbedGpu> gpus;
    private final GpuPairs pairs;

    PairChecks(List<ProbedGpu> gpus, GpuPairs pairs) {
        this.gpus = gpus;
        this.pairs = pairs;
    }

    /** Pairs with the same inconsistency; one warning names the first of them and their number. */
    private static final class Odd {
        private final List<String> names = new ArrayList<>();
        private String example = "";

        void add(String pair, String detail) {
            if (names.isEmpty()) {
                example = detail;
            }
            names.add(pair);
        }

        void report(List<String> warnings, String before, String after) {
            if (!names.isEmpty()) {
                int more = names.size() - 1;
                String others = more == 0 ? "" : " and " + more + (more == 1 ? " other pair" : " other pairs");
                warnings.add(before + names.getFirst() + " (" + example + ")" + others + ": " + after);
            }
        }
    }

    void warn(PcieHierarchy pcie, LinkAssembly nvLinks, List<String> warnings) {
        Odd refused = new Odd();
        Odd upButRefused = new Odd();
        Odd grantedButDown = new Odd();
        Odd nearer = new Odd();
        for (int a = 0; a < gpus.size(); a++) {
            for (int b = a + 1; b < gpus.size(); b++) {
                String pair = gpus.get(a).name() + "-" + gpus.get(b).name();
                boolean joined = nvLinks.joined(a, b);
                PeerStatus access = pairs.access(a, b);
                if (access != null && pairs.refuses(a, b)) {
                    refused.add(pair, explain(access));
                }
                PeerStatus nvLink = pairs.nvLink(a, b);
                if (joined && nvLink != null && nvLink != PeerStatus.OK && nvLink != PeerStatus.UNKNOWN) {
                    upButRefused.add(pair, explain(nvLink));
                } else if (!joined && nvLink == PeerStatus.OK) {
                    grantedButDown.add(pair, explain(nvLink));
                }
                Connection.@Nullable Kind reported = pairs.kind(a, b);
                if (reported != null && reported != pcie.kind(a, b)) {
                    nearer.add(pair, reported + ", others make it " + pcie.kind(a, b));
                }
            }
        }
        refused.report(
                warnings,
                "the driver grants no peer access between ",
                "copies between them go through host" + " memory; nvidia-smi topo -p2p w lists all");
        upButRefused.report(
                warnings,
                "NVLinks are up, but the driver does not use them between ",
                "the links are believed; if copies are slow, see whether nvidia-fabricmanager runs, where there are"
                        + " NVSwitches, and nvidia-smi topo -p2p n");
        grantedButDown.report(
                warnings,
                "the driver grants NVLink, but no link is up between ",
                "they are taken as PCIe;" + " see nvidia-smi nvlink -s");
        nearer.report(warnings, "PCIe classes contradict each other at ", "the nearer class is used");
    }

    private static String explain(PeerStatus status) {
        return status + ", " + status.meaning();
    }
}

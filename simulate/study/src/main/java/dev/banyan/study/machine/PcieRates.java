package dev.banyan.study.machine;

import dev.banyan.study.text.Numbers;
import dev.banyan.topology.Link;
import dev.banyan.topology.LinkSpeeds;
import dev.banyan.topology.Machine;
import java.util.Optional;

/** Explains the bandwidths of a machine's PCIe links. */
final class PcieRates {
    /** Rate per GT/s of gen3 and later, where two of 130 bits are coding. */
    private static final double RAW_GBS_PER_GTS = 128 / 130.0 / 8;

    private PcieRates() {}

    /**
     * Returns a sentence where some link has the rate that NCCL counts for its generation, which single copies exceed;
     * empty where all were measured or stated otherwise, or there is none.
     */
    static Optional<String> sentence(Machine machine) {
        for (double gts : LinkSpeeds.PCIE_GTS) {
            double lane = LinkSpeeds.pcieLaneGbs(gts);
            for (Link link : machine.links()) {
                if (link.kind() == Link.Kind.PCIE && link.gbsAToB() == link.lanes() * lane) {
                    return Optional.of(
                            "PCIe is counted as NCCL counts it (" + Numbers.plain(link.gbsAToB()) + " GB/s one way for "
                                    + Numbers.count(link.lanes(), "lane") + " of " + Numbers.plain(gts) + " GT/s, "
                                    + Numbers.plain(link.lanes() * gts * RAW_GBS_PER_GTS)
                                    + " GB/s raw); on some machines copies are faster, and measured rates may exceed"
                                    + " bounds through PCIe");
                }
            }
        }
        return Optional.empty();
    }
}

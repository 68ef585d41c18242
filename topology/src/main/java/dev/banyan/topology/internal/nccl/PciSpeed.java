package dev.banyan.topology.internal.nccl;

import dev.banyan.config.internal.Quote;
import dev.banyan.topology.LinkSpeeds;
import dev.banyan.topology.internal.speed.SpeedChoice;
import java.util.Map;
import java.util.OptionalDouble;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Width and speed of PCI functions, with one warning per odd {@code link_speed}. What is missing is taken as NCCL
 * takes it unless it is stated: 16 lanes of gen3.
 */
final class PciSpeed {
    /** Matches the speeds in /sys of several kernels; some repeat the unit. */
    private static final Pattern SPEED = Pattern.compile("([0-9]{1,3}(?:\\.[0-9]{1,3})?) ?GT/s(.*)");

    private static final int MAX_WIDTH = 32;
    private static final Set<Integer> WIDTHS = Set.of(1, 2, 4, 8, 12, 16, 32);

    private final SpeedChoice choice;
    private final Warnings warnings;
    private final Map<String, Integer> odd = new TreeMap<>();

    PciSpeed(SpeedChoice choice, Warnings warnings) {
        this.choice = choice;
        this.warnings = warnings;
    }

    /**
     * @param lanes lane count
     * @param gbs one-way bandwidth of all lanes in GB/s
     */
    record Width(int lanes, double gbs) {
        /** Returns the share of one of several functions. */
        Width sharedBy(int number) {
            return new Width(Math.max(1, lanes / number), gbs / number);
        }
    }

    Width of(XmlElement pci) {
        int lanes = pci.integer(NcclNames.LINK_WIDTH, 0);
        if (lanes < 0 || lanes > MAX_WIDTH) {
            warnings.add(pci, "link_width " + lanes + " is none that PCIe has: " + choice.pcieLanes() + " is taken");
            lanes = 0;
        }
        if (lanes != 0 && !WIDTHS.contains(lanes)) {
            warnings.add(pci, "link_width " + lanes + " is none that PCIe has: it is taken as it stands");
        }
        lanes = lanes == 0 ? choice.pcieLanes() : lanes;
        OptionalDouble given = pci.bandwidth();
        return new Width(lanes, given.isPresent() ? given.getAsDouble() : lanes * laneGbs(pci));
    }

    private double laneGbs(XmlElement pci) {
        String text = pci.text(NcclNames.LINK_SPEED);
        Matcher speed = SPEED.matcher(text);
        if (!speed.matches() || Double.parseDouble(speed.group(1)) <= 0) {
            odd.merge(text, 1, Integer::sum);
            return choice.pcieLaneGbs();
        }
        String rest = speed.group(2).strip();
        if ((!rest.isEmpty() && !rest.equals("PCIe")) || !isKnown(speed.group(1))) {
            odd.merge(text, 1, Integer::sum);
        }
        return LinkSpeeds.pcieLaneGbs(Double.parseDouble(speed.group(1)));
    }

    private static boolean isKnown(String gts) {
        return LinkSpeeds.PCIE_GTS.contains(Double.parseDouble(gts));
    }

    /** Tells of the odd speeds that were met. */
    void report() {
        odd.forEach((text, count) -> {
            String functions = count + (count == 1 ? " PCI function" : " PCI functions");
            Matcher speed = SPEED.matcher(text);
            if (speed.matches()) {
                warnings.add("link_speed \"" + Quote.of(text) + "\" of " + functions + " is read as " + speed.group(1)
                        + " GT/s" + (isKnown(speed.group(1)) ? "" : ", a rate that PCIe does not have"));
            } else {
                warnings.add((text.isEmpty()
                                ? "link_speed is not given"
                                : "link_speed \"" + Quote.of(text) + "\" is not known")
                        + " for " + functions + ": "
                        + (choice.statesPcie()
                                ? "what was stated is taken"
                                : "PCIe gen3 (8 GT/s) is taken, as NCCL does"));
            }
        });
    }
}

package dev.banyan.export;

import dev.banyan.topology.Device;
import dev.banyan.topology.Link;
import dev.banyan.topology.Machine;
import dev.banyan.topology.internal.text.LinkNames;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The limits of NCCL for graph files ({@code MAXCHANNELS} and {@code MAX_NODES}), and of RCCL for rings.
 *
 * @param channels most channels: NCCL doubles them, and more overrun its arrays; RCCL doubles at most 16
 * @param elements most XML elements
 */
public record NcclLimits(int channels, int elements) {
    /** The limits that all versions keep. */
    public static final NcclLimits ANY = new NcclLimits(16, 4096);

    /** RCCL takes up to 32 channels on each GPU of AMD ({@code 2 * CHANNEL_LIMIT} of its connect.cc). */
    public static final NcclLimits RCCL = new NcclLimits(32, 4096);

    private static final Pattern VERSION = Pattern.compile("(\\d{1,3})\\.(\\d{1,3})(?:\\.(\\d{1,3}))?(?:[-+].*)?");

    /** Returns whether RCCL takes the rings of a machine's GPUs: they are AMD's, as far as its description shows. */
    public static boolean rcclRunsOn(Machine machine) {
        return LinkNames.isOfAmd(machine);
    }

    /** Returns whether a machine has NVIDIA's GPUs, as far as its description shows; RCCL's files state sm as well. */
    public static boolean isOfNvidia(Machine machine) {
        return !rcclRunsOn(machine)
                && (machine.links().stream().anyMatch(link -> link.kind() == Link.Kind.NVLINK)
                        || machine.devices().stream()
                                .map(Device::attributes)
                                .anyMatch(all -> !all.containsKey("gcn")
                                        && !List.of("", "0").contains(all.getOrDefault("sm", ""))));
    }

    /**
     * Returns the limits of a version.
     *
     * @param version e.g. {@code 2.27.5}
     * @throws IllegalArgumentException if it is no version
     */
    public static NcclLimits of(String version) {
        Matcher parts = VERSION.matcher(version);
        if (!parts.matches()) {
            throw new IllegalArgumentException("'" + version + "' is no version of NCCL; write e.g. 2.27.5");
        }
        int patch = parts.group(3) == null ? 0 : Integer.parseInt(parts.group(3));
        int number = (Integer.parseInt(parts.group(1)) * 1000 + Integer.parseInt(parts.group(2))) * 1000 + patch;
        return new NcclLimits(number >= 2_025_001 ? 32 : 16, number >= 2_029_007 ? 65_536 : 4096);
    }

    /** Returns the most channels of a file for a number of devices. */
    public int channelsOf(int devices) {
        return Math.max(2, Math.min(channels, (elements - 3) / (2 * (devices + 1))));
    }
}

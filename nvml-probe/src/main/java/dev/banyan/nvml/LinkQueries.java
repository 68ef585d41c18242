package dev.banyan.nvml;

import dev.banyan.nvml.NvLink.End;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** Asks NVML for the NVLinks of a device. */
final class LinkQueries {
    /** NVML_NVLINK_MAX_LINKS, the greatest number of links of any device. */
    static final int MAX_LINKS = 18;

    private static final int FEATURE_ENABLED = 1;
    private static final int CAP_P2P_SUPPORTED = 0;
    private static final int TYPE_GPU = 0;
    private static final int TYPE_IBMNPU = 1;
    private static final int TYPE_SWITCH = 2;

    private final NvmlSession session;
    private final LinuxFiles linux;
    private final List<String> warnings;

    /** @param warnings receives a sentence for each link that cannot be read */
    LinkQueries(NvmlSession session, LinuxFiles linux, List<String> warnings) {
        this.session = session;
        this.linux = linux;
        this.warnings = warnings;
    }

    /**
     * Returns the links of a device that are up and that peers may use.
     *
     * @throws NvmlException if the device is lost
     */
    List<NvLink> of(MemorySegment device, String name) {
        List<NvLink> links = new ArrayList<>();
        for (int link = 0; link < MAX_LINKS; link++) {
            String subject = name + " NVLink " + link;
            try {
                if (isUp(device, link, subject)) {
                    links.add(read(device, link, subject));
                }
            } catch (NvmlException e) {
                if (e.is(NvmlReturn.ERROR_INVALID_ARGUMENT)) {
                    // The device has no more links: the maximum is that of the largest device.
                    break;
                }
                if (e.is(NvmlReturn.ERROR_GPU_IS_LOST)) {
                    throw e;
                }
                if (!NvmlSession.isUnsupported(e)) {
                    warnings.add(e.sentence() + "; the link is left out");
                }
            }
        }
        return links;
    }

    private boolean isUp(MemorySegment device, int link, String subject) {
        return session.number(NvmlCall.LINK_STATE, subject, device, link) == FEATURE_ENABLED
                && session.numberIfSupported(NvmlCall.LINK_CAPABILITY, subject, device, link, CAP_P2P_SUPPORTED)
                                .orElse(1)
                        != 0;
    }

    private NvLink read(MemorySegment device, int link, String subject) {
        PciAddress remote =
                PciAddress.of(session.result(NvmlCall.LINK_REMOTE_PCI, subject, PciAddress.PCI_INFO, device, link));
        int version = session.numberIfSupported(NvmlCall.LINK_VERSION, subject, device, link)
                .orElse(0);
        return new NvLink(end(device, link, subject, remote), remote, version);
    }

    private End end(MemorySegment device, int link, String subject, PciAddress remote) {
        Optional<Integer> type = session.numberIfSupported(NvmlCall.LINK_REMOTE_TYPE, subject, device, link);
        if (type.isEmpty()) {
            return linux.isSwitch(remote)
                    .map(yes -> yes ? End.NVSWITCH : End.GPU)
                    .orElse(End.UNKNOWN);
        }
        return switch (type.get()) {
            case TYPE_GPU -> End.GPU;
            case TYPE_IBMNPU -> End.CPU;
            case TYPE_SWITCH -> End.NVSWITCH;
            default -> End.UNKNOWN;
        };
    }
}

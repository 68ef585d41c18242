package dev.banyan.nvml;

/** Whether one device may reach another ({@code nvmlGpuP2PStatus_t}), in the words of {@code nvidia-smi topo -p2p}. */
enum PeerStatus {
    OK("works"),
    CNS("the chipset does not support it"),
    GNS("the GPUs do not support it"),
    TNS("the PCIe topology does not support it"),
    DR("it is disabled by a driver setting"),
    NS("it is not supported"),
    UNKNOWN("the driver does not know");

    private final String meaning;

    PeerStatus(String meaning) {
        this.meaning = meaning;
    }

    String meaning() {
        return meaning;
    }

    static PeerStatus of(int code) {
        return switch (code) {
            case 0 -> OK;
            case 1 -> CNS;
            case 2 -> GNS;
            case 3 -> TNS;
            case 4 -> DR;
            case 5 -> NS;
            default -> UNKNOWN;
        };
    }
}

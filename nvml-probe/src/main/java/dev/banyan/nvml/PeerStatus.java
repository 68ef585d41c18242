package dev.banyan.nvml;

/**
 * The access of one device to another, in the words of {@code nvidia-smi topo -p2p}. The order of the constants is that
 * of {@code nvmlGpuP2PStatus_t}.
 */
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
        PeerStatus[] all = values();
        return code >= 0 && code < all.length ? all[code] : UNKNOWN;
    }
}

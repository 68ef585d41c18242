package dev.banyan.topology;

import java.util.Map;

/** The CPUs of the presets, with the bandwidth between two sockets of them, as NCCL 2.31 counts it. */
enum Cpu {
    /** Any Xeon before Ice Lake, with MXNet's figure. */
    INTEL_XEON("", "", "", "", LinkSpeeds.SOCKET_GBS),
    SAPPHIRE_RAPIDS("x86_64", "GenuineIntel", "6", "143", 22),
    EMERALD_RAPIDS("x86_64", "GenuineIntel", "6", "207", 40),
    AMD_ROME("x86_64", "AuthenticAMD", "143", "49", 16),
    AMD_GENOA("x86_64", "AuthenticAMD", "175", "17", 24),
    GRACE("arm64", "", "", "", 6);

    private final String architecture;
    private final String vendor;
    private final String family;
    private final String model;
    final double gbs;

    Cpu(String architecture, String vendor, String family, String model, double gbs) {
        this.architecture = architecture;
        this.vendor = vendor;
        this.family = family;
        this.model = model;
        this.gbs = gbs;
    }

    /** Adds what NCCL's topology files say of it. */
    void addTo(Map<String, String> attributes) {
        if (!architecture.isEmpty()) {
            attributes.put("arch", architecture);
        }
        if (!vendor.isEmpty()) {
            attributes.put("vendor", vendor);
            attributes.put("familyid", family);
            attributes.put("modelid", model);
        }
    }
}

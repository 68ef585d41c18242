package dev.banyan.topology;

import java.util.Map;

/** The CPUs of the presets, with the bandwidth between two sockets of them. */
enum Cpu {
    /** Any Xeon before Ice Lake. */
    INTEL_XEON("", "", "", LinkSpeeds.SOCKET_GBS),
    SAPPHIRE_RAPIDS("GenuineIntel", "6", "143", 22),
    AMD_ROME("AuthenticAMD", "143", "49", 16);

    private final String vendor;
    private final String family;
    private final String model;
    final double gbs;

    Cpu(String vendor, String family, String model, double gbs) {
        this.vendor = vendor;
        this.family = family;
        this.model = model;
        this.gbs = gbs;
    }

    /** Adds what NCCL's topology files say of it. */
    void addTo(Map<String, String> attributes) {
        if (!vendor.isEmpty()) {
            attributes.put("arch", "x86_64");
            attributes.put("vendor", vendor);
            attributes.put("familyid", family);
            attributes.put("modelid", model);
        }
    }
}

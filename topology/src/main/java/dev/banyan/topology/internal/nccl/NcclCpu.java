package dev.banyan.topology.internal.nccl;

import dev.banyan.topology.LinkSpeeds;
import java.util.Map;

/** Bandwidth between the sockets of a CPU that an NCCL file describes, as NCCL's topo.cc takes it. */
final class NcclCpu {
    private NcclCpu() {}

    /**
     * Bandwidth between two sockets of such CPUs.
     *
     * @param cpu attributes of a {@code cpu} element
     * @return GB/s one way; {@link LinkSpeeds#SOCKET_GBS} where the file does not say
     */
    static double socketGbs(Map<String, String> cpu) {
        String arch = cpu.getOrDefault("arch", "");
        if (arch.startsWith("ppc64")) {
            return 32;
        }
        if (arch.equals("arm64") || arch.equals("aarch64")) {
            return 6;
        }
        int family = number(cpu.getOrDefault("familyid", ""));
        int model = number(cpu.getOrDefault("modelid", ""));
        return switch (cpu.getOrDefault("vendor", "")) {
            case "GenuineIntel" -> intel(family, model);
            case "AuthenticAMD" -> amd(family);
            case "CentaurHauls", "  Shanghai  " -> family == 7 && model == 0x5B ? 9 : 6;
            default -> LinkSpeeds.SOCKET_GBS;
        };
    }

    /** Returns whether a file says enough of a CPU. */
    static boolean isKnown(Map<String, String> cpu) {
        String arch = cpu.getOrDefault("arch", "");
        String vendor = cpu.getOrDefault("vendor", "");
        return arch.startsWith("ppc64")
                || arch.equals("arm64")
                || arch.equals("aarch64")
                || vendor.equals("AuthenticAMD")
                || (vendor.equals("GenuineIntel")
                        && number(cpu.getOrDefault("familyid", "")) == 6
                        && number(cpu.getOrDefault("modelid", "")) >= 0);
    }

    private static double intel(int family, int model) {
        if (family != 6 || model < 0) {
            return LinkSpeeds.SOCKET_GBS;
        }
        if (model >= 0xCF || (model >= 0xAD && model <= 0xAF)) {
            return 40; // Emerald Rapids, Granite Rapids, Sierra Forest
        }
        if (model >= 0x8F) {
            return 22; // Sapphire Rapids
        }
        return model >= 0x55 ? 10 : 6; // Skylake to Ice Lake; Broadwell and before
    }

    /** Families as CPUID has them, and as NCCL wrote them: base and extended family in one number. */
    private static double amd(int family) {
        return switch (family) {
            case 26, 0xBF -> 32; // Zen 5
            case 25, 0xAF -> 24; // Zen 3 and 4
            default -> 16;
        };
    }

    private static int number(String text) {
        return text.matches("[0-9]{1,6}") ? Integer.parseInt(text) : -1;
    }
}

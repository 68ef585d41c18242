package dev.banyan.topology.internal.speed;

import dev.banyan.topology.Hub;
import dev.banyan.topology.Machine;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.OptionalDouble;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The model of a CPU.
 *
 * @param attributes those of a {@code cpu} element of NCCL's topology files: arch, vendor, familyid, modelid; what
 *     is not known is missing
 */
public record CpuModel(Map<String, String> attributes) {
    /** A CPU of which nothing is known. */
    public static final CpuModel UNKNOWN = new CpuModel(Map.of());

    /** A line of lscpu or of {@code /proc/cpuinfo}. */
    private static final Pattern LINE = Pattern.compile(
            "\\s*(Architecture|Vendor ID|vendor_id|CPU family|cpu family|Model|model)\\s*:\\s*(\\S+)\\s*");

    private static final String X86 = "x86_64";

    private static final Map<String, String> NAMES = Map.of(
            "architecture",
            "arch",
            "vendor id",
            "vendor",
            "vendor_id",
            "vendor",
            "cpu family",
            "familyid",
            "model",
            "modelid");

    /** Copies the attributes, in the order of their names. */
    public CpuModel {
        attributes = Collections.unmodifiableMap(new TreeMap<>(attributes));
    }

    /** Reads the first CPU in output of lscpu or {@code /proc/cpuinfo} among other lines; {@link #UNKNOWN} if none. */
    public static CpuModel in(List<String> lines) {
        Map<String, String> found = new HashMap<>();
        for (String line : lines) {
            Matcher matcher = LINE.matcher(line);
            if (matcher.matches()) {
                found.putIfAbsent(NAMES.get(matcher.group(1).toLowerCase(Locale.ROOT)), matcher.group(2));
            }
        }
        String arch = switch (found.getOrDefault("arch", X86)) {
            case "aarch64" -> "arm64";
            case "ppc64le" -> "ppc64";
            default -> X86;
        };
        found.put("arch", arch);
        CpuModel cpu = new CpuModel(arch.equals(X86) ? found : Map.of("arch", arch));
        return cpu.socketGbs().isPresent() ? cpu : UNKNOWN;
    }

    /** Returns the least that NCCL counts between the sockets of a machine; empty where a CPU is not known. */
    public static OptionalDouble socketGbs(Machine machine) {
        return least(machine.hubs().stream()
                .filter(hub -> hub.kind() == Hub.Kind.CPU_SOCKET)
                .map(hub -> new CpuModel(hub.attributes()))
                .toList());
    }

    /** Returns the least that NCCL counts between sockets of some CPUs; empty where one is not known. */
    public static OptionalDouble least(List<CpuModel> cpus) {
        List<OptionalDouble> each = cpus.stream().map(CpuModel::socketGbs).toList();
        return each.stream().allMatch(OptionalDouble::isPresent)
                ? each.stream().mapToDouble(OptionalDouble::getAsDouble).min()
                : OptionalDouble.empty();
    }

    /** Returns GB/s one way between two sockets of such CPUs, as NCCL's topo.cc counts it; empty if not known. */
    public OptionalDouble socketGbs() {
        String arch = attributes.getOrDefault("arch", "");
        if (arch.startsWith("ppc64")) {
            return OptionalDouble.of(32);
        }
        if (arch.equals("arm64") || arch.equals("aarch64")) {
            return OptionalDouble.of(6);
        }
        int family = number("familyid");
        int model = number("modelid");
        return switch (attributes.getOrDefault("vendor", "")) {
            case "GenuineIntel" -> family == 6 && model >= 0 ? OptionalDouble.of(intel(model)) : OptionalDouble.empty();
            case "AuthenticAMD" -> OptionalDouble.of(amd(family));
            default -> OptionalDouble.empty();
        };
    }

    private static double intel(int model) {
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

    private int number(String key) {
        String text = attributes.getOrDefault(key, "");
        return text.matches("[0-9]{1,6}") ? Integer.parseInt(text) : -1;
    }
}

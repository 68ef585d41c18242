package dev.banyan.topology.internal.speed;

import dev.banyan.topology.Hub;
import dev.banyan.topology.Machine;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.OptionalDouble;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The CPUs of a machine, which are all alike.
 *
 * @param attributes those of a {@code cpu} element of NCCL's topology files: arch, vendor, familyid, modelid; what
 *     is not known is missing
 * @param sockets number of CPUs; 0 if it is not known
 * @param numaNodes number of NUMA nodes that have cores; 0 if it is not known
 */
public record CpuModel(Map<String, String> attributes, int sockets, int numaNodes) {
    /** CPUs of which nothing is known. */
    public static final CpuModel UNKNOWN = new CpuModel(Map.of(), 0, 0);

    /** A line of lscpu or of {@code /proc/cpuinfo}. */
    private static final Pattern LINE = Pattern.compile(
            "\\s*(Architecture|Vendor ID|vendor_id|CPU family|cpu family|Model|model)\\s*:\\s*(\\S+)\\s*");

    private static final Pattern SOCKETS = Pattern.compile("\\s*Socket\\(s\\)\\s*:\\s*(\\d{1,4})\\s*");
    private static final Pattern NUMA_NODE = Pattern.compile("\\s*NUMA node\\d+ CPU\\(s\\)\\s*:\\s*\\d.*");
    /** A line of {@code /proc/cpuinfo} for each core. */
    private static final Pattern SOCKET = Pattern.compile("physical id\\s*:\\s*(\\d{1,4})\\s*");
    /** A virtual machine, whose sockets need not be those of the hardware. */
    private static final Pattern VIRTUAL =
            Pattern.compile("\\s*([Ff]lags\\s*:.*\\bhypervisor\\b.*|Hypervisor vendor\\s*:.*)");

    private static final String X86 = "x86_64";
    private static final String AMD = "AuthenticAMD";
    private static final String INTEL = "GenuineIntel";
    private static final double FORMER_AMD_GBS = 16;
    private static final int SKYLAKE = 0x55;

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

    /**
     * Reads the CPUs in output of lscpu or {@code /proc/cpuinfo} among other lines, of several models the first. A
     * virtual machine's number of sockets is left out. So is that of {@code /proc/cpuinfo} unless it is two or more,
     * since a container may not show all cores there.
     */
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
        int sockets = sockets(lines);
        int numaNodes =
                (int) lines.stream().filter(NUMA_NODE.asMatchPredicate()).count();
        CpuModel cpu = new CpuModel(arch.equals(X86) ? found : Map.of("arch", arch), sockets, numaNodes);
        return cpu.socketGbs().isPresent() ? cpu : new CpuModel(Map.of(), sockets, numaNodes);
    }

    private static int sockets(List<String> lines) {
        if (lines.stream().anyMatch(VIRTUAL.asMatchPredicate())) {
            return 0;
        }
        Set<String> ids = new HashSet<>();
        for (String line : lines) {
            Matcher stated = SOCKETS.matcher(line);
            if (stated.matches()) {
                return Integer.parseInt(stated.group(1));
            }
            Matcher core = SOCKET.matcher(line);
            if (core.matches()) {
                ids.add(core.group(1));
            }
        }
        return ids.size() > 1 ? ids.size() : 0;
    }

    /** Returns the number of NUMA nodes of each CPU; 0 if it is not known. */
    public int nodesOfSocket() {
        return sockets == 1 ? Integer.MAX_VALUE : sockets > 0 && numaNodes % sockets == 0 ? numaNodes / sockets : 0;
    }

    /** Returns the least that NCCL 2.31 counts between the sockets of a machine; empty where a CPU is not known. */
    public static OptionalDouble socketGbs(Machine machine) {
        return machine.hubs().stream()
                .filter(hub -> hub.kind() == Hub.Kind.CPU_SOCKET)
                .map(hub -> new CpuModel(hub.attributes(), 0, 0))
                .reduce(CpuModel::slower)
                .map(CpuModel::socketGbs)
                .orElse(OptionalDouble.empty());
    }

    /** Returns the CPU of which NCCL 2.31 counts less between sockets, or one that is not known. */
    public static CpuModel slower(CpuModel first, CpuModel second) {
        return first.socketGbs().orElse(0) <= second.socketGbs().orElse(0) ? first : second;
    }

    /** Returns what NCCL before 2.31 counted between the sockets of a machine; empty where it is not known. */
    public static OptionalDouble formerSocketGbs(Machine machine) {
        OptionalDouble gbs = socketGbs(machine);
        boolean isOfAmd = machine.hubs().stream()
                .filter(hub -> hub.kind() == Hub.Kind.CPU_SOCKET)
                .allMatch(hub -> AMD.equals(hub.attributes().get("vendor")));
        return gbs.isPresent() && isOfAmd ? OptionalDouble.of(FORMER_AMD_GBS) : gbs;
    }

    /** Returns GB/s one way between two sockets of such CPUs, as topo.cc of NCCL 2.31 counts it; empty if not known. */
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
            case INTEL -> family == 6 && model >= 0 ? OptionalDouble.of(intel(model)) : OptionalDouble.empty();
            case AMD -> OptionalDouble.of(amd(family));
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
        return model >= SKYLAKE ? 10 : 6; // to Ice Lake; Broadwell and before
    }

    /**
     * Returns whether NCCL counts less between these CPUs than copies reach: on those of a DGX-1 10.0 to 10.8 GB/s, by
     * p2pBandwidthLatencyTest.
     */
    boolean isXeonBeforeSkylake() {
        return INTEL.equals(attributes.get("vendor")) && socketGbs().isPresent() && number("modelid") < SKYLAKE;
    }

    /**
     * Families as CPUID has them, and as NCCL before 2.31 wrote them: base and extended family in one number. These
     * versions counted all as Zen 1 and 2.
     */
    private static double amd(int family) {
        return switch (family) {
            case 26, 0xBF -> 32; // Zen 5
            case 25, 0xAF -> 24; // Zen 3 and 4
            default -> FORMER_AMD_GBS;
        };
    }

    private int number(String key) {
        String text = attributes.getOrDefault(key, "");
        return text.matches("[0-9]{1,6}") ? Integer.parseInt(text) : -1;
    }
}

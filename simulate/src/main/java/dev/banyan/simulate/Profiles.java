package dev.banyan.simulate;

import dev.banyan.topology.Hub;
import dev.banyan.topology.Link;
import dev.banyan.topology.LinkMatrix;
import dev.banyan.topology.LinkSpeeds;
import dev.banyan.topology.Machine;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;

/** The profiles that come with the library. Safe for use from any thread. */
public final class Profiles {
    private static final int FIRST_V100 = 70;
    private static final int FIRST_A100 = 80;
    /** NVLinks of an A100 to NVSwitches; V100 has 6. */
    private static final int LANES_A100 = 12;
    /** NVLinks between two A100 at least, where these are linked directly; two V100 have 3 at most. */
    private static final int PAIR_LANES_A100 = 4;

    private static final int FIRST_H100 = 90;
    private static final int FIRST_B200 = 100;
    /** B300's. */
    private static final int LAST_B200 = 103;

    private static final List<String> NAMES = List.of(
            "p100-nvlink",
            "v100-nvlink",
            "v100-nvswitch",
            "a100-nvswitch",
            "h100-nvswitch",
            "b200-nvswitch",
            "gb200-nvl",
            "mi250x-xgmi",
            "mi300x-xgmi",
            "mi355x-xgmi",
            "pcie");

    /** Each is read when it is first needed. */
    private static final Map<String, Profile> READ = new ConcurrentHashMap<>();

    private Profiles() {}

    private static Profile load(String name) {
        String resource = "profile-" + name + ".json";
        try (InputStream in = Profiles.class.getResourceAsStream(resource)) {
            if (in == null) {
                throw new IllegalStateException("resource " + resource + " is missing; the jar is not whole");
            }
            return ProfileJson.parse(resource, new String(in.readAllBytes(), StandardCharsets.UTF_8));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** All profiles, in the order in which they should be listed. */
    public static List<Profile> all() {
        return NAMES.stream().map(Profiles::get).toList();
    }

    /** The profile of a name. */
    public static Optional<Profile> find(String name) {
        return NAMES.contains(name) ? Optional.of(get(name)) : Optional.empty();
    }

    private static Profile get(String name) {
        Profile known = READ.get(name);
        if (known != null) {
            return known;
        }
        // No computeIfAbsent, since reading a profile may need another.
        Profile read = load(name);
        READ.put(name, read);
        return read;
    }

    /**
     * The profile that fits a machine best: by its links, and by its devices' architecture (attribute {@code sm} or
     * {@code gcn}). Where that is not known, links show it: NVSwitches that reduce are H100's, 12 links to an NVSwitch
     * and 4 or more between two GPUs A100's, other NVLinks V100's; xGMI links of 64 GB/s and more are MI300X's, those
     * of 76 and more MI355X's, others MI250X's. Blackwell GPUs beside ARM CPUs are GB200's. Where NVLinks do not join
     * all GPUs, PCIe limits the machine, whose profile it is.
     */
    public static Profile of(Machine machine) {
        return get(nameFor(machine));
    }

    /** Returns whether a profile is the one of {@link #of}. */
    public static boolean isOf(Machine machine, Profile profile) {
        return profile.name().equals(nameFor(machine));
    }

    /**
     * Returns whether the constants of {@link #of} were measured on such GPUs and links, rather than on the nearest
     * ones: those of NVSwitches on no GPUs that are linked directly, and none on GPUs of an architecture between. It is
     * so where the description does not say the architecture.
     */
    public static boolean isOfClass(Machine machine) {
        return difference(machine).isEmpty();
    }

    /** Returns on what else the constants of {@link #of} were measured; nothing if {@link #isOfClass} holds. */
    public static Optional<String> difference(Machine machine) {
        String name = nameFor(machine);
        if (name.endsWith("-nvswitch") && machine.hubs().stream().noneMatch(hub -> hub.kind() == Hub.Kind.NVSWITCH)) {
            return Optional.of("GPUs behind an NVSwitch");
        }
        return machine.devices().stream().allMatch(device -> isOfClass(name, device.attributes()))
                ? Optional.empty()
                : Optional.of("other GPUs");
    }

    /** Names a profile, and on what it was measured where a machine has it as the nearest one. */
    public static String described(Machine machine, Profile profile) {
        return "profile " + profile.name()
                + (isOf(machine, profile)
                        ? difference(machine)
                                .map(of -> " (of " + of + ", the nearest)")
                                .orElse("")
                        : "");
    }

    /** Returns whether a machine's profile is of NVIDIA's GPUs of a compute capability, e.g. 90; 0 is any. */
    public static boolean isOfClass(Machine machine, int capability) {
        return isOfClass(nameFor(machine), capability);
    }

    private static boolean isOfClass(String name, Map<String, String> attributes) {
        String gcn = attributes.getOrDefault("gcn", "").replaceFirst("^gfx", "");
        return switch (name) {
            case "mi250x-xgmi" -> gcn.isEmpty() || gcn.startsWith("910") || gcn.startsWith("90a");
            case "mi300x-xgmi", "mi355x-xgmi" -> true;
            default -> isOfClass(name, capability(attributes));
        };
    }

    private static boolean isOfClass(String name, int sm) {
        return name.equals("pcie") || sm == 0 || sm % 10 == 0 || sm == LAST_B200;
    }

    private static String nameFor(Machine machine) {
        if (machine.links().stream().anyMatch(link -> link.kind() == Link.Kind.XGMI)) {
            return xgmi(machine);
        }
        if (machine.links().stream().noneMatch(link -> link.kind() == Link.Kind.NVLINK)
                || !LinkMatrix.of(machine).nvlinkConnected()) {
            return "pcie";
        }
        int sm = machine.devices().stream()
                .map(device -> capability(device.attributes()))
                .filter(capability -> capability > 0)
                .findFirst()
                .orElseGet(() -> capabilityByLinks(machine));
        if (sm < FIRST_V100) {
            return "p100-nvlink";
        }
        if (sm < FIRST_A100) {
            boolean switched = machine.hubs().stream().anyMatch(hub -> hub.kind() == Hub.Kind.NVSWITCH);
            return switched ? "v100-nvswitch" : "v100-nvlink";
        }
        if (sm < FIRST_B200) {
            return sm < FIRST_H100 ? "a100-nvswitch" : "h100-nvswitch";
        }
        return hasGrace(machine) ? "gb200-nvl" : "b200-nvswitch";
    }

    private static String xgmi(Machine machine) {
        double gbs = machine.devices().stream()
                .map(device -> device.attributes().getOrDefault("gcn", ""))
                .filter(architecture -> !architecture.isEmpty())
                .mapToDouble(LinkSpeeds::xgmiLaneGbs)
                .findFirst()
                .orElseGet(() -> machine.links().stream()
                        .filter(link -> link.kind() == Link.Kind.XGMI)
                        .mapToDouble(link -> link.gbsAToB() / Math.max(1, link.lanes()))
                        .max()
                        .orElse(0));
        return gbs < LinkSpeeds.xgmiLaneGbs("gfx942")
                ? "mi250x-xgmi"
                : gbs < LinkSpeeds.xgmiLaneGbs("gfx950") ? "mi300x-xgmi" : "mi355x-xgmi";
    }

    private static boolean hasGrace(Machine machine) {
        return machine.devices().stream()
                        .anyMatch(device ->
                                device.attributes().getOrDefault("model", "").matches(".*\\bGB\\d{3}\\b.*"))
                || machine.hubs().stream()
                        .anyMatch(
                                hub -> hub.attributes().getOrDefault("arch", "").matches("arm64|aarch64"));
    }

    private static int capabilityByLinks(Machine machine) {
        if (machine.hubs().stream().anyMatch(Hub::reduces)) {
            return FIRST_H100;
        }
        return machine.links().stream()
                        .filter(link -> link.kind() == Link.Kind.NVLINK)
                        .anyMatch(link -> link.lanes() >= (isSwitched(machine, link) ? LANES_A100 : PAIR_LANES_A100))
                ? FIRST_A100
                : FIRST_V100;
    }

    private static boolean isSwitched(Machine machine, Link link) {
        return Math.max(link.a(), link.b()) >= machine.size();
    }

    private static int capability(Map<String, String> attributes) {
        String sm = attributes.getOrDefault("sm", "");
        return sm.matches("[0-9]{2,3}") ? Integer.parseInt(sm) : 0;
    }
}

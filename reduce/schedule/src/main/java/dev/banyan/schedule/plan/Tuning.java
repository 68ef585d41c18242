package dev.banyan.schedule.plan;

import dev.banyan.config.Config;
import dev.banyan.config.ConfigException;
import dev.banyan.config.Setting;
import dev.banyan.schedule.type.Collective;
import dev.banyan.topology.Machine;
import dev.banyan.trees.network.Network;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Collections;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import java.util.zip.CRC32;

/**
 * The best choices that {@code banyan tune} has found on one machine. The automatic choice uses them on that machine
 * only.
 *
 * @param machine name of the machine
 * @param devices number of its devices
 * @param wires check sum of its links, by {@link #wires(Machine)}: it differs for other devices of the same machine,
 *     and for another order of ranks
 * @param rules the choices of each collective that was tuned
 */
public record Tuning(String machine, int devices, String wires, Map<Collective, SizeRules> rules) {
    private static final String PREFIX = "BANYAN_TUNED_";
    private static final Setting<String> MACHINE = text(
            "MACHINE", "the name of a machine", "Names the machine that banyan tune made the BANYAN_TUNED_ lists for.");
    private static final Setting<Long> DEVICES = Setting.atLeast(
                    PREFIX + "DEVICES", "devices", 1, 1, "Counts the devices of BANYAN_TUNED_MACHINE.")
            .withDefaultText("none");
    private static final Setting<String> WIRES = text(
            "WIRES",
            "what banyan tune writes",
            "Holds the check sum of the links of BANYAN_TUNED_MACHINE; on any other machine the BANYAN_TUNED_ lists are"
                    + " not used, with a warning.");
    private static final Map<Collective, Setting<SizeRules>> RULES = Arrays.stream(Collective.values())
            .collect(Collectors.toMap(
                    collective -> collective,
                    collective -> SizeRules.setting(
                            PREFIX + collective.name(),
                            "Says what BANYAN_ALGORITHM=auto takes for " + collective.label()
                                    + " on BANYAN_TUNED_MACHINE, unless MXNET_KVSTORE_USETREE is 0 or"
                                    + " MXNET_KVSTORE_TREE_ARRAY_BOUND is set."),
                    (one, other) -> one,
                    () -> new EnumMap<>(Collective.class)));

    /** All BANYAN_TUNED_ settings. They come from one source, the first that has any. */
    public static final List<Setting<?>> SETTINGS = Stream.concat(
                    Stream.of(MACHINE, DEVICES, WIRES), RULES.values().stream())
            .toList();

    private static Setting<String> text(String name, String allowed, String meaning) {
        return Setting.text(PREFIX + name, allowed, "none", meaning);
    }

    public Tuning {
        EnumMap<Collective, SizeRules> copy = new EnumMap<>(Collective.class);
        copy.putAll(rules);
        rules = Collections.unmodifiableMap(copy);
    }

    /** Returns a tuning of a machine. */
    public static Tuning of(Machine machine, Map<Collective, SizeRules> rules) {
        return new Tuning(machine.name(), machine.size(), wires(machine), rules);
    }

    /**
     * Returns the tuning in a process's settings, if there is one.
     *
     * @throws ConfigException if the source that has any of {@link #SETTINGS} lacks the machine
     */
    public static Optional<Tuning> of(Config config) {
        return config.firstSourceOf(SETTINGS).map(Tuning::ofSource);
    }

    private static Tuning ofSource(Config source) {
        Map<Collective, SizeRules> rules = new EnumMap<>(Collective.class);
        RULES.forEach((collective, setting) -> source.find(setting)
                .filter(found -> !found.equals(SizeRules.AUTO))
                .ifPresent(found -> rules.put(collective, found)));
        String remedy = "beside other " + PREFIX + " settings; let banyan tune write them all";
        return new Tuning(
                source.require(MACHINE, remedy),
                Math.toIntExact(source.require(DEVICES, remedy)),
                source.require(WIRES, remedy),
                rules);
    }

    /** Returns a check sum of the links between a machine's devices: their ends, bandwidths and latencies. */
    public static String wires(Machine machine) {
        CRC32 sum = new CRC32();
        if (machine.size() > 1) {
            Network network = Network.ofAllLinks(
                    machine, IntStream.range(0, machine.size()).toArray());
            for (int arc = 0; arc < network.arcs(); arc++) {
                String text = network.from(arc) + " " + network.to(arc) + " " + network.gbs(arc) + " "
                        + network.latencyUs(arc) + " " + network.kind(arc) + ";";
                sum.update(text.getBytes(StandardCharsets.UTF_8));
            }
        }
        return String.format(Locale.ROOT, "%08x", sum.getValue());
    }

    /**
     * Returns why the tuning must not be used on a machine, as one sentence, or nothing if it was made for the machine.
     */
    public Optional<String> objection(Machine other) {
        String found = wires(other);
        return machine.equals(other.name()) && devices == other.size() && wires.equals(found)
                ? Optional.empty()
                : Optional.of("the settings of banyan tune are for " + machine + " with " + devices
                        + " devices (wires " + wires + "), not for " + other.name() + " with " + other.size()
                        + " (wires "
                        + found + "), so they are not used; run banyan tune for this machine");
    }

    /** Returns its settings by name, in the order in which a file should have them. */
    public Map<String, String> settings() {
        Map<String, String> settings = new LinkedHashMap<>();
        settings.put(MACHINE.name(), machine);
        settings.put(DEVICES.name(), Integer.toString(devices));
        settings.put(WIRES.name(), wires);
        rules.forEach((collective, list) -> settings.put(PREFIX + collective.name(), list.toString()));
        return settings;
    }
}

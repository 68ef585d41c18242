package dev.banyan.schedule.plan;

import dev.banyan.schedule.type.Collective;
import dev.banyan.topology.Machine;
import dev.banyan.trees.network.Network;
import java.nio.charset.StandardCharsets;
import java.util.Collections;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.stream.IntStream;
import java.util.zip.CRC32;

/**
 * What {@code banyan tune} found to be best on one machine. The automatic choice follows it there, and nowhere else.
 *
 * @param machine name of the machine
 * @param devices number of its devices
 * @param wires check sum of its wires, as {@link #wires(Machine)} gives it: other devices of the same machine,
 *     or the same in another order of ranks, have others
 * @param rules what carries which collective out; nothing for those that were not tuned
 */
public record Tuning(String machine, int devices, String wires, Map<Collective, SizeRules> rules) {
    public Tuning {
        EnumMap<Collective, SizeRules> copy = new EnumMap<>(Collective.class);
        copy.putAll(rules);
        rules = Collections.unmodifiableMap(copy);
    }

    /** A tuning of a machine. */
    public static Tuning of(Machine machine, Map<Collective, SizeRules> rules) {
        return new Tuning(machine.name(), machine.size(), wires(machine), rules);
    }

    /** A check sum of the links between a machine's devices: their ends, bandwidths and latencies. */
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

    /** Why it must not be used on a machine, as one sentence; nothing if it is made for it. */
    public Optional<String> objection(Machine other) {
        String found = wires(other);
        return machine.equals(other.name()) && devices == other.size() && wires.equals(found)
                ? Optional.empty()
                : Optional.of("the settings of banyan tune are for " + machine + " with " + devices
                        + " devices (wires " + wires + "), not for " + other.name() + " with " + other.size()
                        + " (wires "
                        + found + "), so they are not used; run banyan tune for this machine");
    }

    /** Its settings by name, in the order in which a file should have them. */
    public Map<String, String> settings() {
        Map<String, String> settings = new LinkedHashMap<>();
        settings.put(Config.TUNED_MACHINE, machine);
        settings.put(Config.TUNED_DEVICES, Integer.toString(devices));
        settings.put(Config.TUNED_WIRES, wires);
        rules.forEach((collective, list) -> settings.put(Config.tuned(collective), list.toString()));
        return settings;
    }
}

package dev.banyan.schedule.plan;

import dev.banyan.schedule.type.Collective;
import dev.banyan.topology.Machine;
import dev.banyan.trees.network.Network;
import java.nio.charset.StandardCharsets;
import java.util.Collections;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.stream.IntStream;
import java.util.zip.CRC32;
import org.jspecify.annotations.Nullable;

/**
 * The best choices that {@code banyan tune} has found on one machine with one platform. The automatic choice uses them
 * there and nowhere else.
 *
 * @param platform what executed the calls
 * @param links check sum of the machine's links, by {@link #links(Machine)}
 * @param machine name of the machine, for people
 * @param rules the choices of each collective that was tuned
 */
public record Tuning(Platform platform, String links, String machine, Map<Collective, SizeRules> rules) {
    private static final String LINKS = "links";

    public Tuning {
        Objects.requireNonNull(platform, "platform");
        Objects.requireNonNull(links, "links");
        Objects.requireNonNull(machine, "machine");
        EnumMap<Collective, SizeRules> copy = new EnumMap<>(Collective.class);
        copy.putAll(rules);
        rules = Collections.unmodifiableMap(copy);
    }

    /** Returns a tuning of a machine. */
    public static Tuning of(Platform platform, Machine machine, Map<Collective, SizeRules> rules) {
        return new Tuning(platform, links(machine), machine.name(), rules);
    }

    /**
     * Returns a check sum of the links between a machine's devices: their ends, bandwidths, latencies and kinds. Names
     * do not count. It differs for other devices of the same machine, and for another order of ranks.
     */
    public static String links(Machine machine) {
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

    /** Returns whether two tunings hold for the same platform and links. */
    boolean isForSameAs(Tuning other) {
        return keys().equals(other.keys());
    }

    /** Returns what must be equal, by the names that the file has for it. */
    Map<String, String> keys() {
        Map<String, String> keys = new LinkedHashMap<>();
        keys.put("backend", platform.backend());
        keys.put("executor", platform.execution().label());
        keys.put("device", platform.device());
        keys.put("driver", platform.driver());
        keys.put(LINKS, links);
        return keys;
    }

    /**
     * Returns what differs between this, a section of a file, and another one, e.g. {@code driver A, not B}: first the
     * links, since without them nothing else matters.
     */
    List<String> differences(Tuning wanted) {
        Map<String, String> others = wanted.keys();
        return keys().entrySet().stream()
                .filter(key -> !key.getValue().equals(others.get(key.getKey())))
                .sorted(Comparator.comparing(key -> !key.getKey().equals(LINKS)))
                .map(key -> key.getKey() + " " + quoted(key.getValue()) + ", not " + quoted(others.get(key.getKey())))
                .toList();
    }

    private static String quoted(@Nullable String text) {
        return text == null || text.isEmpty() ? "none" : text;
    }

    /** Returns the rules of both; where both have some of one collective, the other's. */
    Tuning with(Tuning other) {
        Map<Collective, SizeRules> both = new EnumMap<>(Collective.class);
        both.putAll(rules);
        both.putAll(other.rules);
        return new Tuning(platform, links, other.machine, both);
    }
}

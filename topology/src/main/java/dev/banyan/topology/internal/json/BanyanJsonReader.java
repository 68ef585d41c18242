package dev.banyan.topology.internal.json;

import dev.banyan.config.internal.Quote;
import dev.banyan.config.internal.json.JsonValue;
import dev.banyan.topology.Device;
import dev.banyan.topology.Hub;
import dev.banyan.topology.Link;
import dev.banyan.topology.Machine;
import dev.banyan.topology.Nic;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.stream.Collectors;

/**
 * Reads one machine from Banyan's JSON.
 *
 * @param json the machine
 */
record BanyanJsonReader(JsonValue json) {
    private static final int MAX_DEVICES = 1024;
    private static final List<String> KEYS =
            List.of("banyan", "name", "devices", "hubs", "links", "nics", "warnings", "assumed");

    Machine read() {
        if (json.has("command")) {
            throw json.refuse(
                    "is a report of a command (--format json); \"banyan topo --write json\" prints a machine");
        }
        json.check(KEYS);
        JsonValue version = json.find("banyan");
        if (version == null) {
            throw json.refuse("key \"banyan\" is missing: a machine in Banyan's JSON says \"banyan\": "
                    + BanyanJsonFormat.VERSION);
        }
        if (version.integer() != BanyanJsonFormat.VERSION) {
            throw version.refuse("is version " + version.integer() + " of Banyan's JSON; version "
                    + BanyanJsonFormat.VERSION + " is known");
        }
        String name = json.get("name").string();
        List<Device> devices = each(json.get("devices").array(), BanyanJsonReader::device);
        if (devices.size() > MAX_DEVICES) {
            throw json.get("devices")
                    .refuse("there are " + devices.size() + " devices; " + MAX_DEVICES + " is the most");
        }
        List<Hub> hubs = each(json.list("hubs"), BanyanJsonReader::hub);
        int nodes = devices.size() + hubs.size();
        return new Machine(
                name,
                devices,
                hubs,
                each(json.get("links").array(), link -> link(link, nodes)),
                each(json.list("nics"), nic -> nic(nic, nodes)),
                each(json.list("warnings"), JsonValue::string),
                each(json.list("assumed"), JsonValue::string));
    }

    private static <T> List<T> each(List<JsonValue> values, Function<JsonValue, T> item) {
        return values.stream().map(item).toList();
    }

    private static Device device(JsonValue device) {
        device.check(List.of("name", "busId", "numa", "attributes"));
        JsonValue busId = device.find("busId");
        JsonValue numa = device.find("numa");
        if (numa != null && numa.integer() < -1) {
            throw numa.refuse("\"numa\" is " + numa.integer() + "; -1 stands for a node that is not known");
        }
        return new Device(
                device.get("name").string(),
                busId == null || busId.isNull() ? null : busId.string(),
                numa == null ? -1 : numa.integer(),
                attributes(device));
    }

    private static Hub hub(JsonValue hub) {
        hub.check(List.of("name", "kind", "reduces", "attributes"));
        JsonValue reduces = hub.find("reduces");
        return made(
                hub,
                () -> new Hub(
                        hub.get("name").string(),
                        constant(hub.get("kind"), Hub.Kind.values()),
                        reduces != null && reduces.truth(),
                        attributes(hub)));
    }

    private static Link link(JsonValue link, int nodes) {
        link.check(List.of("a", "b", "kind", "lanes", "gbsAToB", "gbsBToA", "latencyUs"));
        return made(
                link,
                () -> new Link(
                        end(link.get("a"), "a", 0, nodes),
                        end(link.get("b"), "b", 0, nodes),
                        constant(link.get("kind"), Link.Kind.values()),
                        link.get("lanes").integer(),
                        link.get("gbsAToB").number(),
                        link.get("gbsBToA").number(),
                        link.get("latencyUs").number()));
    }

    private static Nic nic(JsonValue nic, int nodes) {
        nic.check(List.of("name", "hub", "attributes"));
        JsonValue hub = nic.find("hub");
        return new Nic(nic.get("name").string(), hub == null ? -1 : end(hub, "hub", -1, nodes), attributes(nic));
    }

    /** Makes a thing that refuses impossible values without a place. */
    private static <T> T made(JsonValue json, Supplier<T> thing) {
        try {
            return thing.get();
        } catch (IllegalArgumentException e) {
            throw json.refuse(String.valueOf(e.getMessage()));
        }
    }

    private static int end(JsonValue json, String key, int least, int nodes) {
        int node = json.integer();
        if (node < least || node >= nodes) {
            throw json.refuse("\"" + key + "\" is " + node
                    + (nodes == 0
                            ? ", but there is neither a device nor a hub"
                            : "; node indices are " + least + ".." + (nodes - 1) + ": devices first, then hubs"));
        }
        return node;
    }

    private static Map<String, String> attributes(JsonValue json) {
        JsonValue attributes = json.find("attributes");
        Map<String, String> map = new LinkedHashMap<>();
        if (attributes != null) {
            attributes.object().forEach((key, value) -> map.put(key, value.string()));
        }
        return map;
    }

    private static <E extends Enum<E>> E constant(JsonValue json, E[] constants) {
        String text = json.string();
        return Arrays.stream(constants)
                .filter(constant -> Quote.word(constant).equals(text.toLowerCase(Locale.ROOT)))
                .findFirst()
                .orElseThrow(() -> json.refuse("\"kind\" is \"" + Quote.of(text) + "\"; known are "
                        + Arrays.stream(constants).map(Quote::word).collect(Collectors.joining(", "))));
    }
}

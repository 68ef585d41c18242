package dev.banyan.topology.internal.json;

import dev.banyan.config.internal.Quote;
import dev.banyan.config.internal.json.JsonPieces;
import dev.banyan.topology.Machine;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Writes Banyan's JSON: keys in a fixed order, one device, hub, link or card per line. */
public final class BanyanJsonWriter {
    private BanyanJsonWriter() {}

    public static String write(Machine machine) {
        return Stream.of(
                        field("banyan", BanyanJsonFormat.VERSION),
                        text("name", machine.name()),
                        array(
                                "devices",
                                machine.devices(),
                                device -> object(
                                        text("name", device.name()),
                                        text("busId", device.busId()),
                                        field("numa", device.numa()),
                                        attributes(device.attributes()))),
                        array(
                                "hubs",
                                machine.hubs(),
                                hub -> object(
                                        text("name", hub.name()),
                                        text("kind", Quote.word(hub.kind())),
                                        hub.reduces() ? field("reduces", true) : "",
                                        attributes(hub.attributes()))),
                        array(
                                "links",
                                machine.links(),
                                link -> object(
                                        field("a", link.a()),
                                        field("b", link.b()),
                                        text("kind", Quote.word(link.kind())),
                                        field("lanes", link.lanes()),
                                        field("gbsAToB", link.gbsAToB()),
                                        field("gbsBToA", link.gbsBToA()),
                                        field("latencyUs", link.latencyUs()))),
                        array(
                                "nics",
                                machine.nics(),
                                nic -> object(
                                        text("name", nic.name()),
                                        field("hub", nic.hub()),
                                        attributes(nic.attributes()))),
                        array("warnings", machine.warnings(), JsonPieces::of),
                        array("assumed", machine.assumed(), JsonPieces::of))
                .collect(Collectors.joining(",\n  ", "{\n  ", "\n}\n"));
    }

    private static String field(String key, Object value) {
        return JsonPieces.of(key) + ": " + value;
    }

    private static String text(String key, @Nullable String value) {
        return field(key, value == null ? "null" : JsonPieces.of(value));
    }

    private static <T> String array(String key, List<T> items, Function<T, String> item) {
        return field(
                key,
                items.isEmpty()
                        ? "[]"
                        : items.stream().map(item).collect(Collectors.joining(",\n    ", "[\n    ", "\n  ]")));
    }

    /** @param fields empty ones are left out */
    private static String object(String... fields) {
        return fields.length == 0
                ? "{}"
                : Stream.of(fields).filter(field -> !field.isEmpty()).collect(Collectors.joining(", ", "{ ", " }"));
    }

    private static String attributes(Map<String, String> attributes) {
        return field(
                "attributes",
                object(attributes.entrySet().stream()
                        .map(attribute -> text(attribute.getKey(), attribute.getValue()))
                        .toArray(String[]::new)));
    }
}

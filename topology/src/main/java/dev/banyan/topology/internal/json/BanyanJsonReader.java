package dev.banyan.topology.internal.json;

import com.fasterxml.jackson.core.JsonLocation;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import dev.banyan.InputException;
import dev.banyan.topology.Device;
import dev.banyan.topology.Hub;
import dev.banyan.topology.Link;
import dev.banyan.topology.Machine;
import dev.banyan.topology.Nic;
import dev.banyan.topology.internal.text.Quote;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** Reads one machine from Banyan's JSON, token by token, so that every refusal knows its place. Used once. */
final class BanyanJsonReader {
    private static final int MAX_DEVICES = 1024;
    private static final int MAX_ITEMS = 1_000_000;

    private final String source;
    private final JsonParser parser;

    /** The place of the key whose value is being read. */
    private JsonLocation keyPlace = JsonLocation.NA;

    private @Nullable String name;
    private boolean versioned;
    private @Nullable List<Device> devices;
    private @Nullable List<Placed<Link>> links;
    private List<Hub> hubs = List.of();
    private List<Placed<Nic>> nics = List.of();
    private List<String> warnings = List.of();
    private List<String> assumed = List.of();

    BanyanJsonReader(String source, JsonParser parser) {
        this.source = source;
        this.parser = parser;
    }

    /** A thing whose indices can be checked only when all nodes are known, with its place. */
    private record Placed<T>(T value, JsonLocation at) {}

    @FunctionalInterface
    private interface Item<T> {
        T read() throws IOException;
    }

    @FunctionalInterface
    private interface Field {
        void read(String key) throws IOException;
    }

    @FunctionalInterface
    private interface FieldValue {
        @Nullable
        Object read(String key) throws IOException;
    }

    Machine read() throws IOException {
        parser.nextToken();
        JsonLocation whole = parser.currentTokenLocation();
        readObject("the machine", this::readMachineField);
        if (parser.nextToken() != null) {
            throw refuse("something follows the machine; remove it");
        }
        if (!versioned) {
            throw refuse(
                    whole,
                    "key \"banyan\" is missing: a machine in Banyan's JSON says \"banyan\": "
                            + BanyanJsonFormat.VERSION);
        }
        if (name == null || devices == null || links == null) {
            throw refuse(
                    whole,
                    "key \"" + (name == null ? "name" : devices == null ? "devices" : "links")
                            + "\" of the machine is missing");
        }
        int nodes = devices.size() + hubs.size();
        for (Placed<Link> link : links) {
            checkEnd(link, link.value.a(), "a", 0, nodes);
            checkEnd(link, link.value.b(), "b", 0, nodes);
        }
        for (Placed<Nic> nic : nics) {
            checkEnd(nic, nic.value.hub(), "hub", -1, nodes);
        }
        return new Machine(name, devices, hubs, values(links), values(nics), warnings, assumed);
    }

    private static <T> List<T> values(List<Placed<T>> placed) {
        return placed.stream().map(Placed::value).toList();
    }

    private void checkEnd(Placed<?> item, int node, String key, int least, int nodes) {
        if (node < least || node >= nodes) {
            String allowed = nodes == 0
                    ? ", but there is neither a device nor a hub"
                    : "; node indices are " + least + ".." + (nodes - 1) + ": devices first, then hubs";
            throw refuse(item.at, "\"" + key + "\" is " + node + allowed);
        }
    }

    private void readMachineField(String key) throws IOException {
        switch (key) {
            case "banyan" -> {
                int version = integer(key);
                if (version != BanyanJsonFormat.VERSION) {
                    throw refuse("is version " + version + " of Banyan's JSON; version " + BanyanJsonFormat.VERSION
                            + " is known");
                }
                versioned = true;
            }
            case "name" -> name = string(key);
            case "devices" -> {
                devices = array(key, this::readDevice);
                if (devices.size() > MAX_DEVICES) {
                    throw refuse("there are " + devices.size() + " devices; " + MAX_DEVICES + " is the most");
                }
            }
            case "hubs" -> hubs = array(key, this::readHub);
            case "links" -> links = array(key, this::readLink);
            case "nics" -> nics = array(key, this::readNic);
            case "warnings" -> warnings = array(key, () -> string("warnings"));
            case "assumed" -> assumed = array(key, () -> string("assumed"));
            default -> throw unknown(key, "banyan, name, devices, hubs, links, nics, warnings, assumed");
        }
    }

    private Device readDevice() throws IOException {
        Fields fields = fields("device", "name, busId, numa, attributes", key -> switch (key) {
            case "numa" -> integer(key);
            case "busId" -> parser.currentToken() == JsonToken.VALUE_NULL ? null : string(key);
            default -> string(key);
        });
        int numa = fields.get("numa", -1);
        if (numa < -1) {
            throw refuse(fields.at, "\"numa\" is " + numa + "; -1 stands for a node that is not known");
        }
        return new Device(
                fields.need("name", String.class), (String) fields.values.get("busId"), numa, fields.attributes);
    }

    private Hub readHub() throws IOException {
        Fields fields = fields("hub", "name, kind, reduces, attributes", key -> switch (key) {
            case "kind" -> constant(key, Hub.Kind.values());
            case "reduces" -> truth(key);
            default -> string(key);
        });
        boolean reduces = fields.values.get("reduces") instanceof Boolean given && given;
        try {
            return new Hub(
                    fields.need("name", String.class), fields.need("kind", Hub.Kind.class), reduces, fields.attributes);
        } catch (IllegalArgumentException e) {
            throw refuse(fields.at, String.valueOf(e.getMessage()));
        }
    }

    private Placed<Link> readLink() throws IOException {
        Fields fields = fields("link", "a, b, kind, lanes, gbsAToB, gbsBToA, latencyUs", key -> switch (key) {
            case "a", "b", "lanes" -> integer(key);
            case "kind" -> constant(key, Link.Kind.values());
            default -> number(key);
        });
        int a = fields.need("a", Integer.class);
        int b = fields.need("b", Integer.class);
        Link.Kind kind = fields.need("kind", Link.Kind.class);
        int lanes = fields.need("lanes", Integer.class);
        double aToB = fields.need("gbsAToB", Double.class);
        double bToA = fields.need("gbsBToA", Double.class);
        double us = fields.need("latencyUs", Double.class);
        try {
            return new Placed<>(new Link(a, b, kind, lanes, aToB, bToA, us), fields.at);
        } catch (IllegalArgumentException e) {
            throw refuse(fields.at, String.valueOf(e.getMessage()));
        }
    }

    private Placed<Nic> readNic() throws IOException {
        Fields fields = fields("network card", "name, hub, attributes", key -> switch (key) {
            case "hub" -> integer(key);
            default -> string(key);
        });
        Nic nic = new Nic(fields.need("name", String.class), fields.get("hub", -1), fields.attributes);
        return new Placed<>(nic, fields.at);
    }

    /**
     * Reads the object at the current token, all of whose keys are known.
     *
     * @param known its keys, separated by commas
     * @param value reads the value of any key but {@code attributes}
     */
    private Fields fields(String what, String known, FieldValue value) throws IOException {
        List<String> keys = List.of(known.split(", ", -1));
        Fields fields = new Fields(what);
        readObject("a " + what, key -> {
            if (!keys.contains(key)) {
                throw unknown(key, known);
            }
            if (key.equals("attributes")) {
                fields.attributes = attributes();
            } else {
                fields.values.put(key, value.read(key));
            }
        });
        return fields;
    }

    private Map<String, String> attributes() throws IOException {
        Map<String, String> map = new LinkedHashMap<>();
        readObject("\"attributes\"", key -> map.put(key, string(key)));
        return map;
    }

    /** Reads the object at the current token; each field reads its own value. */
    private void readObject(String what, Field field) throws IOException {
        if (parser.currentToken() != JsonToken.START_OBJECT) {
            throw refuse(what + " must be an object, not " + found());
        }
        while (parser.nextToken() == JsonToken.FIELD_NAME) {
            String key = parser.currentName();
            keyPlace = parser.currentTokenLocation();
            parser.nextToken();
            field.read(key);
        }
    }

    private <T> List<T> array(String key, Item<T> item) throws IOException {
        if (parser.currentToken() != JsonToken.START_ARRAY) {
            throw refuse("\"" + key + "\" must be an array, not " + found());
        }
        List<T> items = new ArrayList<>();
        while (parser.nextToken() != JsonToken.END_ARRAY) {
            if (items.size() == MAX_ITEMS) {
                throw refuse("\"" + key + "\" has more than " + MAX_ITEMS + " entries");
            }
            items.add(item.read());
        }
        return items;
    }

    private String string(String key) throws IOException {
        if (parser.currentToken() != JsonToken.VALUE_STRING) {
            throw refuse("\"" + Quote.of(key) + "\" must be a string, not " + found());
        }
        return parser.getText();
    }

    private int integer(String key) throws IOException {
        if (parser.currentToken() != JsonToken.VALUE_NUMBER_INT
                || parser.getNumberType() != JsonParser.NumberType.INT) {
            throw refuse("\"" + key + "\" must be an integer of 32 bits, not " + found());
        }
        return parser.getIntValue();
    }

    private boolean truth(String key) throws IOException {
        JsonToken token = parser.currentToken();
        if (token != JsonToken.VALUE_TRUE && token != JsonToken.VALUE_FALSE) {
            throw refuse("\"" + key + "\" must be true or false, not " + found());
        }
        return parser.getBooleanValue();
    }

    private double number(String key) throws IOException {
        JsonToken token = parser.currentToken();
        if (token != JsonToken.VALUE_NUMBER_INT && token != JsonToken.VALUE_NUMBER_FLOAT) {
            throw refuse("\"" + key + "\" must be a number, not " + found());
        }
        return parser.getDoubleValue();
    }

    private <E extends Enum<E>> E constant(String key, E[] constants) throws IOException {
        String text = string(key);
        for (E constant : constants) {
            if (BanyanJsonWriter.word(constant).equals(text.toLowerCase(Locale.ROOT))) {
                return constant;
            }
        }
        throw refuse("\"" + key + "\" is \"" + Quote.of(text) + "\"; known are "
                + Arrays.stream(constants).map(BanyanJsonWriter::word).collect(Collectors.joining(", ")));
    }

    private String found() throws IOException {
        JsonToken token = parser.currentToken();
        if (token == null) {
            return "the end of the file";
        }
        return switch (token) {
            case START_OBJECT -> "an object";
            case START_ARRAY -> "an array";
            case VALUE_STRING -> "the string \"" + Quote.of(parser.getText()) + "\"";
            default -> Quote.of(parser.getText());
        };
    }

    private InputException unknown(String key, String known) {
        return refuse(
                keyPlace,
                "key \"" + Quote.of(key) + "\" is not known here; known are " + known
                        + (key.equals("command")
                                ? " (\"banyan topo --format json\" is a report; \"banyan topo --write json\" prints"
                                        + " this form)"
                                : ""));
    }

    private InputException refuse(String problem) {
        return refuse(parser.currentTokenLocation(), problem);
    }

    private InputException refuse(JsonLocation at, String problem) {
        return new InputException(source, Math.max(0, at.getLineNr()), Math.max(0, at.getColumnNr()), problem);
    }

    /** The fields of one object until all are there. */
    private final class Fields {
        final JsonLocation at = parser.currentTokenLocation();
        final Map<String, @Nullable Object> values = new HashMap<>();
        Map<String, String> attributes = Map.of();
        private final String what;

        Fields(String what) {
            this.what = what;
        }

        <T> T need(String key, Class<T> type) {
            Object value = values.get(key);
            if (value == null) {
                throw refuse(at, "key \"" + key + "\" of the " + what + " is missing");
            }
            return type.cast(value);
        }

        int get(String key, int fallback) {
            return values.get(key) instanceof Integer value ? value : fallback;
        }
    }
}

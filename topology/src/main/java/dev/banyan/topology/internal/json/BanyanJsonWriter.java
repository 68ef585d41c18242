package dev.banyan.topology.internal.json;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.util.DefaultPrettyPrinter;
import com.fasterxml.jackson.core.util.Separators;
import dev.banyan.topology.Machine;
import java.io.IOException;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** Writes Banyan's JSON: keys in a fixed order, one device, hub, link or card per line. */
public final class BanyanJsonWriter {
    private static final JsonFactory FACTORY = new JsonFactory();

    private BanyanJsonWriter() {}

    public static String write(Machine machine) {
        StringWriter text = new StringWriter();
        try (JsonGenerator json = FACTORY.createGenerator(text)) {
            json.setPrettyPrinter(printer());
            write(machine, json);
        } catch (IOException e) {
            throw new UncheckedIOException("writing to memory failed", e);
        }
        return text.append('\n').toString();
    }

    private static DefaultPrettyPrinter printer() {
        Separators separators = Separators.createDefaultInstance()
                .withObjectFieldValueSpacing(Separators.Spacing.AFTER)
                .withObjectEntrySpacing(Separators.Spacing.NONE)
                .withObjectEmptySeparator("")
                .withArrayEmptySeparator("");
        return new DefaultPrettyPrinter(separators)
                .withObjectIndenter(new LinesTo(1))
                .withArrayIndenter(new LinesTo(2));
    }

    /** Begins a new line down to a level; deeper items are separated by spaces. */
    private static final class LinesTo implements DefaultPrettyPrinter.Indenter {
        private final int deepest;

        LinesTo(int deepest) {
            this.deepest = deepest;
        }

        @Override
        public void writeIndentation(JsonGenerator json, int level) throws IOException {
            json.writeRaw(level <= deepest ? "\n" + "  ".repeat(level) : " ");
        }

        @Override
        public boolean isInline() {
            return false;
        }
    }

    @FunctionalInterface
    private interface Fields<T> {
        public void write(T item) throws IOException;
    }

    private static void write(Machine machine, JsonGenerator json) throws IOException {
        json.writeStartObject();
        json.writeNumberField("banyan", BanyanJsonFormat.VERSION);
        json.writeStringField("name", machine.name());
        objects("devices", machine.devices(), json, device -> {
            json.writeStringField("name", device.name());
            json.writeStringField("busId", device.busId());
            json.writeNumberField("numa", device.numa());
            attributes(device.attributes(), json);
        });
        objects("hubs", machine.hubs(), json, hub -> {
            json.writeStringField("name", hub.name());
            json.writeStringField("kind", word(hub.kind()));
            if (hub.reduces()) {
                json.writeBooleanField("reduces", true);
            }
            attributes(hub.attributes(), json);
        });
        objects("links", machine.links(), json, link -> {
            json.writeNumberField("a", link.a());
            json.writeNumberField("b", link.b());
            json.writeStringField("kind", word(link.kind()));
            json.writeNumberField("lanes", link.lanes());
            json.writeNumberField("gbsAToB", link.gbsAToB());
            json.writeNumberField("gbsBToA", link.gbsBToA());
            json.writeNumberField("latencyUs", link.latencyUs());
        });
        objects("nics", machine.nics(), json, nic -> {
            json.writeStringField("name", nic.name());
            json.writeNumberField("hub", nic.hub());
            attributes(nic.attributes(), json);
        });
        sentences("warnings", machine.warnings(), json);
        sentences("assumed", machine.assumed(), json);
        json.writeEndObject();
    }

    private static void sentences(String key, List<String> sentences, JsonGenerator json) throws IOException {
        json.writeArrayFieldStart(key);
        for (String sentence : sentences) {
            json.writeString(sentence);
        }
        json.writeEndArray();
    }

    private static <T> void objects(String key, List<T> items, JsonGenerator json, Fields<T> fields)
            throws IOException {
        json.writeArrayFieldStart(key);
        for (T item : items) {
            json.writeStartObject();
            fields.write(item);
            json.writeEndObject();
        }
        json.writeEndArray();
    }

    private static void attributes(Map<String, String> attributes, JsonGenerator json) throws IOException {
        json.writeObjectFieldStart("attributes");
        for (Map.Entry<String, String> attribute : attributes.entrySet()) {
            json.writeStringField(attribute.getKey(), attribute.getValue());
        }
        json.writeEndObject();
    }

    /** A constant as it is written: {@code PCIE_SWITCH} as {@code pcie-switch}. */
    public static String word(Enum<?> constant) {
        return constant.name().toLowerCase(Locale.ROOT).replace('_', '-');
    }
}

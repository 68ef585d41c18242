package dev.banyan.topology.format;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.util.DefaultIndenter;
import com.fasterxml.jackson.core.util.DefaultPrettyPrinter;
import com.fasterxml.jackson.core.util.Separators;
import dev.banyan.topology.Device;
import dev.banyan.topology.Hub;
import dev.banyan.topology.Link;
import dev.banyan.topology.Machine;
import dev.banyan.topology.Nic;
import java.io.IOException;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.util.Locale;
import java.util.Map;

/** Writes Banyan's JSON: keys in a fixed order, one device, hub, link or card per line. */
final class BanyanJsonWriter {
    private static final JsonFactory FACTORY = new JsonFactory();
    /** Levels up to the entries of the machine's arrays have lines of their own; what is deeper stays in one line. */
    private static final int LINES_TO_LEVEL = 2;

    private BanyanJsonWriter() {}

    static String write(Machine machine) {
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
        DefaultIndenter lines = new DefaultIndenter("  ", "\n") {
            private static final long serialVersionUID = 1L;

            @Override
            public void writeIndentation(JsonGenerator json, int level) throws IOException {
                if (level <= LINES_TO_LEVEL) {
                    super.writeIndentation(json, level);
                }
            }
        };
        Separators separators = Separators.createDefaultInstance()
                .withObjectFieldValueSpacing(Separators.Spacing.AFTER)
                .withObjectEntrySpacing(Separators.Spacing.AFTER)
                .withObjectEmptySeparator("")
                .withArrayEmptySeparator("");
        return new DefaultPrettyPrinter(separators).withObjectIndenter(lines).withArrayIndenter(lines);
    }

    private static void write(Machine machine, JsonGenerator json) throws IOException {
        json.writeStartObject();
        json.writeNumberField("banyan", BanyanJsonFormat.VERSION);
        json.writeStringField("name", machine.name());
        json.writeArrayFieldStart("devices");
        for (Device device : machine.devices()) {
            json.writeStartObject();
            json.writeStringField("name", device.name());
            json.writeStringField("busId", device.busId());
            json.writeNumberField("numa", device.numa());
            attributes(device.attributes(), json);
            json.writeEndObject();
        }
        json.writeEndArray();
        json.writeArrayFieldStart("hubs");
        for (Hub hub : machine.hubs()) {
            json.writeStartObject();
            json.writeStringField("name", hub.name());
            json.writeStringField("kind", word(hub.kind()));
            attributes(hub.attributes(), json);
            json.writeEndObject();
        }
        json.writeEndArray();
        json.writeArrayFieldStart("links");
        for (Link link : machine.links()) {
            json.writeStartObject();
            json.writeNumberField("a", link.a());
            json.writeNumberField("b", link.b());
            json.writeStringField("kind", word(link.kind()));
            json.writeNumberField("lanes", link.lanes());
            json.writeNumberField("gbsAToB", link.gbsAToB());
            json.writeNumberField("gbsBToA", link.gbsBToA());
            json.writeNumberField("latencyUs", link.latencyUs());
            json.writeEndObject();
        }
        json.writeEndArray();
        json.writeArrayFieldStart("nics");
        for (Nic nic : machine.nics()) {
            json.writeStartObject();
            json.writeStringField("name", nic.name());
            json.writeNumberField("hub", nic.hub());
            attributes(nic.attributes(), json);
            json.writeEndObject();
        }
        json.writeEndArray();
        json.writeArrayFieldStart("warnings");
        for (String warning : machine.warnings()) {
            json.writeString(warning);
        }
        json.writeEndArray();
        json.writeEndObject();
    }

    private static void attributes(Map<String, String> attributes, JsonGenerator json) throws IOException {
        json.writeObjectFieldStart("attributes");
        for (Map.Entry<String, String> attribute : attributes.entrySet()) {
            json.writeStringField(attribute.getKey(), attribute.getValue());
        }
        json.writeEndObject();
    }

    /** A constant as it is written: {@code PCIE_SWITCH} as {@code pcie-switch}. */
    static String word(Enum<?> constant) {
        return constant.name().toLowerCase(Locale.ROOT).replace('_', '-');
    }
}

package dev.banyan.config.internal.json;

import jakarta.json.JsonObjectBuilder;
import jakarta.json.spi.JsonProvider;
import jakarta.json.stream.JsonGenerator;
import java.io.Writer;
import org.eclipse.parsson.JsonProviderImpl;

/** Writes pieces of JSON. */
public final class JsonPieces {
    /** Without the look-up of the class path, which may name another provider. */
    static final JsonProvider PROVIDER = new JsonProviderImpl();

    private JsonPieces() {}

    /** Returns a string in quotes, with what JSON escapes. */
    public static String of(String string) {
        return PROVIDER.createValue(string).toString();
    }

    /** Returns an object without fields. */
    public static JsonObjectBuilder object() {
        return PROVIDER.createObjectBuilder();
    }

    /** Returns a generator that writes to a writer. */
    public static JsonGenerator generator(Writer writer) {
        return PROVIDER.createGenerator(writer);
    }
}

package dev.banyan.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.networknt.schema.JsonSchema;
import com.networknt.schema.JsonSchemaFactory;
import com.networknt.schema.SpecVersion;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** Holds what commands print as JSON to docs/output.schema.json. */
final class OutputSchema {
    static final Path FILE = Path.of("").toAbsolutePath().resolve("../docs/output.schema.json");
    private static final JsonSchema SCHEMA = read();

    private OutputSchema() {}

    private static JsonSchema read() {
        try (InputStream in = Files.newInputStream(FILE)) {
            return JsonSchemaFactory.getInstance(SpecVersion.VersionFlag.V202012)
                    .getSchema(in);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    static void check(JsonNode answer) {
        assertThat(SCHEMA.validate(answer)).as("against %s", FILE.getFileName()).isEmpty();
    }
}

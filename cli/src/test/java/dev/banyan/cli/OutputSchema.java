package dev.banyan.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.networknt.schema.InputFormat;
import com.networknt.schema.Schema;
import com.networknt.schema.SchemaRegistry;
import com.networknt.schema.SpecificationVersion;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** Holds what commands print as JSON to docs/output.schema.json. */
final class OutputSchema {
    static final Path FILE = Path.of("").toAbsolutePath().resolve("../docs/output.schema.json");
    private static final Schema SCHEMA = read();

    private OutputSchema() {}

    private static Schema read() {
        try (InputStream in = Files.newInputStream(FILE)) {
            return SchemaRegistry.withDefaultDialect(SpecificationVersion.DRAFT_2020_12)
                    .getSchema(in);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    static void check(JsonNode answer) {
        assertThat(SCHEMA.validate(answer.toString(), InputFormat.JSON))
                .as("against %s", FILE.getFileName())
                .isEmpty();
    }
}

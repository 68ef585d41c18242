package dev.banyan.format;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Path;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

class SourceFormatTest {
    @Test
    @Tag("soak")
    void allSourcesAreFormatted() throws IOException {
        assertThat(new SourceFormat().objections(Path.of(System.getProperty("banyan.root"))))
                .as("run: mvn -q -pl scripts/format compile exec:exec")
                .isEmpty();
    }
}

package dev.banyan.format;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Path;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

class SourceFormatTest {
    private static final Path ROOT = Path.of(System.getProperty("banyan.root"));

    @Test
    void noLineIsLongerThan120Columns() throws IOException {
        assertThat(SourceFormat.longLines(ROOT)).isEmpty();
    }

    @Test
    @Tag("soak")
    void allSourcesAreFormatted() throws IOException {
        assertThat(new SourceFormat().unformatted(ROOT))
                .as("run: mvn -q -pl scripts/format compile exec:exec")
                .isEmpty();
    }
}

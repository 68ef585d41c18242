package dev.banyan.format;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Documents stay short enough to be read; who adds a line takes one away. */
class DocumentLengthTest {
    private static final Path ROOT = Path.of(System.getProperty("banyan.root"));

    @Test
    void documentsStayShort() throws IOException {
        assertThat(lines(ROOT.resolve("README.md"))).isLessThanOrEqualTo(150);
        long lines = 0;
        try (Stream<Path> files = Files.walk(ROOT.resolve("docs"))) {
            for (Path file :
                    (Iterable<Path>) files.filter(path -> path.toString().endsWith(".md"))::iterator) {
                lines += lines(file);
            }
        }
        assertThat(lines).isBetween(1L, 2000L);
    }

    private static long lines(Path file) throws IOException {
        try (Stream<String> lines = Files.lines(file)) {
            return lines.count();
        }
    }
}

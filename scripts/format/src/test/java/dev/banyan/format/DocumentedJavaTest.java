package dev.banyan.format;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/**
 * Every Java block of README.md and docs/*.md stands in a test's source, between {@code // DOCUMENT: begin} and {@code
 * // DOCUMENT: end}, so that it is compiled; and what is marked so stands in the document.
 */
class DocumentedJavaTest {
    private static final Pattern BLOCK = Pattern.compile("^```java\\n(.*?)^```$", Pattern.MULTILINE | Pattern.DOTALL);
    private static final Pattern MARKED =
            Pattern.compile("^ *// (\\S+\\.md): begin\\n(.*?)^ *// \\1: end$", Pattern.MULTILINE | Pattern.DOTALL);

    /**
     * A piece of Java.
     *
     * @param document path of the document, from the root of the project
     * @param text its lines
     */
    private record Piece(String document, String text) {}

    @Test
    void javaInDocumentsIsThatOfTests() throws IOException {
        Path root = Path.of(System.getProperty("banyan.root"));
        List<Piece> documented = new ArrayList<>();
        for (Path document : documents(root)) {
            Matcher block = BLOCK.matcher(Files.readString(document));
            while (block.find()) {
                documented.add(new Piece(root.relativize(document).toString(), block.group(1)));
            }
        }
        List<Piece> compiled = new ArrayList<>();
        for (Path source : testSources(root)) {
            Matcher marked = MARKED.matcher(Files.readString(source));
            while (marked.find()) {
                compiled.add(new Piece(marked.group(1), marked.group(2).stripIndent()));
            }
        }
        assertThat(documented)
                .as("Java blocks of documents, and what tests hold between their marks")
                .isNotEmpty()
                .containsExactlyInAnyOrderElementsOf(compiled);
    }

    private static List<Path> documents(Path root) throws IOException {
        try (Stream<Path> docs = Files.list(root.resolve("docs"))) {
            return Stream.concat(Stream.of(root.resolve("README.md")), docs)
                    .filter(file -> file.toString().endsWith(".md"))
                    .toList();
        }
    }

    private static List<Path> testSources(Path root) throws IOException {
        return SourceFormat.sources(root).stream()
                .filter(file -> file.toString().contains("/src/test/java/"))
                .toList();
    }
}

package dev.banyan.format;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** A new public type of a published module is a decision: it is written down in docs/public-types.txt. */
class PublicTypesTest {
    /** Modules that others link. Packages named internal are not part of the API. */
    private static final List<String> PUBLISHED = List.of(
            "topology",
            "trees",
            "reduce/config",
            "reduce/schedule",
            "reduce/communicator",
            "reduce/nccl",
            "reduce/cuda",
            "reduce/kvstore",
            "reduce/dlc",
            "simulate",
            "nvml-probe",
            "mpi",
            "djl");

    private static final Pattern PACKAGE = Pattern.compile("^package ([\\w.]+);", Pattern.MULTILINE);
    private static final Pattern TYPE = Pattern.compile(
            "^public (?:(?:abstract|final|sealed|non-sealed) )*(?:class|interface|record|enum|@interface) (\\w+)",
            Pattern.MULTILINE);

    @Test
    void publicTypesAreThoseThatWereDecided() throws IOException {
        Path root = Path.of(System.getProperty("banyan.root"));
        List<String> types = PUBLISHED.stream()
                .flatMap(module -> types(root, module))
                .sorted()
                .toList();
        assertThat(types)
                .as("public types; hide a new one, or add its line to docs/public-types.txt")
                .containsExactlyElementsOf(Files.readAllLines(root.resolve("docs/public-types.txt")));
    }

    private static Stream<String> types(Path root, String module) {
        Path sources = root.resolve(module).resolve("src/main/java");
        try (Stream<Path> files = Files.walk(sources)) {
            return files
                    .filter(file -> file.toString().endsWith(".java"))
                    .filter(file -> !file.toString().contains("/internal/"))
                    .flatMap(PublicTypesTest::type)
                    .map(type -> module + " " + type)
                    .toList()
                    .stream();
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    private static Stream<String> type(Path file) {
        try {
            String source = Files.readString(file);
            Matcher type = TYPE.matcher(source);
            Matcher name = PACKAGE.matcher(source);
            return type.find() && name.find() ? Stream.of(name.group(1) + "." + type.group(1)) : Stream.empty();
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }
}

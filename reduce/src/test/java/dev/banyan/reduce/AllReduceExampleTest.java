package dev.banyan.reduce;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;

/** The README's example is this one, and it does what it says. */
class AllReduceExampleTest {
    @Test
    void printsTheMean() {
        PrintStream console = System.out;
        ByteArrayOutputStream printed = new ByteArrayOutputStream();
        System.setOut(new PrintStream(printed, true, StandardCharsets.UTF_8));
        try {
            AllReduceExample.main(new String[0]);
        } finally {
            System.setOut(console);
        }
        assertThat(printed.toString(StandardCharsets.UTF_8).strip()).isEqualTo("1.0");
    }

    @Test
    void standsInTheReadme() throws IOException {
        Path module = Path.of("").toAbsolutePath();
        String source = Files.readString(module.resolve("src/test/java")
                .resolve(AllReduceExample.class.getName().replace('.', '/') + ".java"));
        String example = source.substring(
                source.indexOf("// README: begin\n") + "// README: begin\n".length(), source.indexOf("// README: end"));
        // Users are in another package than the example.
        String imports = "import dev.banyan.reduce.Communicator;\nimport dev.banyan.reduce.Config;\n";
        assertThat(Files.readString(module.resolveSibling("README.md")))
                .contains("```java\n" + imports + example + "```");
    }
}

package readme;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Isolated;

/** The example of docs/msccl.md writes a file, reads it back and prints its rate. */
@Isolated("It changes what all tests of the JVM see.")
class MscclExampleTest {
    @TempDir
    private Path folder;

    @Test
    void printsTheRateOfWhatItWrote() throws IOException {
        Path file = folder.resolve("file.xml");
        PrintStream console = System.out;
        ByteArrayOutputStream printed = new ByteArrayOutputStream();
        System.setOut(new PrintStream(printed, true, StandardCharsets.UTF_8));
        try {
            MscclExample.main(new String[] {file.toString()});
        } finally {
            System.setOut(console);
        }
        assertThat(printed.toString(StandardCharsets.UTF_8)).startsWith("66.66").contains(" GB/s");
        assertThat(file).content().startsWith("<algo");
    }
}

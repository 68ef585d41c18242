package readme;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Isolated;

/** The examples of docs/library.md print what their comments say. */
@Isolated("It changes what all tests of the JVM see.")
class LibraryExamplesTest {
    @Test
    void theFirstExamplePrintsTheMean() {
        assertThat(printed(() -> AllReduceExample.main(new String[0]))).containsExactly("1.0");
    }

    @Test
    void theTrainingLoopPrintsTheMeanOfEachStep() {
        assertThat(printed(() -> DataParallelExample.main(new String[0]))).containsExactly("1.5", "2.5", "3.5");
    }

    private static String[] printed(Runnable program) {
        PrintStream console = System.out;
        ByteArrayOutputStream printed = new ByteArrayOutputStream();
        System.setOut(new PrintStream(printed, true, StandardCharsets.UTF_8));
        try {
            program.run();
        } finally {
            System.setOut(console);
        }
        return printed.toString(StandardCharsets.UTF_8).lines().toArray(String[]::new);
    }
}

package readme;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Isolated;

/** The example of docs/library.md prints what its comment says. */
@Isolated("It changes what all tests of the JVM see.")
class LibraryExampleTest {
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

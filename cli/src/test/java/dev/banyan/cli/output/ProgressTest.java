package dev.banyan.cli.output;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class ProgressTest {
    private final StringWriter err = new StringWriter();

    @AfterEach
    void noTerminal() {
        System.clearProperty("banyan.progress");
    }

    @Test
    void theLineComesBeforeTheFirstStepIsDone() throws InterruptedException {
        System.setProperty("banyan.progress", "true");
        try (Progress _ = Progress.start("prepare", 1, new PrintWriter(err, true))) {
            while (!err.toString().contains("prepare")) {
                TimeUnit.MILLISECONDS.sleep(50);
            }
        }
        assertThat(err.toString()).as("the line is erased").endsWith("\r\u001b[K");
    }

    @Test
    void nothingIsPrintedWhereThereIsNoTerminal() {
        try (Progress progress = Progress.start("prepare", 1, new PrintWriter(err, true))) {
            progress.step();
        }
        assertThat(err.toString()).isEmpty();
    }
}

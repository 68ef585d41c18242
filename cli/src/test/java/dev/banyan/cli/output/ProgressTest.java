package dev.banyan.cli.output;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Isolated;

@Isolated("It changes what all tests of the JVM see.")
class ProgressTest {
    private final CountDownLatch shown = new CountDownLatch(1);
    private final StringWriter err = new StringWriter() {
        @Override
        public void flush() {
            if (toString().contains("prepare")) {
                shown.countDown();
            }
        }
    };

    @AfterEach
    void noTerminal() {
        System.clearProperty("banyan.progress");
    }

    @Test
    void theLineComesBeforeTheFirstStepIsDone() throws InterruptedException {
        System.setProperty("banyan.progress", "true");
        try (Progress _ = Progress.start("prepare", 1, new PrintWriter(err, true))) {
            shown.await();
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

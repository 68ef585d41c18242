package readme;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Isolated;

/**
 * The example of docs/kvstore.md prints weights that follow the rule of {@link
 * dev.banyan.reduce.optimizer.Optimizer.Sgd}.
 */
@Isolated("It changes what all tests of the JVM see.")
class KVStoreExampleTest {
    @Test
    void printsTheWeightAfterEachStep() {
        PrintStream console = System.out;
        ByteArrayOutputStream printed = new ByteArrayOutputStream();
        System.setOut(new PrintStream(printed, true, StandardCharsets.UTF_8));
        try {
            KVStoreExample.main();
        } finally {
            System.setOut(console);
        }
        // Mean gradients 1.5, 2.5, 3.5; velocities -0.75, -1.625, -2.5625.
        assertThat(printed.toString(StandardCharsets.UTF_8).lines()).containsExactly("-0.75", "-2.375", "-4.9375");
    }
}

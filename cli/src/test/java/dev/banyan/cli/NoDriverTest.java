package dev.banyan.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A machine without NVIDIA's driver is one sentence. */
class NoDriverTest {
    @ParameterizedTest
    @ValueSource(
            strings = {
                "selftest --backend cuda",
                "selftest --backend cuda --devices 0,0",
                "selftest --backend cuda -m p3.8xlarge --large",
                "bench --backend cuda -m p3.8xlarge -b 8 -e 8",
                "trace run --backend cuda --output target/traces-of-no-gpu"
            })
    void isOneSentence(String arguments) {
        assumeFalse(Files.exists(Path.of("/dev/nvidiactl")), "there is a driver on this machine");
        CommandRun run = CommandRun.of(arguments);
        assertThat(run.status()).isEqualTo(1);
        assertThat(run.err()).startsWith("banyan: no NVIDIA driver: ").containsOnlyOnce("\n");
    }
}

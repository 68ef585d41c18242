package dev.banyan.reduce;

import static org.assertj.core.api.Assertions.assertThat;

import dev.banyan.test.Processes;
import dev.banyan.test.RefusedThreads;
import dev.banyan.test.TestProcess;
import java.nio.file.Path;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Calls end, with their result or an error, where the system refuses to start threads. */
@EnabledOnOs(OS.LINUX)
class RefusedThreadsTest {
    private static final int STARTS = 8;

    @RegisterExtension
    private final Processes processes = new Processes();

    @TempDir
    private Path folder;

    /** The first run of a process starts the threads that all calls share. */
    @ParameterizedTest
    @ValueSource(ints = {0, 1, 2, 3})
    void everyCallEndsWhereOneStartFails(int first) throws Exception {
        assertEnds(IntStream.concat(IntStream.of(first), IntStream.range(0, STARTS))
                .mapToObj(Integer::toString)
                .toArray(String[]::new));
    }

    @Test
    void everyCallEndsWhereAllStartsFail() throws Exception {
        assertEnds("2+", "0+", "1+", "3+", "4+");
    }

    @Test
    @Tag("soak")
    void everyCallEndsWhereStartsFailAtRandom() throws Exception {
        SplittableRandom random = new SplittableRandom(2026);
        for (int run = 0; run < 50; run++) {
            assertEnds(IntStream.range(0, 3)
                    .mapToObj(_ -> random.nextInt(STARTS) + (random.nextInt(3) == 0 ? "+" : ""))
                    .toArray(String[]::new));
        }
    }

    @Test
    void aStartThatFailsIsReported() throws Exception {
        TestProcess process = RefusedThreads.start(processes, folder, RefusedThreadsProgram.class.getName(), "0+");
        assertThat(process.lastLine()).isNotEqualTo("all ended, refused 0").startsWith("all ended, ");
    }

    private void assertEnds(String... starts) throws Exception {
        TestProcess process = RefusedThreads.start(processes, folder, RefusedThreadsProgram.class.getName(), starts);
        assertThat(process.lastLine())
                .as("starts that fail: %s", String.join(" ", starts))
                .startsWith("all ended, refused ");
    }
}

package dev.banyan.kvstore.internal.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.banyan.test.Processes;
import dev.banyan.test.RefusedThreads;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** Operations end where the system refuses to start threads. */
@EnabledOnOs(OS.LINUX)
class RefusedThreadsTest {
    @RegisterExtension
    private final Processes processes = new Processes();

    @TempDir
    private Path folder;

    @Test
    void everyOperationEndsWhereStartsFail() throws Exception {
        assertThat(RefusedThreads.start(processes, folder, RefusedThreadsProgram.class.getName())
                        .lastLine())
                .isEqualTo("all ended");
    }
}

package dev.banyan.reduce.internal.processes;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.banyan.test.Processes;
import java.io.IOException;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** What another user of the machine can do: nothing. Only root can play two users. */
@EnabledOnOs(OS.LINUX)
class OtherUserTest {
    private static final int NOBODY = 65534;
    private static final Path SETPRIV = Path.of("/usr/bin/setpriv");

    @RegisterExtension
    private final Processes processes = new Processes();

    @TempDir
    private Path folder;

    @BeforeEach
    void needsRoot() {
        assumeTrue(System.getProperty("user.name").equals("root"), "only root can play another user");
    }

    @Test
    void sharedMemoryIsOfOneUser() throws IOException, InterruptedException {
        assumeTrue(Files.isExecutable(SETPRIV), "needs setpriv");
        try (SharedMemory memory = SharedMemory.create("banyan-test", 4096)) {
            memory.memory().set(ValueLayout.JAVA_LONG, 0, 42);
            String path = "/proc/" + ProcessHandle.current().pid() + "/fd/" + memory.descriptor();
            assertThat(exitOf("head", "-c", "1", path)).isZero();
            assertThat(exitOf(SETPRIV.toString(), "--reuid=" + NOBODY, "--clear-groups", "head", "-c", "1", path))
                    .isNotZero();
            ProcessId own = ProcessId.own();
            try (SharedMemory again = SharedMemory.open(own, memory.descriptor(), 4096)) {
                assertThat(again.memory().get(ValueLayout.JAVA_LONG, 0)).isEqualTo(42);
            }
        }
    }

    private int exitOf(String... command) throws IOException, InterruptedException {
        return processes.start(new ProcessBuilder(command)).await();
    }

    @Test
    void aFileOfAnotherUserIsRefused() throws IOException {
        Path file = Files.writeString(folder.resolve("control"), "banyan 1 1 1\n");
        Files.setAttribute(file, "unix:uid", NOBODY);
        JobPlace place = new JobPlace(1, 2, folder.toString());
        assertThatThrownBy(() -> Job.join(place, 1, "", TimeUnit.MINUTES.toNanos(15)))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("belongs to a job of another user");
    }
}

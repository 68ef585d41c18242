package dev.banyan.reduce;

import static org.assertj.core.api.Assertions.assertThat;

import dev.banyan.reduce.internal.host.StoppedProgram;
import dev.banyan.test.Processes;
import dev.banyan.test.TestProcess;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** Processes that join, of which one is killed or stopped. */
@EnabledOnOs(OS.LINUX)
class JoinedProcessesTest {
    private static final int PROCESSES = 3;

    @RegisterExtension
    private final Processes processes = new Processes();

    @TempDir
    private Path folder;

    @Test
    void theExampleRunsInFourProcesses() throws Exception {
        for (TestProcess process : start("readme.JoinedExample", 4)) {
            process.awaitLine("1.5");
            assertThat(process.await()).isZero();
        }
    }

    @Test
    void aKilledProcessIsNamedByAllOthers() throws Exception {
        kill(0, 1);
        kill(2, 40);
    }

    @Test
    @Tag("soak")
    void manyKilledProcessesAreNamedByAllOthers() throws Exception {
        SplittableRandom random = new SplittableRandom(19);
        for (int i = 0; i < 200; i++) {
            kill(random.nextInt(PROCESSES), 1 + random.nextInt(300));
        }
    }

    /** Whatever the victim does when the test has read of its call. */
    private void kill(int victim, int call) throws Exception {
        List<TestProcess> started = start(JoinedProgram.class.getName(), PROCESSES, Integer.toString(PROCESSES));
        started.get(victim).awaitLine("call " + call);
        started.get(victim).kill();
        assertNamedByAllOthers(started, victim, " ended before all_reduce");
        assertThat(folder.resolve("job")).doesNotExist();
    }

    /** It is process 0, for whom all others wait first. */
    @Test
    void aStoppedProcessIsNamedByAllOthers() throws Exception {
        List<TestProcess> started;
        try (ServerSocket server = new ServerSocket(0, PROCESSES, InetAddress.getLoopbackAddress())) {
            started = start(
                    StoppedProgram.class.getName(),
                    PROCESSES,
                    Integer.toString(PROCESSES),
                    Integer.toString(server.getLocalPort()));
            for (TestProcess process : started) {
                process.awaitLine("joined");
            }
            List<Socket> waiting = new ArrayList<>();
            for (int p = 0; p < PROCESSES; p++) {
                waiting.add(server.accept());
            }
            started.getFirst().stop();
            for (Socket each : waiting) {
                each.close();
            }
        }
        assertNamedByAllOthers(started, 0, " did not take part in all_reduce");
    }

    private static void assertNamedByAllOthers(List<TestProcess> started, int victim, String message)
            throws InterruptedException {
        for (int p = 0; p < started.size(); p++) {
            if (p != victim) {
                assertThat(started.get(p).lastLine())
                        .as("process %d, hit is process %d", p, victim)
                        .startsWith("failed: rank " + victim + " (process "
                                + started.get(victim).pid() + ")" + message);
            }
        }
    }

    private List<TestProcess> start(String program, int count, String... arguments) throws IOException {
        List<TestProcess> started = new ArrayList<>();
        for (int p = 0; p < count; p++) {
            ProcessBuilder builder = new ProcessBuilder(Processes.java(List.of(), program, arguments));
            builder.environment().put("BANYAN_RANK", Integer.toString(p));
            builder.environment().put("BANYAN_WORLD_SIZE", Integer.toString(count));
            builder.environment().put("BANYAN_RENDEZVOUS", folder.resolve("job").toString());
            builder.environment().put("BANYAN_TIMEOUT_MS", "900000");
            started.add(processes.start(builder));
        }
        return started;
    }
}

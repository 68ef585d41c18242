package dev.banyan.reduce;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

/** Processes that join, of which one is killed or stopped at a random moment. */
@EnabledOnOs(OS.LINUX)
class JoinedProcessesTest {
    private static final int PROCESSES = 3;

    @TempDir
    private Path folder;

    @Test
    void theExampleRunsInFourProcesses() throws Exception {
        for (Process process : start(folder.resolve("job"), "readme.JoinedExample", 4, 60_000)) {
            process.inputReader().lines().forEach(_ -> {});
            assertThat(process.waitFor()).isZero();
        }
    }

    @Test
    void aKilledProcessIsNamedByAllOthers() throws Exception {
        kill(10);
    }

    @Test
    @Tag("soak")
    @Timeout(3600)
    void manyKilledProcessesAreNamedByAllOthers() throws Exception {
        kill(200);
    }

    @Test
    void aStoppedProcessIsNamedByAllOthers() throws Exception {
        SplittableRandom random = new SplittableRandom(20);
        for (int i = 0; i < 2; i++) {
            hit(
                    random,
                    1000,
                    victim -> assertThat(new ProcessBuilder("kill", "-STOP", Long.toString(victim.pid()))
                                    .start()
                                    .waitFor())
                            .isZero(),
                    " did not take part in all_reduce");
        }
    }

    private void kill(int times) throws Exception {
        SplittableRandom random = new SplittableRandom(19);
        for (int i = 0; i < times; i++) {
            hit(random, 60_000, Process::destroyForcibly, " ended before all_reduce");
            assertThat(folder.resolve("job")).doesNotExist();
        }
        try (Stream<Path> left = Files.list(Path.of("/dev/shm"))) {
            assertThat(left.map(Path::toString)).noneMatch(path -> path.contains("banyan"));
        }
    }

    /** What happens to a process. */
    private interface Fault {
        void hit(Process victim) throws Exception;
    }

    /** Lets a fault happen to one of some processes at a random moment, and checks what the others say. */
    private void hit(SplittableRandom random, int timeoutMs, Fault fault, String message) throws Exception {
        int victim = random.nextInt(PROCESSES);
        int calls = 1 + random.nextInt(300);
        long spins = random.nextLong(200_000);
        List<Process> processes = start(folder.resolve("job"), JoinedProgram.class.getName(), PROCESSES, timeoutMs);
        try {
            List<BufferedReader> outputs =
                    processes.stream().map(Process::inputReader).toList();
            awaitCall(outputs.get(victim), calls);
            for (long s = 0; s < spins; s++) {
                Thread.onSpinWait();
            }
            fault.hit(processes.get(victim));
            for (int p = 0; p < PROCESSES; p++) {
                if (p != victim) {
                    assertThat(lastLine(outputs.get(p)))
                            .as("process %d, hit is process %d after call %d", p, victim, calls)
                            .startsWith("failed: rank " + victim + " (process "
                                    + processes.get(victim).pid() + ")" + message);
                }
            }
        } finally {
            processes.forEach(Process::destroyForcibly);
            for (Process process : processes) {
                process.waitFor();
            }
        }
    }

    private static List<Process> start(Path job, String program, int count, int timeoutMs) throws IOException {
        List<Process> processes = new ArrayList<>();
        for (int p = 0; p < count; p++) {
            processes.add(builder(job, program, p, count, timeoutMs).start());
        }
        return processes;
    }

    private static ProcessBuilder builder(Path job, String program, int process, int count, int timeoutMs) {
        ProcessBuilder builder = new ProcessBuilder(new ArrayList<>(List.of(
                ProcessHandle.current().info().command().orElseThrow(),
                "--enable-native-access=ALL-UNNAMED",
                "-XX:TieredStopAtLevel=1",
                "-cp",
                System.getProperty("java.class.path"),
                program,
                Integer.toString(count))));
        builder.environment().put("BANYAN_RANK", Integer.toString(process));
        builder.environment().put("BANYAN_WORLD_SIZE", Integer.toString(count));
        builder.environment().put("BANYAN_RENDEZVOUS", job.toString());
        builder.environment().put("BANYAN_TIMEOUT_MS", Integer.toString(timeoutMs));
        builder.redirectError(ProcessBuilder.Redirect.DISCARD);
        return builder;
    }

    private static void awaitCall(BufferedReader output, int call) throws IOException {
        for (String line = output.readLine(); line != null; line = output.readLine()) {
            if (line.equals("call " + call)) {
                return;
            }
        }
        throw new AssertionError("the process ended before call " + call);
    }

    private static String lastLine(BufferedReader output) throws IOException {
        String last = "";
        for (String line = output.readLine(); line != null; line = output.readLine()) {
            last = line;
        }
        return last;
    }
}

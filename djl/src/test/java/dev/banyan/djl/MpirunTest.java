package dev.banyan.djl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Programs that know nothing of Banyan, under mpirun; skipped where there is none. */
class MpirunTest {
    private static final List<String> OPTIMIZERS = List.of("sgd", "momentum", "adam");
    private static final int STEPS = 200;
    private static final int MINUTES = 4;

    @TempDir
    static Path folder;

    @BeforeAll
    static void trainAlone() throws Exception {
        assumeTrue(
                onPath("mpirun"), "needs Open MPI's mpirun on the path (apt-get install openmpi-bin libopenmpi-dev)");
        for (String optimizer : OPTIMIZERS) {
            Files.write(folder.resolve(optimizer + "-alone.txt"), TrainingProgram.train(optimizer, STEPS / 20));
        }
    }

    @Test
    void twoProcessesTrainAsOne() throws Exception {
        compare(2);
    }

    @Test
    @Tag("soak")
    void fourProcessesTrainAsOne() throws Exception {
        compare(4);
    }

    @Test
    void datasetsOfFilesAreShared() throws Exception {
        Path out = Files.createDirectories(folder.resolve("datasets"));
        Run run = mpirun(2, DatasetProgram.class, out.toString());
        assertThat(run.status()).as(run.output()).isZero();
        for (String name : DatasetProgram.NAMES) {
            List<String> first = Files.readAllLines(out.resolve(name + "-0.txt"));
            List<String> second = Files.readAllLines(out.resolve(name + "-1.txt"));
            assertThat(first).as(name).hasSameSizeAs(second).doesNotContainAnyElementsOf(second);
            List<String> all = new ArrayList<>(first);
            all.addAll(second);
            assertThat(all).as(name).containsExactlyInAnyOrderElementsOf(DatasetProgram.samples());
        }
    }

    @Test
    void aFailureEndsAll() throws Exception {
        Run run = mpirun(2, FailingProgram.class);
        assertThat(run.status()).as(run.output()).isNotZero();
    }

    private static void compare(int processes) throws Exception {
        Path out = Files.createDirectories(folder.resolve(processes + "-processes"));
        List<String> arguments = new ArrayList<>(List.of(out.toString(), String.valueOf(STEPS / 20)));
        arguments.addAll(OPTIMIZERS);
        Run run = mpirun(processes, TrainingProgram.class, arguments.toArray(String[]::new));
        assertThat(run.status()).as(run.output()).isZero();
        for (String optimizer : OPTIMIZERS) {
            List<String> alone = Files.readAllLines(folder.resolve(optimizer + "-alone.txt"));
            List<String> first = Files.readAllLines(out.resolve(optimizer + "-0.txt"));
            assertThat(alone.indexOf("")).isEqualTo(STEPS);
            assertThat(first).hasSameSizeAs(alone);
            for (int line = 0; line < alone.size(); line++) {
                if (line != STEPS) {
                    double expected = Double.parseDouble(alone.get(line));
                    assertThat(Double.parseDouble(first.get(line)))
                            .as("%s, line %d", optimizer, line)
                            .isCloseTo(expected, within(line < STEPS ? 1e-4 * Math.abs(expected) : 1e-4));
                }
            }
            for (int rank = 1; rank < processes; rank++) {
                assertThat(Files.readAllLines(out.resolve(optimizer + "-" + rank + ".txt"))).isEqualTo(first);
            }
        }
    }

    /** What mpirun ended with and what it printed. */
    private record Run(int status, String output) {}

    private static Run mpirun(int processes, Class<?> program, String... arguments)
            throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(List.of(
                "mpirun", "--allow-run-as-root", "--oversubscribe", "-np", String.valueOf(processes),
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "--enable-native-access=ALL-UNNAMED", "--add-modules", "jdk.incubator.vector", "-Xmx512m"));
        for (String name : List.of(
                "ai.djl.offline",
                "OPT_OUT_TRACKING",
                "DJL_CACHE_DIR",
                "ai.djl.pytorch.num_threads",
                "ai.djl.pytorch.num_interop_threads",
                "org.slf4j.simpleLogger.defaultLogLevel")) {
            command.add("-D" + name + "=" + System.getProperty(name));
        }
        command.addAll(List.of("-cp", System.getProperty("java.class.path"), program.getName()));
        command.addAll(List.of(arguments));
        Path log = folder.resolve(program.getSimpleName() + "-" + processes + ".log");
        Process process = new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectOutput(log.toFile())
                .start();
        if (!process.waitFor(MINUTES, TimeUnit.MINUTES)) {
            process.destroyForcibly();
            throw new AssertionError("mpirun of " + program.getSimpleName() + " did not end in " + MINUTES + " minutes");
        }
        return new Run(process.exitValue(), Files.readString(log));
    }

    private static boolean onPath(String program) {
        return Pattern.compile(":")
                .splitAsStream(System.getenv("PATH"))
                .anyMatch(directory -> Files.isExecutable(Path.of(directory, program)));
    }
}

package dev.banyan.test;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.AfterTestExecutionCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/**
 * Starts the processes of a test. If the test fails, prints what each of them wrote. Kills those that are left when the
 * test has ended. A test class holds it in a field with {@code @RegisterExtension}, which must not be static if methods
 * of the class run concurrently. Any thread may use it.
 */
public final class Processes implements AfterTestExecutionCallback, AfterEachCallback {
    private final List<TestProcess> started = Collections.synchronizedList(new ArrayList<>());
    private final List<Path> mpiFolders = Collections.synchronizedList(new ArrayList<>());

    /** Starts a process, which gets an empty standard input. */
    public TestProcess start(ProcessBuilder builder) throws IOException {
        TestProcess process = new TestProcess(builder);
        started.add(process);
        return process;
    }

    /**
     * Copies a file to one that can be executed. Another process writes the copy: what this JVM has open for writing is
     * open for a moment in each process that it starts, and nobody can execute a file that is open for writing.
     *
     * @return the copy
     */
    public Path install(Path file, Path copy) throws IOException, InterruptedException {
        TestProcess install = start(new ProcessBuilder("install", "-m", "755", file.toString(), copy.toString()));
        if (install.await() != 0) {
            throw new IOException(install.err());
        }
        return copy;
    }

    /** Returns the command that runs a program of this JVM's class path in a JVM for short runs. */
    public static List<String> java(List<String> options, String program, String... arguments) {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "--enable-native-access=ALL-UNNAMED",
                // The optimising compiler does not pay off in short runs.
                "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC",
                // A young generation that is used again costs less than one that is touched once.
                "-Xmn16m",
                "-Xmx512m"));
        command.addAll(options);
        command.addAll(List.of("-cp", System.getProperty("java.class.path"), program));
        command.addAll(List.of(arguments));
        return command;
    }

    /**
     * Returns a builder that runs a command in several processes of Open MPI. Each run has a session directory of its
     * own: runs that share one and end at the same time remove it under each other.
     */
    public ProcessBuilder mpirun(int processes, List<String> options, List<String> program) throws IOException {
        List<String> command = new ArrayList<>(List.of(
                "mpirun",
                "--allow-run-as-root",
                "--oversubscribe",
                "--bind-to",
                "none",
                "--mca",
                "mpi_yield_when_idle",
                "1",
                "-np",
                Integer.toString(processes)));
        command.addAll(options);
        command.addAll(program);
        ProcessBuilder builder = new ProcessBuilder(command);
        builder.environment().put("OMPI_MCA_orte_tmpdir_base", sessionFolder().toString());
        return builder;
    }

    /** Makes a folder for the session directory of one run of mpirun, which is deleted when the test has ended. */
    private Path sessionFolder() throws IOException {
        Path folder = Files.createTempDirectory("banyan-mpi");
        mpiFolders.add(folder);
        return folder;
    }

    /** Skips the test if there is no Open MPI. */
    public static void requireMpi() {
        assumeTrue(
                Stream.of(System.getenv("PATH").split(File.pathSeparator))
                        .anyMatch(folder -> Files.isExecutable(Path.of(folder, "ompi_info"))),
                "there is no Open MPI to start processes with; apt-get install openmpi-bin libopenmpi-dev");
    }

    @Override
    public void afterTestExecution(ExtensionContext context) throws IOException, InterruptedException {
        if (context.getExecutionException().isPresent()) {
            StringBuilder report = new StringBuilder("processes of the failed test " + context.getDisplayName() + "\n");
            for (TestProcess process : List.copyOf(started)) {
                report.append(process.report());
            }
            System.err.println(report);
        }
    }

    @Override
    public void afterEach(ExtensionContext context) throws IOException, InterruptedException {
        List<TestProcess> all = List.copyOf(started);
        started.clear();
        all.forEach(TestProcess::kill);
        for (TestProcess process : all) {
            process.awaitExit();
        }
        List<Path> folders = List.copyOf(mpiFolders);
        mpiFolders.clear();
        for (Path folder : folders) {
            delete(folder);
        }
    }

    private static void delete(Path folder) throws IOException {
        try (Stream<Path> files = Files.walk(folder)) {
            for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.deleteIfExists(file);
            }
        }
    }
}

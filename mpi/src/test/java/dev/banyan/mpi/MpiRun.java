package dev.banyan.mpi;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** Runs a program of the tests in several processes under mpirun, where there is one. */
final class MpiRun {
    /** A process that mpirun ends may take a moment longer than mpirun. */
    private static final long LEAVE_SECONDS = 20;

    private final int processes;
    private final Class<?> program;
    private final List<String> mpiOptions = new ArrayList<>();
    private final Map<String, String> settings = new TreeMap<>();
    private final Map<String, String> environment = new TreeMap<>();
    private List<String> arguments = List.of();
    private long limitSeconds = 120;

    MpiRun(int processes, Class<?> program) {
        this.processes = processes;
        this.program = program;
        settings.put("BANYAN_CHECK_ORDER", "1");
    }

    /**
     * How it ended.
     *
     * @param status of mpirun
     * @param text all that was written
     * @param pids the processes that printed their pid
     */
    record Outcome(int status, String text, List<Long> pids) {
        /** Those of the processes that are still there when they have had time to go. */
        List<Long> orphans() {
            return pids.stream().filter(pid -> !goes(pid)).toList();
        }

        private static boolean goes(long pid) {
            Optional<ProcessHandle> process = ProcessHandle.of(pid);
            try {
                if (process.isPresent()) {
                    process.get().onExit().get(LEAVE_SECONDS, TimeUnit.SECONDS);
                }
                return true;
            } catch (TimeoutException e) {
                return false;
            } catch (InterruptedException | ExecutionException e) {
                throw new IllegalStateException(e);
            }
        }

        /** How many lines hold the words. */
        long lines(String words) {
            return text.lines().filter(line -> line.contains(words)).count();
        }
    }

    /** Sets a setting, as a property. */
    MpiRun with(String name, Object value) {
        settings.put(name, value.toString());
        return this;
    }

    /** Lets mpirun leave the other processes alone when one dies. */
    MpiRun leavingOthersAlone() {
        mpiOptions.addAll(List.of("--mca", "orte_abort_on_non_zero_status", "0", "--enable-recovery"));
        return this;
    }

    /** Sets a variable of the environment. */
    MpiRun in(String variable, Object value) {
        environment.put(variable, value.toString());
        return this;
    }

    MpiRun with(String... programArguments) {
        arguments = List.of(programArguments);
        return this;
    }

    /** Sets after how many seconds it counts as hanging. */
    MpiRun within(long seconds) {
        limitSeconds = seconds;
        return this;
    }

    /** Ends the test as skipped where there is no Open MPI. */
    static void requireMpi() {
        try {
            Process version = new ProcessBuilder("mpirun", "--version")
                    .redirectErrorStream(true)
                    .start();
            String text = new String(version.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            assumeTrue(text.contains("Open MPI") || text.contains("OpenRTE"), "mpirun is not Open MPI's: " + text);
        } catch (IOException e) {
            assumeTrue(
                    false,
                    "there is no mpirun to start processes with (" + e.getMessage()
                            + "); apt-get install openmpi-bin libopenmpi-dev");
        }
    }

    /** Returns what the threads of a process do, or why that is not known. */
    private static String stack(ProcessHandle process) throws IOException {
        Process jstack = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "jstack")
                                .toString(),
                        Long.toString(process.pid()))
                .redirectErrorStream(true)
                .start();
        return process.pid() + " " + process.info().command().orElse("") + "\n"
                + new String(jstack.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    }

    Outcome run(Path folder) throws IOException, InterruptedException {
        List<String> command = new ArrayList<>();
        // A single process is a world of its own.
        if (processes > 1) {
            command.addAll(List.of(
                    "mpirun",
                    "--allow-run-as-root",
                    "--oversubscribe",
                    "--bind-to",
                    "none",
                    "--mca",
                    "mpi_yield_when_idle",
                    "1",
                    // Runs that begin and end at the same time remove a directory that they share.
                    "--mca",
                    "orte_tmpdir_base",
                    folder.toString(),
                    "-np",
                    Integer.toString(processes)));
            command.addAll(mpiOptions);
        }
        command.addAll(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:+UseSerialGC",
                // Short runs, which the compiler of the last level makes no faster.
                "-XX:TieredStopAtLevel=1",
                "-Xmx512m",
                "--enable-native-access=ALL-UNNAMED"));
        settings.forEach((name, value) -> command.add("-D" + name + "=" + value));
        command.addAll(List.of("-cp", System.getProperty("java.class.path"), program.getName()));
        command.addAll(arguments);
        Path text = Files.createTempFile(folder, "mpirun", ".txt");
        ProcessBuilder builder =
                new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(text.toFile());
        builder.environment().putAll(environment);
        Process process = builder.start();
        process.getOutputStream().close();
        if (!process.waitFor(limitSeconds, TimeUnit.SECONDS)) {
            List<ProcessHandle> descendants = process.descendants().toList();
            StringBuilder stacks = new StringBuilder();
            for (ProcessHandle descendant : descendants) {
                stacks.append(stack(descendant));
            }
            descendants.forEach(ProcessHandle::destroyForcibly);
            process.destroyForcibly();
            throw new AssertionError(
                    "still running after " + limitSeconds + " s: " + Files.readString(text) + "\n" + stacks);
        }
        String written = Files.readString(text);
        List<Long> pids = written.lines()
                .filter(line -> line.startsWith("pid "))
                .map(line -> Long.valueOf(line.substring(4).strip()))
                .toList();
        return new Outcome(process.exitValue(), written, pids);
    }

    /** What programs begin with. */
    static void printPid() {
        System.out.println("pid " + ProcessHandle.current().pid());
    }

    /** Ends a program that failed, without a farewell to the other processes. */
    static void fail(Throwable failure) {
        failure.printStackTrace(System.out);
        System.exit(1);
    }
}

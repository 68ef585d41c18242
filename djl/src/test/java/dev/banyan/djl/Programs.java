package dev.banyan.djl;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;

/** Programs that are run as users run them, in JVMs of their own. */
final class Programs {
    private static final int MINUTES = 4;

    private Programs() {}

    /** How it ended, and what it printed to both outputs. */
    record Run(int status, String output) {}

    /** Whether mpirun is there. */
    static boolean haveMpirun() {
        return Pattern.compile(":")
                .splitAsStream(System.getenv("PATH"))
                .anyMatch(directory -> Files.isExecutable(Path.of(directory, "mpirun")));
    }

    /** @param folder for the log */
    static Run mpirun(int processes, Path folder, List<String> options, Class<?> program, String... arguments)
            throws IOException, InterruptedException {
        return mpirun(processes, folder, Map.of(), options, program, arguments);
    }

    /**
     * @param folder for the log
     * @param environment further variables
     */
    static Run mpirun(
            int processes,
            Path folder,
            Map<String, String> environment,
            List<String> options,
            Class<?> program,
            String... arguments)
            throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(List.of(
                "mpirun",
                "--allow-run-as-root",
                "--oversubscribe",
                // Runs that begin and end at the same time remove a directory that they share.
                "--mca",
                "orte_tmpdir_base",
                folder.toString(),
                "-np",
                String.valueOf(processes)));
        command.addAll(java(options, System.getProperty("java.class.path"), program, arguments));
        return run(command, folder, environment);
    }

    /** A command that runs a program with the settings of the tests. */
    static List<String> java(List<String> options, String classPath, Class<?> program, String... arguments) {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "--enable-native-access=ALL-UNNAMED",
                // Short runs, which the compiler of the last level makes no faster.
                "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC",
                "-Xmx512m"));
        for (String name : List.of(
                "ai.djl.offline",
                "OPT_OUT_TRACKING",
                "DJL_CACHE_DIR",
                "ai.djl.pytorch.num_threads",
                "ai.djl.pytorch.num_interop_threads",
                "org.slf4j.simpleLogger.defaultLogLevel")) {
            command.add("-D" + name + "=" + System.getProperty(name));
        }
        command.addAll(options);
        command.addAll(List.of("-cp", classPath, program.getName()));
        command.addAll(List.of(arguments));
        return command;
    }

    static Run run(List<String> command, Path folder) throws IOException, InterruptedException {
        return run(command, folder, Map.of());
    }

    private static Run run(List<String> command, Path folder, Map<String, String> environment)
            throws IOException, InterruptedException {
        Path log = Files.createTempFile(folder, "program", ".log");
        ProcessBuilder builder =
                new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(log.toFile());
        builder.environment().putAll(environment);
        Process process = builder.start();
        if (!process.waitFor(MINUTES, TimeUnit.MINUTES)) {
            process.destroyForcibly();
            throw new AssertionError(command + " did not end in " + MINUTES + " minutes");
        }
        return new Run(process.exitValue(), Files.readString(log));
    }
}

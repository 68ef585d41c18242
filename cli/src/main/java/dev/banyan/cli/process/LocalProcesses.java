package dev.banyan.cli.process;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.stream.Stream;

/** Starts this command again in several processes, which join as the ranks of a communicator. */
public final class LocalProcesses {
    private static final String COMMAND = "banyan: ";
    private static final Executor LATER = CompletableFuture.delayedExecutor(2, TimeUnit.SECONDS);

    private LocalProcesses() {}

    /**
     * Runs a command in processes 0..n-1 and returns when all have ended.
     *
     * @param processes n, at least 1
     * @param arguments of the command
     * @param lines takes each line that process 0 prints
     * @throws IllegalStateException if one fails, with what it printed last
     */
    public static void run(int processes, List<String> arguments, Consumer<String> lines) {
        try {
            Path folder = Files.createTempDirectory("banyan-processes");
            List<Process> started = new CopyOnWriteArrayList<>();
            try {
                List<CompletableFuture<Void>> ends = new ArrayList<>();
                AtomicInteger failed = new AtomicInteger(-1);
                for (int p = 0; p < processes; p++) {
                    int number = p;
                    Process process = start(p, processes, arguments, folder);
                    started.add(process);
                    ends.add(process.onExit().thenAccept(ended -> {
                        if (ended.exitValue() != 0 && failed.compareAndSet(-1, number)) {
                            // Those that have joined end by themselves; others would wait for this one for long.
                            LATER.execute(() -> started.forEach(Process::destroyForcibly));
                        }
                    }));
                }
                try (BufferedReader output = started.getFirst().inputReader(StandardCharsets.UTF_8)) {
                    for (String line = output.readLine(); line != null; line = output.readLine()) {
                        lines.accept(line);
                    }
                }
                ends.forEach(CompletableFuture::join);
                if (failed.get() >= 0) {
                    throw new IllegalStateException(lastMessage(errors(folder, failed.get())));
                }
            } finally {
                started.forEach(Process::destroyForcibly);
                started.forEach(process -> process.onExit().join());
                delete(folder);
            }
        } catch (IOException e) {
            throw new UncheckedIOException("cannot start " + processes + " processes", e);
        }
    }

    private static Process start(int process, int processes, List<String> arguments, Path folder) throws IOException {
        ProcessBuilder builder = new ProcessBuilder(command(arguments));
        builder.environment().put("BANYAN_RANK", Integer.toString(process));
        builder.environment().put("BANYAN_WORLD_SIZE", Integer.toString(processes));
        builder.environment().put("BANYAN_RENDEZVOUS", folder.toString());
        builder.redirectOutput(process == 0 ? ProcessBuilder.Redirect.PIPE : ProcessBuilder.Redirect.DISCARD);
        builder.redirectError(errors(folder, process).toFile());
        return builder.start();
    }

    /** Returns the command line that starts this command in a JVM like this one. */
    private static List<String> command(List<String> arguments) {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        ManagementFactory.getRuntimeMXBean().getInputArguments().stream()
                // Agents and debuggers listen in one process; a progress line would be mixed with what is recorded.
                .filter(option -> !option.startsWith("-agent")
                        && !option.startsWith("-javaagent")
                        && !option.startsWith("-Dbanyan.progress"))
                .forEach(command::add);
        command.addAll(List.of("-cp", System.getProperty("java.class.path"), "dev.banyan.cli.Main"));
        command.addAll(arguments);
        return command;
    }

    private static Path errors(Path folder, int process) {
        return folder.resolve("errors-" + process);
    }

    /** Returns the last message of a file of messages, without the command's name; its last line if it has none. */
    private static String lastMessage(Path file) throws IOException {
        List<String> lines = Files.readAllLines(file, StandardCharsets.UTF_8).stream()
                .filter(line -> !line.isBlank())
                .toList();
        return lines.stream()
                .filter(line -> line.startsWith(COMMAND))
                .map(line -> line.substring(COMMAND.length()))
                .reduce((_, line) -> line)
                .orElseGet(() -> lines.isEmpty() ? "" : lines.getLast());
    }

    private static void delete(Path folder) throws IOException {
        try (Stream<Path> files = Files.list(folder)) {
            for (Path file : files.toList()) {
                Files.delete(file);
            }
        }
        Files.delete(folder);
    }
}

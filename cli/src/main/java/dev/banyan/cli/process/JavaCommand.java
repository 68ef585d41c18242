package dev.banyan.cli.process;

import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Starts this command again in a JVM like this one. */
public final class JavaCommand {
    private JavaCommand() {}

    /** The command line of {@code banyan} with some arguments. */
    public static List<String> banyan(String... arguments) {
        List<String> command = new ArrayList<>(java(System.getProperty("java.class.path"), "dev.banyan.cli.Main"));
        command.addAll(List.of(arguments));
        return command;
    }

    /** The command line of any class. */
    public static List<String> java(String classPath, String main) {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        ManagementFactory.getRuntimeMXBean().getInputArguments().stream()
                // Agents and debuggers listen in one process; a progress line would be mixed with what is recorded.
                .filter(option -> !option.startsWith("-agent")
                        && !option.startsWith("-javaagent")
                        && !option.startsWith("-Dbanyan.progress"))
                .forEach(command::add);
        command.add("-cp");
        command.add(classPath);
        command.add(main);
        return command;
    }
}

package dev.banyan.djl;

import java.util.ArrayList;
import java.util.List;

/** Programs in JVMs of their own. */
final class Jvm {
    private static final List<String> SETTINGS = List.of(
            "ai.djl.offline",
            "OPT_OUT_TRACKING",
            "DJL_CACHE_DIR",
            "ai.djl.pytorch.num_threads",
            "ai.djl.pytorch.num_interop_threads",
            "org.slf4j.simpleLogger.defaultLogLevel");

    private Jvm() {}

    /** Returns the command that runs a program with this JVM's settings of DJL. */
    static List<String> command(List<String> options, Class<?> program, String... arguments) {
        List<String> all = new ArrayList<>();
        SETTINGS.forEach(name -> all.add("-D" + name + "=" + System.getProperty(name)));
        all.addAll(options);
        return dev.banyan.test.Processes.java(all, program.getName(), arguments);
    }
}

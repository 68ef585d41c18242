package dev.banyan.test;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.io.InputStream;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.SymbolLookup;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;

/**
 * Lets starts of threads fail in a process of a test, as they do at the system's limit. The process is started with a
 * library in the environment variable LD_PRELOAD, and says there which starts fail.
 */
public final class RefusedThreads {
    private static final long ALL = Long.MAX_VALUE / 2;
    private static final int NO_PROGRAM = 127;

    private final MethodHandle set;
    private final MethodHandle calls;
    /** So many calls of pthread_create the JVM makes for a start that fails. */
    private final long tries;

    private RefusedThreads(Path library) {
        SymbolLookup symbols = symbols(library);
        set = find(
                symbols,
                "refused_threads_set",
                FunctionDescriptor.ofVoid(ValueLayout.JAVA_LONG, ValueLayout.JAVA_LONG));
        calls = find(symbols, "refused_threads_calls", FunctionDescriptor.of(ValueLayout.JAVA_LONG));
        set(0, ALL);
        try {
            Thread.ofPlatform().start(() -> {});
            throw new AssertionError("a thread starts though " + library + " refuses all");
        } catch (OutOfMemoryError e) {
            tries = calls();
        } finally {
            set(0, 0);
        }
    }

    /** Starts a Java program in whose process {@link #inThisProcess} works; skips the test if there is no gcc. */
    public static TestProcess start(Processes processes, Path folder, String program, String... arguments)
            throws IOException, InterruptedException {
        Path library = folder.resolve("librefused_threads.so");
        if (!Files.exists(library)) {
            build(processes, folder.resolve("refused_threads.c"), library);
        }
        // The JVM's own threads must not count.
        ProcessBuilder builder = new ProcessBuilder(
                Processes.java(List.of("-XX:-UseDynamicNumberOfCompilerThreads", "-Xlog:disable"), program, arguments));
        builder.environment().put("LD_PRELOAD", library.toString());
        return processes.start(builder);
    }

    private static void build(Processes processes, Path source, Path library) throws IOException, InterruptedException {
        try (InputStream text = Objects.requireNonNull(RefusedThreads.class.getResourceAsStream("refused_threads.c"))) {
            Files.copy(text, source);
        }
        TestProcess build = processes.start(new ProcessBuilder(
                "sh", "-c", "gcc -shared -fPIC -o \"$1\" \"$0\" -ldl", source.toString(), library.toString()));
        int status = build.await();
        assumeTrue(status != NO_PROGRAM, "there is no gcc to build a library with that refuses threads");
        if (status != 0) {
            throw new AssertionError("gcc failed: " + build.err());
        }
    }

    /** Returns the control of this process's starts. */
    public static RefusedThreads inThisProcess() {
        return new RefusedThreads(Path.of(System.getenv("LD_PRELOAD")));
    }

    @SuppressWarnings("restricted")
    private static SymbolLookup symbols(Path library) {
        return SymbolLookup.libraryLookup(library, Arena.global());
    }

    @SuppressWarnings("restricted")
    private static MethodHandle find(SymbolLookup symbols, String name, FunctionDescriptor descriptor) {
        return Linker.nativeLinker().downcallHandle(symbols.find(name).orElseThrow(), descriptor);
    }

    /** Refuses one start, behind as many as given, from now on. */
    public void refuseOne(long after) {
        set(after, tries);
    }

    /** Refuses all starts from now on, behind as many as given. */
    public void refuseAll(long after) {
        set(after, ALL);
    }

    /** Refuses nothing from now on. */
    public void refuseNone() {
        set(0, 0);
    }

    private void set(long after, long count) {
        try {
            set.invokeExact(after, count);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private long calls() {
        try {
            return (long) calls.invokeExact();
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }
}

package dev.banyan.cuda.emulator;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;

/**
 * The emulated driver of src/main/native, which takes the place of libcuda.so.1 in this JVM; its README.md lists its
 * commands and counts. Build it before anything of JCuda is touched: the loader then finds a library of the name that
 * JCuda wants in the process already.
 */
public final class CudaEmulator {
    private static final int PROBLEM_BYTES = 1 << 14;
    private static final int NO_GCC = 127;

    private static boolean loaded;

    private final MethodHandle reset = function("banyan_emu_reset", FunctionDescriptor.ofVoid());
    private final MethodHandle command =
            function("banyan_emu_command", FunctionDescriptor.of(ValueLayout.JAVA_INT, ValueLayout.ADDRESS));
    private final MethodHandle count =
            function("banyan_emu_count", FunctionDescriptor.of(ValueLayout.JAVA_LONG, ValueLayout.ADDRESS));
    private final MethodHandle problems =
            function("banyan_emu_problems", FunctionDescriptor.ofVoid(ValueLayout.ADDRESS, ValueLayout.JAVA_LONG));

    private CudaEmulator() {}

    /**
     * Loads the driver, and the bindings of it; skips the test, saying so, where there is no C compiler. It plays a
     * p3.16xlarge on which nothing has happened yet.
     */
    public static synchronized CudaEmulator load() {
        CudaEmulator emulator = loaded ? new CudaEmulator() : of(build());
        loaded = true;
        emulator.reset();
        return emulator;
    }

    /** Loads the driver of a folder that {@link #build} returned in another process, as it is. */
    @SuppressWarnings("restricted")
    public static CudaEmulator of(Path folder) {
        System.load(folder.resolve("libcuda.so.1").toString());
        return new CudaEmulator();
    }

    /** The folder of the library, for LD_LIBRARY_PATH of other processes; built when its sources are newer. */
    public static synchronized Path build() {
        Path module = Path.of(Objects.requireNonNull(System.getProperty("banyan.cuda.emulator")));
        Path sources = module.resolve("src/main/native");
        Path folder = module.resolve("target/library");
        try {
            Process build = new ProcessBuilder("sh", sources.resolve("build.sh").toString(), folder.toString())
                    .redirectErrorStream(true)
                    .start();
            String output = new String(build.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            int status = build.waitFor();
            assumeTrue(status != NO_GCC, "there is no gcc to build the emulated CUDA driver with");
            if (status != 0) {
                throw new AssertionError("gcc failed: " + output);
            }
            return folder;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AssertionError(e);
        }
    }

    @SuppressWarnings("restricted")
    private static MethodHandle function(String name, FunctionDescriptor type) {
        return Linker.nativeLinker()
                .downcallHandle(SymbolLookup.loaderLookup().find(name).orElseThrow(), type);
    }

    /**
     * Ends all work, forgets all contexts, memory, faults and counts, and plays a p3.16xlarge again. Handles from
     * before are no longer valid; nobody needs to call cuInit again.
     */
    public void reset() {
        try {
            reset.invokeExact();
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    /** Carries out lines, e.g. {@code fail cuMemAlloc 3 2}. */
    public void tell(String... lines) {
        String text = String.join("\n", lines);
        try (Arena arena = Arena.ofConfined()) {
            int bad = (int) command.invokeExact(arena.allocateFrom(text));
            assertThat(bad)
                    .as("first line that the emulator can't read of:%n%s", text)
                    .isZero();
        } catch (AssertionError e) {
            throw e;
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    /** A count since the last reset, e.g. {@code kernels}. */
    public long count(String what) {
        try (Arena arena = Arena.ofConfined()) {
            long number = (long) count.invokeExact(arena.allocateFrom(what));
            assertThat(number).as("the emulator counts no %s", what).isNotNegative();
            return number;
        } catch (AssertionError e) {
            throw e;
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    /**
     * Returns the mistakes that a GPU would have punished: guard zones that were written to, ranges out of bounds,
     * stale handles.
     */
    public List<String> problems() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment text = arena.allocate(PROBLEM_BYTES);
            problems.invokeExact(text, (long) PROBLEM_BYTES);
            return text.getString(0).lines().toList();
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }
}

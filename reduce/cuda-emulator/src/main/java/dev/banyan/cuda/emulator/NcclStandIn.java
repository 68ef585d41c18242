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
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;

/**
 * The stand-in for NCCL of src/main/nccl, which moves real bytes of the emulated driver's memory; the head of its
 * source lists its commands. Load the driver first.
 */
public final class NcclStandIn {
    private final Path library;
    private final MethodHandle command;
    private final MethodHandle count;

    @SuppressWarnings("restricted")
    private NcclStandIn(Path library) {
        this.library = library;
        SymbolLookup symbols = SymbolLookup.libraryLookup(library, Arena.global());
        Linker linker = Linker.nativeLinker();
        command = linker.downcallHandle(
                symbols.find("banyan_nccl_tell").orElseThrow(),
                FunctionDescriptor.of(ValueLayout.JAVA_INT, ValueLayout.ADDRESS));
        count = linker.downcallHandle(
                symbols.find("banyan_nccl_count").orElseThrow(),
                FunctionDescriptor.of(ValueLayout.JAVA_LONG, ValueLayout.ADDRESS));
    }

    /** Builds and loads the library, and makes it forget what it was told; skips the test where there is no gcc. */
    public static synchronized NcclStandIn load() {
        NcclStandIn loaded = new NcclStandIn(build());
        loaded.tell("reset");
        return loaded;
    }

    /**
     * Builds the library, if its source is newer.
     *
     * @param options for gcc; with any, it is built anew to a file of its own
     */
    public static synchronized Path build(String... options) {
        Path module = Path.of(Objects.requireNonNull(System.getProperty("banyan.cuda.emulator")));
        Path source = module.resolve("src/main/nccl/nccl_stand_in.c");
        Path built = module.resolve("target/nccl")
                .resolve(options.length == 0 ? "libnccl.so.2" : "libnccl-" + String.join("", options) + ".so");
        try {
            if (Files.exists(built)
                    && Files.getLastModifiedTime(built).compareTo(Files.getLastModifiedTime(source)) > 0) {
                return built;
            }
            Files.createDirectories(built.getParent());
            Path made = Files.createTempFile(built.getParent(), "nccl", ".so");
            List<String> gcc = new ArrayList<>(List.of(
                    "gcc",
                    "-O2",
                    "-g",
                    "-shared",
                    "-fPIC",
                    "-pthread",
                    "-fwrapv",
                    "-ffp-contract=off",
                    "-fvisibility=hidden",
                    "-Wall",
                    "-Wextra",
                    "-Werror"));
            gcc.addAll(List.of(options));
            gcc.addAll(List.of("-o", made.toString(), source.toString(), "-ldl"));
            Process build = start(gcc);
            String output = new String(build.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            if (build.waitFor() != 0) {
                throw new AssertionError("gcc failed: " + output);
            }
            return Files.move(made, built, StandardCopyOption.REPLACE_EXISTING);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AssertionError(e);
        }
    }

    private static Process start(List<String> command) {
        try {
            return new ProcessBuilder(command).redirectErrorStream(true).start();
        } catch (IOException e) {
            assumeTrue(false, "there is no gcc to build the stand-in for NCCL with (" + e.getMessage() + ")");
            throw new AssertionError(e);
        }
    }

    /** The file of the library, for BANYAN_NCCL_LIBRARY. */
    public String file() {
        return library.toString();
    }

    /** Carries out commands, e.g. {@code async 1 3}. */
    public void tell(String... commands) {
        for (String each : commands) {
            try (Arena arena = Arena.ofConfined()) {
                int bad = (int) command.invokeExact(arena.allocateFrom(each));
                assertThat(bad).as("the stand-in reads %s", each).isZero();
            } catch (AssertionError e) {
                throw e;
            } catch (Throwable e) {
                throw new AssertionError(e);
            }
        }
    }

    /** A count since the last reset, e.g. {@code collectives}. */
    public long count(String what) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment name = arena.allocateFrom(what);
            long number = (long) count.invokeExact(name);
            assertThat(number).as("the stand-in counts no %s", what).isNotNegative();
            return number;
        } catch (AssertionError e) {
            throw e;
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }
}

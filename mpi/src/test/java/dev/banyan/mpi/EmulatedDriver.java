package dev.banyan.mpi;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Objects;

/**
 * The emulated CUDA driver of the tests of {@code reduce}, built anew: a test jar of that module would be missed wherever
 * tests are not compiled.
 */
final class EmulatedDriver {
    private EmulatedDriver() {}

    /**
     * Ends the test as skipped where there is no C compiler.
     *
     * @param folder gets the library, and is for LD_LIBRARY_PATH
     */
    static void build(Path folder) throws IOException, InterruptedException {
        try {
            new ProcessBuilder("gcc", "--version").redirectErrorStream(true).start().getInputStream().readAllBytes();
        } catch (IOException e) {
            assumeTrue(false, "there is no gcc to build the emulated CUDA driver with (" + e.getMessage() + ")");
        }
        Path sources = Path.of(Objects.requireNonNull(System.getProperty("banyan.cuda.emulator")));
        Process gcc = new ProcessBuilder("sh", sources.resolve("build.sh").toString(), folder.toString())
                .redirectErrorStream(true)
                .start();
        String output = new String(gcc.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        if (gcc.waitFor() != 0) {
            throw new AssertionError("gcc failed: " + output);
        }
    }
}

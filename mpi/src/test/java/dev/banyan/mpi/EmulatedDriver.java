package dev.banyan.mpi;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Objects;

/**
 * The emulated CUDA driver of the tests of {@code reduce}. They build it in the same way, but their classes can't be
 * used here: a test jar of that module would be missed wherever tests are not compiled.
 */
final class EmulatedDriver {
    private static final int NO_GCC = 127;

    private EmulatedDriver() {}

    /**
     * The folder of the library, for LD_LIBRARY_PATH, built where the tests of {@code reduce} have not done so. Ends
     * the test as skipped where there is no C compiler.
     */
    static Path folder() throws IOException, InterruptedException {
        Path sources = Path.of(Objects.requireNonNull(System.getProperty("banyan.cuda.emulator")));
        Path folder = sources.resolve("../../../target/cuda-emulator").normalize();
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
    }
}

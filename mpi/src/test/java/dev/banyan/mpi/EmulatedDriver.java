package dev.banyan.mpi;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Objects;
import java.util.stream.Stream;

/**
 * The emulated CUDA driver of the tests of {@code reduce}. They build it in the same way, but their classes can't be
 * used here: a test jar of that module would be missed wherever tests are not compiled.
 */
final class EmulatedDriver {
    private EmulatedDriver() {}

    /**
     * The folder of the library, for LD_LIBRARY_PATH, built where the tests of {@code reduce} have not done so. Ends
     * the test as skipped where there is no C compiler.
     */
    static Path folder() throws IOException, InterruptedException {
        Path sources = Path.of(Objects.requireNonNull(System.getProperty("banyan.cuda.emulator")));
        Path folder = sources.resolve("../../../target/cuda-emulator").normalize();
        Path library = folder.resolve("libcuda.so.1");
        if (!Files.exists(library) || isOlder(library, sources)) {
            build(sources, folder);
        }
        return folder;
    }

    private static boolean isOlder(Path library, Path sources) throws IOException {
        long built = Files.getLastModifiedTime(library).toMillis();
        try (Stream<Path> files = Files.list(sources)) {
            return files.anyMatch(file -> file.toFile().lastModified() >= built);
        }
    }

    private static void build(Path sources, Path folder) throws IOException, InterruptedException {
        Process gcc;
        try {
            new ProcessBuilder("gcc", "--version")
                    .redirectErrorStream(true)
                    .start()
                    .getInputStream()
                    .readAllBytes();
            gcc = new ProcessBuilder("sh", sources.resolve("build.sh").toString(), folder.toString())
                    .redirectErrorStream(true)
                    .start();
        } catch (IOException e) {
            assumeTrue(false, "there is no gcc to build the emulated CUDA driver with (" + e.getMessage() + ")");
            return;
        }
        String output = new String(gcc.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        if (gcc.waitFor() != 0) {
            throw new AssertionError("gcc failed: " + output);
        }
    }
}

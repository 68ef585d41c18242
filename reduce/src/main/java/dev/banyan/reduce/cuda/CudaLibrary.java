package dev.banyan.reduce.cuda;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import jcuda.driver.CUresult;
import jcuda.driver.JCudaDriver;
import org.jspecify.annotations.Nullable;

/**
 * Loads the driver's bindings. They unpack their native part to a fixed name in {@code java.io.tmpdir} without
 * a lock, where several JVMs that start at once would overwrite what another has mapped; so for the time of
 * loading that property names a directory of this process alone, which is removed again.
 */
final class CudaLibrary {
    private static final String TEMPORARY = "java.io.tmpdir";

    private static @Nullable String refusal;
    private static boolean loaded;

    private CudaLibrary() {}

    /**
     * Loads and initialises the driver, once.
     *
     * @throws CudaException if there is no driver or it can't be used
     */
    static synchronized void load() {
        if (loaded) {
            return;
        }
        if (refusal != null) {
            throw new CudaException(refusal);
        }
        CudaException failure = tryToLoad();
        if (failure != null) {
            refusal = failure.getMessage();
            throw failure;
        }
        loaded = true;
    }

    private static @Nullable CudaException tryToLoad() {
        try {
            withOwnDirectory(() -> JCudaDriver.setExceptionsEnabled(false));
        } catch (UnsatisfiedLinkError | NoClassDefFoundError e) {
            String reason = String.valueOf(e.getMessage());
            return new CudaException(
                    reason.contains("libcuda.so") || e instanceof NoClassDefFoundError
                            ? "no NVIDIA driver: libcuda.so.1 is not on this machine; install the driver of its GPUs, or"
                                    + " use the backend host"
                            : "the native part of JCuda can't be loaded on "
                                    + System.getProperty("os.name") + " " + System.getProperty("os.arch")
                                    + "; it is made for Linux on x86-64",
                    e);
        } catch (IOException e) {
            return new CudaException("JCuda's native part can't be unpacked to " + System.getProperty(TEMPORARY) + " (" + e
                    + "); name a directory that can be written by -Djava.io.tmpdir", e);
        }
        int result = JCudaDriver.cuInit(0);
        if (result == CUresult.CUDA_SUCCESS) {
            return null;
        }
        String name = CUresult.stringFor(result);
        return new CudaException(
                result == CUresult.CUDA_ERROR_NO_DEVICE
                        ? "the NVIDIA driver finds no device (" + name + "); check nvidia-smi and CUDA_VISIBLE_DEVICES"
                        : "the NVIDIA driver can't be used: cuInit gives " + name + "; check nvidia-smi");
    }

    /** Runs what loads a native part of JCuda. */
    static synchronized void withOwnDirectory(Runnable load) throws IOException {
        String shared = System.getProperty(TEMPORARY);
        Path own = Files.createTempDirectory("banyan-jcuda");
        try {
            System.setProperty(TEMPORARY, own.toString());
            load.run();
        } finally {
            System.setProperty(TEMPORARY, shared);
            remove(own);
        }
    }

    /** What is mapped stays mapped. */
    private static void remove(Path directory) throws IOException {
        try (DirectoryStream<Path> files = Files.newDirectoryStream(directory)) {
            for (Path file : files) {
                Files.delete(file);
            }
        }
        Files.delete(directory);
    }
}

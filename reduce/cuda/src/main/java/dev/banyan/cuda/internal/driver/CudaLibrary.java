package dev.banyan.cuda.internal.driver;

import dev.banyan.cuda.type.CudaException;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.SymbolLookup;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import jcuda.driver.CUresult;
import jcuda.driver.JCudaDriver;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Loads the driver's bindings. They unpack their native part to a fixed name in {@code java.io.tmpdir} without
 * a lock, where several JVMs that start at once would overwrite what another has mapped; so for the time of
 * loading that property names a directory of this process alone, which is removed again.
 */
public final class CudaLibrary {
    private static final Logger LOG = LoggerFactory.getLogger(CudaLibrary.class);
    private static final String TEMPORARY = "java.io.tmpdir";
    /** Name of the driver's library. */
    public static final String DRIVER = "libcuda.so.1";
    /**
     * The functions that the bindings call and older drivers lack. The first call of a missing one would end the
     * process.
     */
    private static final List<String> LATE =
            List.of("cuInit", "cuGraphInstantiateWithFlags", "cuGraphAddKernelNode_v2");

    private static @Nullable String refusal;
    private static boolean loaded;
    private static boolean withoutDevices;

    private CudaLibrary() {}

    /**
     * Loads and initialises the driver, once.
     *
     * @throws CudaException if there is no driver or it can't be used
     */
    public static synchronized void load() {
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

    /**
     * Returns whether there is a driver with devices.
     *
     * @throws CudaException if there is a driver that can't be used
     */
    static synchronized boolean findsDevices() {
        if (loaded) {
            return true;
        }
        if (library().isEmpty()) {
            return false;
        }
        try {
            load();
            return true;
        } catch (CudaException e) {
            if (withoutDevices) {
                return false;
            }
            throw e;
        }
    }

    private static @Nullable CudaException tryToLoad() {
        String missing = missing();
        if (missing != null) {
            return new CudaException("the NVIDIA driver is too old: its " + DRIVER + " has no " + missing
                    + "; install one of CUDA 12.0 or later (525), or"
                    + " use host memory (Communicator.onHost, --backend host)");
        }
        try {
            withOwnDirectory(() -> JCudaDriver.setExceptionsEnabled(false));
        } catch (UnsatisfiedLinkError | NoClassDefFoundError e) {
            String reason = String.valueOf(e.getMessage());
            if (reason.contains(DRIVER + ": cannot open shared object file") || e instanceof NoClassDefFoundError) {
                // The sentence says it all; the bindings' report is a hundred lines long.
                LOG.debug("{} cannot be loaded", DRIVER, e);
                return new CudaException("no NVIDIA driver: " + DRIVER
                        + " is not on this machine; install the driver of its GPUs, or"
                        + " use host memory (Communicator.onHost, --backend host)");
            }
            return new CudaException(
                    reason.contains(DRIVER)
                            ? "the NVIDIA driver can't be used: the " + DRIVER
                                    + " that the loader finds is no library for"
                                    + " this machine; repair the driver's installation, or"
                                    + " use host memory (Communicator.onHost, --backend host)"
                            : "the native part of JCuda can't be loaded on "
                                    + System.getProperty("os.name") + " " + System.getProperty("os.arch")
                                    + "; it is made for Linux on x86-64",
                    e);
        } catch (IOException e) {
            return new CudaException(
                    "JCuda's native part can't be unpacked to " + System.getProperty(TEMPORARY) + " (" + e
                            + "); name a directory that can be written by -Djava.io.tmpdir",
                    e);
        }
        int result = JCudaDriver.cuInit(0);
        withoutDevices = result == CUresult.CUDA_ERROR_NO_DEVICE;
        if (result == CUresult.CUDA_SUCCESS) {
            return null;
        }
        String name = CUresult.stringFor(result);
        return new CudaException(
                withoutDevices
                        ? "the NVIDIA driver finds no device (" + name + "); check nvidia-smi and CUDA_VISIBLE_DEVICES"
                        : "the NVIDIA driver can't be used: cuInit gives " + name + "; check nvidia-smi");
    }

    /** Returns the driver's library; nothing if the loader finds none. */
    @SuppressWarnings("restricted")
    private static Optional<SymbolLookup> library() {
        try {
            return Optional.of(SymbolLookup.libraryLookup(DRIVER, Arena.global()));
        } catch (IllegalArgumentException e) {
            return Optional.empty();
        }
    }

    /** The first function that the driver's library lacks; null if it has all, or if there is none. */
    private static @Nullable String missing() {
        Optional<SymbolLookup> library = library();
        if (library.isEmpty()) {
            // The bindings will not be loaded either, and their exception says why.
            return null;
        }
        SymbolLookup driver = library.get();
        return LATE.stream()
                .filter(name -> driver.find(name).isEmpty())
                .findFirst()
                .orElse(null);
    }

    /** Runs what loads a native part of JCuda. */
    public static synchronized void withOwnDirectory(Runnable load) throws IOException {
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

    /** A mapped library stays mapped. */
    private static void remove(Path directory) throws IOException {
        try (DirectoryStream<Path> files = Files.newDirectoryStream(directory)) {
            for (Path file : files) {
                Files.delete(file);
            }
        }
        Files.delete(directory);
    }
}

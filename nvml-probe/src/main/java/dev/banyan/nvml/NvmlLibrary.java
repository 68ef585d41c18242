package dev.banyan.nvml;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.EnumMap;
import java.util.Map;

/**
 * The loaded library and its functions, until it is closed. For the thread that opened it.
 *
 * <p>A function that the library does not hold returns NVML_ERROR_FUNCTION_NOT_FOUND, as NVML itself does for what a
 * driver lacks.
 */
final class NvmlLibrary implements AutoCloseable {
    private static final String SONAME = "libnvidia-ml.so.1";

    private final Arena arena = Arena.ofConfined();
    private final Map<NvmlCall, MemorySegment> functions = new EnumMap<>(NvmlCall.class);

    private NvmlLibrary() {}

    /** No library of the driver where one is looked for: one sentence. */
    static final class NotFoundException extends Exception {
        private static final long serialVersionUID = 1;

        private final String sentence;

        NotFoundException(String sentence, Throwable cause) {
            super(sentence, cause);
            this.sentence = sentence;
        }

        String sentence() {
            return sentence;
        }
    }

    /**
     * Loads the library that the loader finds under NVML's name.
     *
     * @throws NotFoundException if there is none
     */
    @SuppressWarnings("restricted")
    static NvmlLibrary load() throws NotFoundException {
        NvmlLibrary library = new NvmlLibrary();
        try {
            library.bind(SymbolLookup.libraryLookup(SONAME, library.arena));
            return library;
        } catch (IllegalArgumentException e) {
            library.close();
            throw new NotFoundException(
                    "no NVIDIA driver found: the loader knows no " + SONAME + "; install the driver, start a container"
                            + " with the NVIDIA runtime (docker run --gpus all), or name the file by "
                            + NvmlProbe.LIBRARY.name(),
                    e);
        }
    }

    /**
     * Loads the library of a file.
     *
     * @throws NotFoundException if it cannot be loaded
     */
    @SuppressWarnings("restricted")
    static NvmlLibrary load(String file) throws NotFoundException {
        NvmlLibrary library = new NvmlLibrary();
        try {
            Path path = Path.of(file);
            if (!Files.isRegularFile(path)) {
                throw new NoSuchFileException(file);
            }
            library.bind(SymbolLookup.libraryLookup(path, library.arena));
            return library;
        } catch (InvalidPathException | NoSuchFileException e) {
            library.close();
            throw refused(file, "is no file", e);
        } catch (IllegalArgumentException e) {
            library.close();
            throw refused(file, "is no library that can be loaded here", e);
        }
    }

    private static NotFoundException refused(String file, String why, Exception cause) {
        return new NotFoundException(
                NvmlProbe.LIBRARY.name() + "=" + file + " " + why + "; name the driver's " + SONAME + " or unset it",
                cause);
    }

    private void bind(SymbolLookup symbols) {
        for (NvmlCall call : NvmlCall.values()) {
            symbols.find(call.symbol()).ifPresent(address -> functions.put(call, address));
        }
    }

    /** Calls a function and returns its code. */
    int call(NvmlCall call, Object... arguments) {
        MemorySegment function = functions.get(call);
        return function == null ? NvmlReturn.ERROR_FUNCTION_NOT_FOUND.code() : call.invoke(function, arguments);
    }

    /** Unloads it. */
    @Override
    public void close() {
        arena.close();
    }
}

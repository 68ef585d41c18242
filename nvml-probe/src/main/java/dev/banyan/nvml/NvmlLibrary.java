package dev.banyan.nvml;

import java.io.File;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.nio.file.Path;
import java.util.EnumMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The library and its functions; closing it unloads the library. Only the thread that opened it may use it.
 *
 * <p>A function that the library does not hold returns NVML_ERROR_FUNCTION_NOT_FOUND, as NVML itself does for what a
 * driver lacks.
 */
final class NvmlLibrary implements AutoCloseable {
    private static final String SONAME = "libnvidia-ml.so.1";

    private final Arena arena = Arena.ofConfined();
    private final Map<NvmlCall, MemorySegment> functions = new EnumMap<>(NvmlCall.class);

    private NvmlLibrary() {}

    /** Thrown if there is no library of the driver; the message is one sentence. */
    static final class NotFoundException extends Exception {
        private static final long serialVersionUID = 1;

        NotFoundException(String sentence, @Nullable Throwable cause) {
            super(sentence, cause);
        }

        String sentence() {
            return String.valueOf(getMessage());
        }
    }

    /**
     * Loads the library.
     *
     * @param file the file of the library, or null for the one that the loader finds
     * @throws NotFoundException if it cannot be loaded
     */
    @SuppressWarnings("restricted")
    static NvmlLibrary load(@Nullable String file) throws NotFoundException {
        if (file != null && !new File(file).isFile()) {
            throw refused(file, "is no file", null);
        }
        NvmlLibrary library = new NvmlLibrary();
        try {
            library.bind(
                    file == null
                            ? SymbolLookup.libraryLookup(SONAME, library.arena)
                            : SymbolLookup.libraryLookup(Path.of(file), library.arena));
            return library;
        } catch (IllegalArgumentException e) {
            library.close();
            throw file == null
                    ? new NotFoundException(
                            "no NVIDIA driver found: the loader knows no " + SONAME + "; install the driver, start a"
                                    + " container with the NVIDIA runtime (docker run --gpus all), or name the file by "
                                    + NvmlProbe.LIBRARY.name(),
                            e)
                    : refused(file, "is no library that can be loaded here", e);
        }
    }

    private static NotFoundException refused(String file, String why, @Nullable Exception cause) {
        return new NotFoundException(
                NvmlProbe.LIBRARY.name() + "=" + file + " " + why + "; name the driver's " + SONAME + " or unset it",
                cause);
    }

    private void bind(SymbolLookup symbols) {
        for (NvmlCall call : NvmlCall.values()) {
            symbols.find(call.function.symbol()).ifPresent(address -> functions.put(call, address));
        }
    }

    /** Calls a function and returns its code. */
    int call(NvmlCall call, Object... arguments) {
        MemorySegment function = functions.get(call);
        return function == null
                ? NvmlReturn.ERROR_FUNCTION_NOT_FOUND.code()
                : call.function.invoke(function, arguments);
    }

    /** Unloads the library. */
    @Override
    public void close() {
        arena.close();
    }
}

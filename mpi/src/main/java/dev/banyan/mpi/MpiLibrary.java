package dev.banyan.mpi;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;

import dev.banyan.config.Setting;
import java.io.File;
import java.lang.foreign.Arena;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.nio.file.Path;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Open MPI's library: its functions and its predefined handles, which are addresses of symbols. Error codes become
 * exceptions. The library stays loaded while the process runs, as MPI cannot be started twice. Safe for use from any
 * thread.
 */
final class MpiLibrary {
    /** {@code MPI_IN_PLACE}. */
    static final MemorySegment IN_PLACE = MemorySegment.ofAddress(1);

    static final int THREAD_MULTIPLE = 3;
    static final int SHARED_MEMORY = 0;

    private static final String SONAME = "libmpi.so.40";
    private static final String SETTING = "BANYAN_MPI_LIBRARY";

    static final Setting<String> FILE = Setting.text(
                    SETTING,
                    "the path of Open MPI's library",
                    SONAME,
                    "Names Open MPI's library; the loader finds the default.")
            .outsideFiles();

    private static final String REMEDY =
            "; install Open MPI 4 or 5 (Debian and Ubuntu: apt-get install openmpi-bin libopenmpi-dev), or name its"
                    + " library by " + SETTING;
    private static final int TEXT_BYTES = 8192;

    private final SymbolLookup symbols;
    private final Map<MpiCall, MemorySegment> functions = new EnumMap<>(MpiCall.class);

    private MpiLibrary(SymbolLookup symbols, String name) {
        this.symbols = symbols;
        for (MpiCall call : EnumSet.complementOf(EnumSet.of(MpiCall.CUDA_SUPPORT))) {
            functions.put(
                    call, symbols.find(call.function.symbol()).orElseThrow(() -> lacks(name, call.function.symbol())));
        }
        if (symbols.find("ompi_mpi_comm_world").isEmpty()) {
            throw lacks(name, "ompi_mpi_comm_world");
        }
    }

    private static MpiException lacks(String name, String symbol) {
        return new MpiException(name + " has no " + symbol + ", so it is not Open MPI" + REMEDY);
    }

    /**
     * Loads the library.
     *
     * @param file the file of the library, or null for the one that the loader finds
     * @throws MpiException if there is none
     */
    @SuppressWarnings("restricted")
    static MpiLibrary load(@Nullable String file) {
        if (file != null && !new File(file).isFile()) {
            throw new MpiException(SETTING + "=" + file + " is no file; name Open MPI's " + SONAME + " or unset it");
        }
        try {
            return file == null
                    ? new MpiLibrary(SymbolLookup.libraryLookup(SONAME, Arena.global()), SONAME)
                    : new MpiLibrary(SymbolLookup.libraryLookup(Path.of(file), Arena.global()), file);
        } catch (IllegalArgumentException e) {
            throw new MpiException(
                    file == null
                            ? "no MPI found: the loader knows no " + SONAME + REMEDY
                            : SETTING + "=" + file + " can't be loaded here; name Open MPI's " + SONAME
                                    + " or unset it",
                    e);
        }
    }

    /** Returns a predefined handle, such as {@code ompi_mpi_float}. */
    MemorySegment handle(String symbol) {
        return symbols.find(symbol).orElseThrow(() -> lacks("the loaded MPI", symbol));
    }

    /**
     * Calls a function.
     *
     * @throws MpiException if it fails
     */
    void call(MpiCall call, Object... arguments) {
        int code = function(call, arguments);
        if (code != 0) {
            throw new MpiException(call.function.symbol() + " failed: " + explain(code)
                    + "; the errors of the other processes may show the reason");
        }
    }

    /** Calls a function whose last argument, added by this method, points to an int, and returns that int. */
    int number(MpiCall call, Object... arguments) {
        return result(call, JAVA_INT, arguments).get(JAVA_INT, 0);
    }

    /** Calls a function whose last argument, added by this method, points to a handle, and returns that handle. */
    MemorySegment made(MpiCall call, Object... arguments) {
        return result(call, ADDRESS, arguments).get(ADDRESS, 0);
    }

    private MemorySegment result(MpiCall call, MemoryLayout layout, Object... arguments) {
        MemorySegment result = Arena.ofAuto().allocate(layout);
        call(call, Stream.concat(Stream.of(arguments), Stream.of(result)).toArray());
        return result;
    }

    /** Returns the name and version that MPI reports, e.g. {@code Open MPI v4.1.4}. */
    String version() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment text = arena.allocate(TEXT_BYTES);
            call(MpiCall.LIBRARY_VERSION, text, arena.allocate(JAVA_INT));
            return text.getString(0).split(",", 2)[0];
        }
    }

    /** Returns whether MPI reports that it accepts addresses of CUDA devices. */
    boolean isCudaAware() {
        MpiCall query = MpiCall.CUDA_SUPPORT;
        return symbols.find(query.function.symbol())
                .map(function -> query.function.invoke(function) == 1)
                .orElse(false);
    }

    private String explain(int code) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment text = arena.allocate(TEXT_BYTES);
            return function(MpiCall.ERROR_STRING, code, text, arena.allocate(JAVA_INT)) == 0
                    ? text.getString(0)
                    : "error " + code;
        }
    }

    private int function(MpiCall call, Object... arguments) {
        return call.function.invoke(Objects.requireNonNull(functions.get(call)), arguments);
    }
}

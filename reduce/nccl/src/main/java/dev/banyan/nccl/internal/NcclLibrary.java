package dev.banyan.nccl.internal;

import dev.banyan.config.Setting;
import dev.banyan.schedule.type.Collective;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import java.io.File;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.nio.file.Path;
import java.util.EnumMap;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** NCCL's library, which stays loaded. Safe for use from any thread. */
public final class NcclLibrary {
    /** The file of the library. */
    public static final Setting<String> FILE = Setting.text(
                    "BANYAN_NCCL_LIBRARY",
                    "the path of NCCL's library",
                    "libnccl.so.2",
                    "Names NCCL's library for the algorithm nccl; the loader finds the default.")
            .outsideFiles();

    private static final String SONAME = "libnccl.so.2";
    /** {@code ncclSuccess}. */
    static final int SUCCESS = 0;
    /** {@code ncclInProgress}. */
    static final int IN_PROGRESS = 7;

    /** Version 2.10.0 as {@code ncclGetVersion} counts: the first one with averages and bfloat16. */
    private static final int FIRST_WITH_AVERAGES = 21_000;
    /** From here on versions are counted by 10000, 100 and 1; before by 1000, 100 and 1. */
    private static final int LONG_VERSIONS = 10_000;

    private final Map<NcclFunction, MemorySegment> functions = new EnumMap<>(NcclFunction.class);
    private final MethodHandle errorString;
    private final @Nullable MethodHandle lastError;
    private final int version;

    @SuppressWarnings("restricted")
    private NcclLibrary(String name, SymbolLookup symbols) {
        for (NcclFunction function : NcclFunction.values()) {
            functions.put(function, find(name, symbols, function.function.symbol()));
        }
        Linker linker = Linker.nativeLinker();
        errorString = linker.downcallHandle(
                find(name, symbols, "ncclGetErrorString"),
                FunctionDescriptor.of(ValueLayout.ADDRESS, ValueLayout.JAVA_INT));
        // Since NCCL 2.13.
        lastError = symbols.find("ncclGetLastError")
                .map(function -> linker.downcallHandle(
                        function, FunctionDescriptor.of(ValueLayout.ADDRESS, ValueLayout.JAVA_LONG)))
                .orElse(null);
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment found = arena.allocate(ValueLayout.JAVA_INT);
            check(NcclFunction.GET_VERSION, "", 0, found);
            version = found.get(ValueLayout.JAVA_INT, 0);
        }
    }

    private static MemorySegment find(String name, SymbolLookup symbols, String symbol) {
        return symbols.find(symbol)
                .orElseThrow(() -> new NcclException(name + " has no " + symbol + "; install NCCL 2.4 or later"));
    }

    /**
     * Loads the library.
     *
     * @param file its file, or null for the one that the loader finds
     * @throws NcclException if it cannot be loaded, or is too old
     */
    @SuppressWarnings("restricted")
    public static NcclLibrary load(@Nullable String file) {
        if (file != null && !new File(file).isFile()) {
            throw refused(file, "is no file", null);
        }
        SymbolLookup symbols;
        try {
            symbols = file == null
                    ? SymbolLookup.libraryLookup(SONAME, Arena.global())
                    : SymbolLookup.libraryLookup(Path.of(file), Arena.global());
        } catch (IllegalArgumentException e) {
            throw file == null
                    ? new NcclException(
                            "no NCCL found: the loader knows no " + SONAME + "; install NCCL, or name the file by "
                                    + FILE.name(),
                            e)
                    : refused(file, "is no library that can be loaded here", e);
        }
        return new NcclLibrary(file == null ? SONAME : file, symbols);
    }

    private static NcclException refused(String file, String why, @Nullable Exception cause) {
        String sentence = FILE.name() + "=" + file + " " + why + "; name NCCL's " + SONAME + " or unset it";
        return cause == null ? new NcclException(sentence) : new NcclException(sentence, cause);
    }

    /** Returns its version, e.g. {@code 2.21.5}. */
    public String version() {
        int major = version < LONG_VERSIONS ? 1_000 : 10_000;
        return version / major + "." + version % major / 100 + "." + version % 100;
    }

    /**
     * Returns why it cannot run a collective as Banyan defines it.
     *
     * @return a sentence without its end; empty if it can
     */
    public Optional<String> refusal(Collective collective, DataType type, ReduceOp op) {
        boolean averages = collective.reduces() && op == ReduceOp.AVG;
        if (averages && !type.isFloating()) {
            return Optional.of("NCCL divides sums of integers that have wrapped around, which is no mean; take another"
                    + " algorithm for avg of " + type);
        }
        return version < FIRST_WITH_AVERAGES && (averages || type == DataType.BF16)
                ? Optional.of("NCCL " + version() + " has no " + (averages ? "avg" : "bfloat16")
                        + "; install NCCL 2.10 or later, or take another algorithm")
                : Optional.empty();
    }

    /** Calls a function and returns its {@code ncclResult_t}. */
    int call(NcclFunction function, Object... arguments) {
        return function.function.invoke(Objects.requireNonNull(functions.get(function)), arguments);
    }

    /**
     * Calls a function.
     *
     * @param what what it was called for, for messages; may be empty
     * @param communicator the communicator that knows more of an error; 0 for none
     * @throws NcclException if it fails
     */
    void check(NcclFunction function, String what, long communicator, Object... arguments) {
        int result = call(function, arguments);
        if (result != SUCCESS) {
            throw new NcclException(function.function.symbol() + (what.isEmpty() ? "" : " " + what) + ": "
                    + explain(result, communicator));
        }
    }

    /**
     * Returns what NCCL says of an error.
     *
     * @param communicator the communicator that knows more of it; 0 for none
     */
    String explain(int result, long communicator) {
        try {
            String error = text((MemorySegment) errorString.invokeExact(result));
            String more = lastError == null ? "" : text((MemorySegment) lastError.invokeExact(communicator));
            return error + (more.isBlank() ? "" : " (" + more.strip() + ")") + "; NCCL_DEBUG=INFO says more";
        } catch (RuntimeException | Error e) {
            throw e;
        } catch (Throwable e) {
            throw new AssertionError("native functions throw no checked exceptions", e);
        }
    }

    @SuppressWarnings("restricted")
    private static String text(MemorySegment string) {
        return string.equals(MemorySegment.NULL)
                ? ""
                : string.reinterpret(Long.MAX_VALUE).getString(0);
    }
}

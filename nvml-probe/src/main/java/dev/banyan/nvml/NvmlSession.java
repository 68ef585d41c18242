package dev.banyan.nvml;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import java.util.OptionalInt;

/**
 * NVML between its initialization and its shutdown. Checks every code. Failures that concern the library as a whole
 * are thrown; what a device does not support is an empty answer. For the thread that opened it.
 */
final class NvmlSession implements AutoCloseable {
    private static final int VERSION_BYTES = 80;

    private final NvmlLibrary library;

    /**
     * Initializes NVML.
     *
     * @throws NvmlException if it cannot be
     */
    NvmlSession(NvmlLibrary library) {
        this.library = library;
        check(NvmlCall.INIT, "");
    }

    /**
     * Calls a function.
     *
     * @param subject what is asked about, for the message
     * @throws NvmlException if it does not succeed
     */
    void check(NvmlCall call, String subject, Object... arguments) {
        int code = library.call(call, arguments);
        if (code != NvmlReturn.SUCCESS.code()) {
            throw new NvmlException(call, subject, code);
        }
    }

    /** Calls a function whose last argument, which is added here, points to an int, and returns that. */
    int number(NvmlCall call, String subject, Object... arguments) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment result = arena.allocate(ValueLayout.JAVA_INT);
            Object[] all = Arrays.copyOf(arguments, arguments.length + 1);
            all[arguments.length] = result;
            check(call, subject, all);
            return result.get(ValueLayout.JAVA_INT, 0);
        }
    }

    /** The same, or empty where the device or the library does not support it. */
    OptionalInt numberIfSupported(NvmlCall call, String subject, Object... arguments) {
        try {
            return OptionalInt.of(number(call, subject, arguments));
        } catch (NvmlException e) {
            if (isUnsupported(e)) {
                return OptionalInt.empty();
            }
            throw e;
        }
    }

    /** Whether a failure only says that there is nothing to know. */
    static boolean isUnsupported(NvmlException e) {
        return e.is(NvmlReturn.ERROR_NOT_SUPPORTED) || e.is(NvmlReturn.ERROR_FUNCTION_NOT_FOUND);
    }

    /** The driver's version, e.g. {@code 535.129.03}. */
    String driverVersion() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment text = arena.allocate(VERSION_BYTES);
            check(NvmlCall.DRIVER_VERSION, "", text, VERSION_BYTES);
            return text.getString(0);
        }
    }

    /** Number of devices, those that this process may not use among them. */
    int deviceCount() {
        return number(NvmlCall.DEVICE_COUNT, "");
    }

    /** The {@code nvmlDevice_t} of an index; valid until this is closed. */
    MemorySegment device(int index, String subject) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment handle = arena.allocate(ValueLayout.ADDRESS);
            check(NvmlCall.DEVICE, subject, index, handle);
            return handle.get(ValueLayout.ADDRESS, 0);
        }
    }

    /**
     * Shuts NVML down.
     *
     * @throws NvmlException if that fails
     */
    @Override
    public void close() {
        check(NvmlCall.SHUTDOWN, "");
    }
}

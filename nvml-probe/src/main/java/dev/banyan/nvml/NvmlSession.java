package dev.banyan.nvml;

import java.lang.foreign.Arena;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Optional;
import java.util.function.Supplier;
import java.util.stream.Stream;

/**
 * NVML between its initialization and its shutdown. It checks every code. Only the thread that opened it may use it.
 */
final class NvmlSession implements AutoCloseable {
    private static final int VERSION_BYTES = 80;

    private final NvmlLibrary library;

    /**
     * Initializes NVML.
     *
     * @throws NvmlException if that fails
     */
    NvmlSession(NvmlLibrary library) {
        this.library = library;
        check(NvmlCall.INIT, "");
    }

    /**
     * Calls a function.
     *
     * @param subject the device or link for messages, or an empty string for the library
     * @throws NvmlException if the call fails
     */
    void check(NvmlCall call, String subject, Object... arguments) {
        int code = library.call(call, arguments);
        if (code != NvmlReturn.SUCCESS.code()) {
            throw new NvmlException(call, subject, code);
        }
    }

    /** Calls a function whose last argument, added by this method, points to its result, and returns the result. */
    MemorySegment result(NvmlCall call, String subject, MemoryLayout layout, Object... arguments) {
        MemorySegment result = Arena.ofAuto().allocate(layout);
        check(
                call,
                subject,
                Stream.concat(Stream.of(arguments), Stream.of(result)).toArray());
        return result;
    }

    /** Calls a function whose last arguments, added by this method, are a buffer for a text and its length. */
    String text(NvmlCall call, String subject, int bytes, Object... arguments) {
        MemorySegment text = Arena.ofAuto().allocate(bytes);
        check(
                call,
                subject,
                Stream.concat(Stream.of(arguments), Stream.of(text, bytes)).toArray());
        return text.getString(0);
    }

    /** Calls a function whose result is an int. */
    int number(NvmlCall call, String subject, Object... arguments) {
        return result(call, subject, ValueLayout.JAVA_INT, arguments).get(ValueLayout.JAVA_INT, 0);
    }

    /** Calls a function whose result is an int; empty if the device or the library does not support it. */
    Optional<Integer> numberIfSupported(NvmlCall call, String subject, Object... arguments) {
        return ifSupported(() -> number(call, subject, arguments));
    }

    /** Returns the answer to a query; empty if the device or the library does not support it. */
    static <T> Optional<T> ifSupported(Supplier<T> query) {
        try {
            return Optional.of(query.get());
        } catch (NvmlException e) {
            if (isUnsupported(e)) {
                return Optional.empty();
            }
            throw e;
        }
    }

    /** Returns whether a call failed only because the device or the library does not support it. */
    static boolean isUnsupported(NvmlException e) {
        return e.is(NvmlReturn.ERROR_NOT_SUPPORTED) || e.is(NvmlReturn.ERROR_FUNCTION_NOT_FOUND);
    }

    /** Returns the driver's version, e.g. {@code 535.129.03}. */
    String driverVersion() {
        return text(NvmlCall.DRIVER_VERSION, "", VERSION_BYTES);
    }

    /** Returns the number of devices, including those that this process may not use. */
    int deviceCount() {
        return number(NvmlCall.DEVICE_COUNT, "");
    }

    /** Returns the {@code nvmlDevice_t} of an index, which is valid until the session is closed. */
    MemorySegment device(int index, String subject) {
        return result(NvmlCall.DEVICE, subject, ValueLayout.ADDRESS, index).get(ValueLayout.ADDRESS, 0);
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
